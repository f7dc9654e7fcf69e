//! Restarts of the kubelet, its requests, and the CDI specs that allocations refer to.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use gpuc_runtime::kubelet::api::v1beta1::{
    AllocateRequest, ContainerAllocateRequest, ContainerPreferredAllocationRequest,
    PreferredAllocationRequest,
};
use serde_json::{Value, json};

use super::{GPU, H100, Node, settle};
use crate::simulated_kubelet::wipe;

/// NVIDIA's plugin registers twice, after a second (bottlerocket-os/bottlerocket#4250).
#[tokio::test]
async fn late_kubelet_is_registered_with_once() {
    let mut node = Node::new(H100);
    node.start();
    node.wait_for_response(
        "/readyz",
        503,
        "not registered with the kubelet: nvidia.com/gpu",
    )
    .await;
    node.kubelet.start().await;
    node.kubelet.wait_for_registration(GPU).await;
    node.wait_until_ready().await;
    settle().await;
    let seen = node.kubelet.seen();
    assert_eq!(seen.registrations.len(), 1);
    assert_eq!(seen.resource(GPU).ended, 0);
}

#[tokio::test]
async fn wiped_folder_is_registered_again() {
    let mut node = Node::running(H100).await;
    node.kubelet.stop().await;
    wipe(&node.path("device-plugins"));
    node.kubelet.start().await;
    let resource = node.kubelet.wait_for_registration(GPU).await;
    assert_eq!(resource.healthy().len(), 8);
    assert_eq!(
        node.metrics()
            .await
            .values_with_labels("gpuc_registrations_total", &[("resource", GPU)]),
        [2.0]
    );
}

/// A kubelet that accepts the registration and never requests the devices does not use them.
#[tokio::test]
async fn node_without_list_is_not_ready() {
    let mut node = Node::new(H100);
    node.kubelet.ignores_plugins.store(true, Ordering::SeqCst);
    node.kubelet.start().await;
    node.start();
    node.wait_for_log("the kubelet does not watch").await;
    node.wait_for_response("/readyz", 503, "does not watch")
        .await;
    let metrics = node.metrics().await;
    assert_eq!(
        metrics.values_with_labels("gpuc_registration_failures_total", &[("resource", GPU)]),
        [1.0]
    );
    node.kubelet.ignores_plugins.store(false, Ordering::SeqCst);
    node.wait_until_ready().await;
    node.wait_for_devices(GPU, 8, 8).await;
}

/// The daemon is ready if the running kubelet watches its devices.
#[tokio::test]
async fn node_without_kubelet_is_not_ready() {
    let mut node = Node::running(H100).await;
    // A kubelet that is stopped removes its socket. One that is killed does not.
    for removes_socket in [true, false] {
        if removes_socket {
            node.kubelet.stop().await;
        } else {
            node.kubelet.kill().await;
        }
        node.wait_for_response("/readyz", 503, "the kubelet is not running")
            .await;
        node.wait_for_response("/healthz", 200, "ok").await;
        node.kubelet.start().await;
        node.kubelet.wait_for_registration(GPU).await;
        node.wait_until_ready().await;
    }
    let metrics = node.metrics().await;
    assert_eq!(
        metrics.values_with_labels("gpuc_registrations_total", &[("resource", GPU)]),
        [3.0]
    );
}

/// The driver's library that containers need, below the driver's folder.
fn cuda_library(node: &Node) -> PathBuf {
    node.driver.root().join("usr/lib64/libcuda.so.570.86.15")
}

fn enable_cdi(node: &mut Node) {
    fs::write(cuda_library(node), "").unwrap();
    let folder = node.path("cdi");
    node.config["devices"] = json!({"cdi": {"specDir": folder}});
    node.configure();
}

fn device_nodes(text: &str) -> Vec<String> {
    let spec: Value = serde_json::from_str(text).unwrap();
    let devices = spec["devices"].as_array().unwrap().iter();
    devices
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

/// A CDI spec must exist before the kubelet can allocate its devices.
#[tokio::test]
async fn specs_are_written_before_registration() {
    let mut node = Node::new(H100);
    enable_cdi(&mut node);
    fs::create_dir(node.path("cdi")).unwrap();
    let stale = node.path("cdi/k8s.device-plugin.nvidia.com-gds.json");
    fs::write(&stale, "{}").unwrap();
    let other = node.path("cdi/other.json");
    fs::write(&other, "{}").unwrap();
    let file = node.path("cdi/k8s.device-plugin.nvidia.com-gpu.json");
    node.kubelet.start().await;
    node.start();
    let resource = node.kubelet.wait_for_registration(GPU).await;
    let spec = fs::read_to_string(&file).expect("the spec exists before the registration");
    let names = device_nodes(&spec);
    for id in resource.healthy() {
        assert!(names.iter().any(|name| name == id), "{id}: {names:?}");
    }
    assert!(!stale.exists() && other.exists());
    let allocation = node.allocate(GPU, &["GPU-3"]).await.unwrap();
    let names: Vec<_> = allocation
        .cdi_devices
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["k8s.device-plugin.nvidia.com/gpu=GPU-3"]);
}

