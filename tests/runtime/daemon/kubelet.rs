//! The kubelet starts, stops and restarts; containers get devices of existing CDI specs.

use std::fs;

use gpuc_runtime::kubelet::api::v1beta1::{
    AllocateRequest, ContainerAllocateRequest, ContainerPreferredAllocationRequest,
    PreferredAllocationRequest,
};
use serde_json::{Value, json};

use super::{GPU, H100, Node, settle};
use crate::simulated_kubelet::wipe;

/// NVIDIA's plugin registers twice here, a second late (bottlerocket-os/bottlerocket#4250).
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
    node.kubelet.met(GPU).await;
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
    let met = node.kubelet.met(GPU).await;
    assert_eq!(met.healthy().len(), 8);
    assert_eq!(
        node.metrics()
            .await
            .values_with_labels("gpuc_registrations_total", &[("resource", GPU)]),
        [2.0]
    );
}

/// Ready is what the kubelet knows that runs now: one that is gone, with or without its socket, knows nothing.
#[tokio::test]
async fn node_without_kubelet_is_not_ready() {
    let mut node = Node::running(H100).await;
    // The first is stopped and takes its socket along; the second is killed and leaves it.
    for takes_its_socket in [true, false] {
        if takes_its_socket {
            node.kubelet.stop().await;
        } else {
            node.kubelet.kill().await;
        }
        node.wait_for_response("/readyz", 503, "the kubelet is not running")
            .await;
        node.wait_for_response("/healthz", 200, "ok").await;
        node.kubelet.start().await;
        node.kubelet.met(GPU).await;
        node.wait_until_ready().await;
    }
    let metrics = node.metrics().await;
    assert_eq!(
        metrics.values_with_labels("gpuc_registrations_total", &[("resource", GPU)]),
        [3.0]
    );
}

fn enable_cdi(node: &mut Node) {
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

/// Every allocated device is in the CDI spec.
#[tokio::test]
async fn specs_are_written_before_registration() {
    let mut node = Node::new(H100);
    enable_cdi(&mut node);
    fs::create_dir(node.path("cdi")).unwrap();
    let stale = node.path("cdi/k8s.device-plugin.nvidia.com-gds.json");
    fs::write(&stale, "{}").unwrap();
    let foreign = node.path("cdi/other.json");
    fs::write(&foreign, "{}").unwrap();
    let file = node.path("cdi/k8s.device-plugin.nvidia.com-gpu.json");
    node.kubelet.start().await;
    node.start();
    let met = node.kubelet.met(GPU).await;
    let spec = fs::read_to_string(&file).expect("it was there before the kubelet knew");
    let names = device_nodes(&spec);
    for id in met.healthy() {
        assert!(names.iter().any(|name| name == id), "{id}: {names:?}");
    }
    assert!(!stale.exists() && foreign.exists());
    let granted = node.allocate(GPU, &["GPU-3"]).await.unwrap();
    let names: Vec<_> = granted
        .cdi_devices
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["k8s.device-plugin.nvidia.com/gpu=GPU-3"]);
}

/// A GPU whose spec cannot be written would let no container start: it is not handed out until it can be.
#[tokio::test]
async fn unwritable_spec_folder_makes_gpus_unhealthy() {
    let mut node = Node::new(H100);
    enable_cdi(&mut node);
    // A file where the folder ought to be: root may write to any folder.
    fs::write(node.path("cdi"), "").unwrap();
    node.kubelet.start().await;
    node.start();
    node.wait_for_devices(GPU, 8, 0).await;
    let refused = node.allocate(GPU, &["GPU-3"]).await.unwrap_err();
    assert!(
        refused.message().contains("cannot write CDI specs"),
        "{refused}"
    );
    fs::remove_file(node.path("cdi")).unwrap();
    node.wait_for_devices(GPU, 8, 8).await;
    node.allocate(GPU, &["GPU-3"]).await.unwrap();
}

/// The folder of specs is emptied by a start of the node's container runtime, or by hand.
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

/// A request of a megabyte can name hundreds of thousands of containers that want nothing.
#[tokio::test]
async fn huge_request_does_not_block_others() {
    let node = Node::running(H100).await;
    let mut plugin = node.kubelet.plugin(GPU).await;
    let container_requests = vec![ContainerPreferredAllocationRequest::default(); 65];
    let request = PreferredAllocationRequest { container_requests };
    let refused = plugin.get_preferred_allocation(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{refused}");
    let one = ContainerAllocateRequest {
        devices_ids: vec!["GPU-1".to_owned()],
    };
    let container_requests = vec![one; 65];
    let request = AllocateRequest { container_requests };
    let refused = plugin.allocate(request).await.unwrap_err();
    assert!(refused.message().contains("at most 64"), "{refused}");
    node.allocate(GPU, &["GPU-1"]).await.unwrap();
}

/// Without a kubelet, or with a wrong directory, the log names what is missing.
#[tokio::test]
async fn missing_kubelet_is_logged_once() {
    let mut node = Node::new(H100);
    let socket = gpuc_runtime::plugin::file_name(GPU);
    fs::write(node.path("device-plugins").join(&socket), "notes").unwrap();
    node.start();
    node.wait_for_log("waiting for the kubelet: no kubelet.sock in")
        .await;
    node.wait_for_log("cannot listen on").await;
    // It is tried again every second.
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    assert_eq!(node.log().matches("cannot listen on").count(), 1);
    fs::remove_file(node.path("device-plugins").join(&socket)).unwrap();
    node.wait_for_log("sock again").await;
    wipe(&node.path("device-plugins"));
    node.wait_for_log("waiting for the kubelet: directory")
        .await;
    assert_eq!(node.log().matches("waiting for the kubelet").count(), 2);
}
