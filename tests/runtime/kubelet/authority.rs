//! The values of `:authority` that the daemon and the simulated kubelet accept.

use tokio::net::UnixStream;

use super::{GPU, Node};
use crate::simulated_kubelet::http2::{CallResult, PROTOCOL_ERROR, call};

const OPTIONS: &str = "/v1beta1.DevicePlugin/GetDevicePluginOptions";

#[tokio::test]
async fn localhost_authority_is_served() {
    let node = Node::running().await;
    let connection = UnixStream::connect(node.socket(GPU)).await.unwrap();
    let result = call(connection, "localhost", OPTIONS).await.unwrap();
    assert_eq!(result, CallResult::Accepted);
}

/// The reason why the daemon requires kubelet 1.26. If this test fails, the library accepts paths, and the documents
/// with this version must change.
#[tokio::test]
async fn path_authority_is_rejected() {
    let node = Node::running().await;
    let path = "/var/lib/kubelet/device-plugins/gpuc-nvidia.com_gpu.sock";
    let connection = UnixStream::connect(node.socket(GPU)).await.unwrap();
    let result = call(connection, path, OPTIONS).await.unwrap();
    assert_eq!(result, CallResult::Reset(PROTOCOL_ERROR));
    // A rejected call does not affect others.
    let connection = UnixStream::connect(node.socket(GPU)).await.unwrap();
    let result = call(connection, "localhost", OPTIONS).await.unwrap();
    assert_eq!(result, CallResult::Accepted);
}

/// Go plugins send the path of the kubelet's socket. The real kubelet accepts any value.
#[tokio::test]
async fn simulated_kubelet_accepts_any_authority() {
    let node = Node::running().await;
    for authority in ["localhost", "/var/lib/kubelet/device-plugins/kubelet.sock"] {
        let socket = node.folder.join(gpuc_runtime::kubelet::KUBELET_SOCKET);
        let connection = UnixStream::connect(socket).await.unwrap();
        let method = "/v1beta1.Registration/Register";
        let result = call(connection, authority, method).await.unwrap();
        assert_eq!(result, CallResult::Accepted);
    }
}
