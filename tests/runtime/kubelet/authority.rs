//! What `:authority` may be, in both directions.

use tokio::net::UnixStream;

use super::{GPU, Node};
use crate::simulated_kubelet::http2::{Answer, PROTOCOL_ERROR, call};

const OPTIONS: &str = "/v1beta1.DevicePlugin/GetDevicePluginOptions";

#[tokio::test]
async fn localhost_authority_is_served() {
    let node = Node::running().await;
    let connection = UnixStream::connect(node.socket(GPU)).await.unwrap();
    let answer = call(connection, "localhost", OPTIONS).await.unwrap();
    assert_eq!(answer, Answer::Taken);
}

/// That is why the daemon needs kubelet 1.26. If this fails, the library learned to take a path, and the documents that
/// name the version are to be changed.
#[tokio::test]
async fn path_authority_is_rejected() {
    let node = Node::running().await;
    let path = "/var/lib/kubelet/device-plugins/gpuc-nvidia.com_gpu.sock";
    let connection = UnixStream::connect(node.socket(GPU)).await.unwrap();
    let answer = call(connection, path, OPTIONS).await.unwrap();
    assert_eq!(answer, Answer::Reset(PROTOCOL_ERROR));
    // One that is refused does not take the others with it.
    let connection = UnixStream::connect(node.socket(GPU)).await.unwrap();
    let answer = call(connection, "localhost", OPTIONS).await.unwrap();
    assert_eq!(answer, Answer::Taken);
}

/// Go plugins send the path of the kubelet's socket; Go's kubelet takes anything, and so must the simulated one.
#[tokio::test]
async fn the_simulated_kubelet_takes_any_authority() {
    let node = Node::running().await;
    for authority in ["localhost", "/var/lib/kubelet/device-plugins/kubelet.sock"] {
        let socket = node.folder.join(gpuc_runtime::kubelet::KUBELET_SOCKET);
        let connection = UnixStream::connect(socket).await.unwrap();
        let method = "/v1beta1.Registration/Register";
        let answer = call(connection, authority, method).await.unwrap();
        assert_eq!(answer, Answer::Taken);
    }
}
