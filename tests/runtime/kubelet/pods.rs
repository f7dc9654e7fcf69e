//! The devices that the kubelet has allocated to containers.

use gpuc_runtime::kubelet::pod_resources::{PodResourcesError, list_pod_devices};

use super::GPU;
use crate::simulated_kubelet::pod_resources::{pod, serve};

#[tokio::test]
async fn devices_of_containers_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("kubelet.sock");
    assert!(matches!(
        list_pod_devices(&socket).await,
        Err(PodResourcesError::Unreachable(_))
    ));
    let pods = vec![
        pod("train-1", "torch", GPU, &["GPU-1", "GPU-0"]),
        pod("infer-0", "vllm", "nvidia.com/mig-1g.10gb", &["MIG-7"]),
        pod("web-0", "nginx", "example.com/nic", &[]),
    ];
    let server = serve(&socket, pods);
    let found = list_pod_devices(&socket).await.unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|it| {
            (
                it.pod.as_str(),
                it.container.as_str(),
                it.device_ids.join(","),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("infer-0", "vllm", "MIG-7".to_owned()),
            ("train-1", "torch", "GPU-1,GPU-0".to_owned())
        ]
    );
    server.abort();
}

#[tokio::test]
async fn large_response_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("kubelet.sock");
    let long = "x".repeat(5 * 1024 * 1024);
    let server = serve(&socket, vec![pod(&long, "c", GPU, &["GPU-0"])]);
    assert_eq!(list_pod_devices(&socket).await.unwrap().len(), 1);
    server.abort();
}