/// A container with a GPU without a spec cannot start.
#[tokio::test]
async fn unwritable_spec_folder_makes_gpus_unhealthy() {
    let mut node = Node::new(H100);
    enable_cdi(&mut node);
    // Permissions do not apply to root, so a file replaces the folder.
    fs::write(node.path("cdi"), "").unwrap();
    node.kubelet.start().await;
    node.start();
    node.wait_for_devices(GPU, 8, 0).await;
    let error = node.allocate(GPU, &["GPU-3"]).await.unwrap_err();
    assert!(
        error.message().contains("cannot write CDI specs"),
        "{error}"
    );
    fs::remove_file(node.path("cdi")).unwrap();
    node.wait_for_devices(GPU, 8, 8).await;
    node.allocate(GPU, &["GPU-3"]).await.unwrap();
}

/// A container would start without CUDA.
#[tokio::test]
async fn missing_cuda_library_makes_gpus_unhealthy() {
    let mut node = Node::new(H100);
    enable_cdi(&mut node);
    let library = cuda_library(&node);
    fs::remove_file(&library).unwrap();
    node.kubelet.start().await;
    node.start();
    node.wait_for_devices(GPU, 8, 0).await;
    let error = node.allocate(GPU, &["GPU-3"]).await.unwrap_err();
    for part in ["libcuda.so.570.86.15", "/usr/lib/x86_64-linux-gnu"] {
        assert!(error.message().contains(part), "{error}");
    }
    // An installer adds the file later.
    fs::write(&library, "").unwrap();
    node.wait_for_devices(GPU, 8, 8).await;
    let file = node.path("cdi/k8s.device-plugin.nvidia.com-gpu.json");
    let spec = fs::read_to_string(file).unwrap();
    assert!(spec.contains("/usr/lib64/libcuda.so.570.86.15"), "{spec}");
    // And an upgrade of the driver removes it.
    fs::remove_file(&library).unwrap();
    node.signal("HUP");
    node.wait_for_devices(GPU, 8, 0).await;
}

/// The node's container runtime or an administrator can delete the specs.
#[tokio::test]
async fn deleted_spec_is_rewritten() {
    let mut node = Node::new(H100);
    enable_cdi(&mut node);
    node.start_all().await;
    let file = node.path("cdi/k8s.device-plugin.nvidia.com-gpu.json");
    fs::remove_file(&file).unwrap();
    node.signal("HUP");
    node.wait_until("the spec", |_| file.exists()).await;
}

/// A request of one megabyte can have hundreds of thousands of containers without devices.
#[tokio::test]
async fn huge_request_does_not_block_others() {
    let node = Node::running(H100).await;
    let mut plugin = node.kubelet.plugin(GPU).await;
    let container_requests = vec![ContainerPreferredAllocationRequest::default(); 65];
    let request = PreferredAllocationRequest { container_requests };
    let error = plugin.get_preferred_allocation(request).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::InvalidArgument, "{error}");
    let container = ContainerAllocateRequest {
        devices_ids: vec!["GPU-1".to_owned()],
    };
    let container_requests = vec![container; 65];
    let request = AllocateRequest { container_requests };
    let error = plugin.allocate(request).await.unwrap_err();
    assert!(error.message().contains("at most 64"), "{error}");
    node.allocate(GPU, &["GPU-1"]).await.unwrap();
}

/// The log names the missing socket or directory.
#[tokio::test]
async fn missing_kubelet_is_logged_once() {
    let mut node = Node::new(H100);
    let socket = gpuc_runtime::plugin::file_name(GPU);
    fs::write(node.path("device-plugins").join(&socket), "notes").unwrap();
    node.start();
    node.wait_for_log("waiting for the kubelet: no kubelet.sock in")
        .await;
    node.wait_for_log("cannot listen on").await;
    // The daemon retries every second.
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    assert_eq!(node.log().matches("cannot listen on").count(), 1);
    fs::remove_file(node.path("device-plugins").join(&socket)).unwrap();
    node.wait_for_log("sock again").await;
    wipe(&node.path("device-plugins"));
    node.wait_for_log("waiting for the kubelet: directory")
        .await;
    assert_eq!(node.log().matches("waiting for the kubelet").count(), 2);
}
