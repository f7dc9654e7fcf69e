//! The calls of the device plugin API, with valid and invalid requests.

use gpuc_runtime::kubelet::api::v1beta1::{
    AllocateRequest, ContainerAllocateRequest, ContainerPreferredAllocationRequest, Empty,
    PreStartContainerRequest, PreferredAllocationRequest,
};
use tonic::Code;

use super::{GPU, Node};

fn allocate_request(ids: &[&str]) -> AllocateRequest {
    let ids = ids.iter().map(|id| (*id).to_owned());
    AllocateRequest {
        container_requests: vec![ContainerAllocateRequest {
            devices_ids: ids.collect(),
        }],
    }
}

fn preferred_request(available: &[&str], size: i32) -> PreferredAllocationRequest {
    let available = available.iter().map(|id| (*id).to_owned());
    PreferredAllocationRequest {
        container_requests: vec![ContainerPreferredAllocationRequest {
            available_device_i_ds: available.collect(),
            must_include_device_i_ds: Vec::new(),
            allocation_size: size,
        }],
    }
}

#[tokio::test]
async fn calls_are_answered() {
    let node = Node::running().await;
    let mut plugin = node.kubelet.plugin(GPU).await;
    let options = plugin.get_device_plugin_options(Empty {}).await.unwrap();
    assert!(options.into_inner().get_preferred_allocation_available);
    let allocated = plugin.allocate(allocate_request(&["gpu-0", "gpu-5"])).await;
    let allocated = allocated.unwrap().into_inner().container_responses;
    assert_eq!(allocated[0].envs["NVIDIA_VISIBLE_DEVICES"], "gpu-0,gpu-5");
    let preferred = plugin.get_preferred_allocation(preferred_request(&["gpu-3", "gpu-1"], 1));
    let preferred = preferred.await.unwrap().into_inner().container_responses;
    assert_eq!(preferred[0].device_i_ds, ["gpu-3"]);
    let request = PreStartContainerRequest {
        devices_ids: vec!["gpu-0".to_owned()],
    };
    plugin.pre_start_container(request).await.unwrap();
}

#[tokio::test]
async fn errors_name_the_devices() {
    let node = Node::running().await;
    let mut plugin = node.kubelet.plugin(GPU).await;
    let error = plugin.allocate(allocate_request(&["gpu-0", "gpu-9"])).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("gpu-9"), "{error}");
    node.modify_state(|state| {
        state
            .unhealthy
            .insert("GPU-3".to_owned(), "XID 79".to_owned());
    });
    let error = plugin
        .allocate(allocate_request(&["gpu-3"]))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(error.message().contains("gpu-3"), "{error}");
}

#[tokio::test]
async fn rejected_container_rejects_the_request() {
    let node = Node::running().await;
    let mut plugin = node.kubelet.plugin(GPU).await;
    let mut request = allocate_request(&["gpu-0"]);
    request
        .container_requests
        .extend(allocate_request(&["unknown"]).container_requests);
    assert!(plugin.allocate(request).await.is_err());
}

#[tokio::test]
async fn invalid_requests_do_not_stop_the_plugin() {
    let node = Node::running().await;
    let mut plugin = node.kubelet.plugin(GPU).await;
    // Empty requests.
    let empty = AllocateRequest::default();
    let allocated = plugin.allocate(empty).await.unwrap().into_inner();
    assert!(allocated.container_responses.is_empty());
    plugin.allocate(allocate_request(&[])).await.unwrap();
    let empty = PreferredAllocationRequest::default();
    plugin.get_preferred_allocation(empty).await.unwrap();
    // Invalid sizes.
    for size in [0, -1, i32::MIN, i32::MAX] {
        let preferred = plugin.get_preferred_allocation(preferred_request(&["gpu-3"], size));
        let preferred = preferred.await.unwrap().into_inner().container_responses;
        assert!(preferred[0].device_i_ds.len() <= 1);
    }
    // Thousands of unknown devices: the message stays short enough for an HTTP header.
    let many: Vec<_> = (0..10_000).map(|number| format!("ä-{number}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let error = plugin.allocate(allocate_request(&many)).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().len() < 1100 && error.message().contains("ä-0"));
    // A request above the size limit.
    let long = "x".repeat(2 * 1024 * 1024);
    let error = plugin
        .allocate(allocate_request(&[&long]))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::OutOfRange, "{error}");
    // The plugin still responds.
    plugin.allocate(allocate_request(&["gpu-0"])).await.unwrap();
    assert_eq!(node.kubelet.seen().resource(GPU).healthy().len(), 8);
}

#[tokio::test]
async fn removed_resource_allocates_nothing() {
    let node = Node::running().await;
    let mut plugin = node.kubelet.plugin(GPU).await;
    plugin.allocate(allocate_request(&["gpu-0"])).await.unwrap();
    node.modify_state(|state| state.advertised_resources.clear());
    assert!(plugin.allocate(allocate_request(&["gpu-0"])).await.is_err());
}

#[tokio::test]
async fn concurrent_callers_are_answered() {
    let node = Node::running().await;
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..8 {
        let mut plugin = node.kubelet.plugin(GPU).await;
        callers.spawn(async move {
            let id = format!("gpu-{caller}");
            for _ in 0..200 {
                let allocated = plugin.allocate(allocate_request(&[&id])).await.unwrap();
                let allocated = &allocated.get_ref().container_responses[0];
                assert_eq!(allocated.envs["NVIDIA_VISIBLE_DEVICES"], id);
            }
        });
    }
    callers.join_all().await;
}
