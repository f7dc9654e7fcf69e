//! The plugin sends the device list when it has changed.

use std::collections::BTreeMap;

use gpuc_runtime::kubelet::api::v1beta1::{Empty, ListAndWatchResponse};
use gpuc_runtime::plugin::PluginEvent;

use super::{GPU, MIG_DEVICE, Node, advertised_resource, settle};
use crate::simulated_kubelet::{Kubelet, Seen, dial};

#[tokio::test]
async fn devices_have_health_and_numa_node() {
    let mut node = Node::new();
    node.modify_state(|state| {
        state.advertised_resources[0].devices[7].numa = None;
        state
            .unhealthy
            .insert("GPU-2".to_owned(), "XID 79".to_owned());
    });
    node.kubelet.start().await;
    let resource = node.kubelet.wait_for_registration(GPU).await;
    let devices = resource.devices.iter().map(|device| {
        let nodes = device.topology.as_ref().map(|topology| &topology.nodes);
        let numa = nodes.map(|nodes| nodes.iter().map(|node| node.id).collect::<Vec<_>>());
        (device.id.as_str(), device.health.as_str(), numa)
    });
    let devices: Vec<_> = devices.collect();
    assert_eq!(devices.len(), 8);
    assert_eq!(devices[0], ("gpu-0", "Healthy", Some(vec![0])));
    assert_eq!(devices[2], ("gpu-2", "Unhealthy", Some(vec![0])));
    assert_eq!(devices[4], ("gpu-4", "Healthy", Some(vec![1])));
    assert_eq!(devices[7], ("gpu-7", "Healthy", None));
}

#[tokio::test]
async fn only_changes_are_sent() {
    let node = Node::running().await;
    let has_unhealthy = |gpus: usize| {
        let healthy = 8 - gpus;
        move |seen: &Seen| seen.resource(GPU).healthy().len() == healthy
    };
    for gpus in 1..=8 {
        node.modify_state(|state| {
            state
                .unhealthy
                .insert(format!("GPU-{}", gpus - 1), "XID 79".to_owned());
        });
        node.kubelet
            .wait_until("one more unhealthy GPU", has_unhealthy(gpus))
            .await;
    }
    node.modify_state(|state| state.unhealthy.clear());
    let seen = node
        .kubelet
        .wait_until("healthy GPUs", has_unhealthy(0))
        .await;
    assert_eq!(seen.resource(GPU).lists, 10);
    // Another resource, no change, or a fault of an unknown GPU: the list is the same.
    node.modify_state(|state| {
        state
            .advertised_resources
            .push(advertised_resource(MIG_DEVICE, 7));
    });
    node.kubelet.wait_for_registration(MIG_DEVICE).await;
    node.modify_state(|_| {});
    node.modify_state(|state| {
        state
            .unhealthy
            .insert("GPU-99".to_owned(), "XID 79".to_owned());
    });
    settle().await;
    let seen = node.kubelet.seen();
    assert_eq!(
        (seen.resource(GPU).lists, seen.resource(MIG_DEVICE).lists),
        (10, 1)
    );
}

/// A client that has not read while the list changed 4,000 times.
async fn slow_reader(node: &Node) -> tonic::Streaming<ListAndWatchResponse> {
    node.modify_state(|state| state.advertised_resources = vec![advertised_resource(GPU, 80)]);
    let mut plugin = dial(&node.socket(GPU)).await.unwrap();
    let lists = plugin.list_and_watch(Empty {}).await.unwrap().into_inner();
    for round in 0..4_000 {
        node.modify_state(|state| {
            let gpu = format!("GPU-{}", round % 2);
            state.unhealthy = BTreeMap::from([(gpu, "XID 79".to_owned())]);
        });
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
    }
    lists
}

/// HTTP/2 flow control sends some lists before the client reads them: 2 MiB here, in lists of 2.4 KiB, and 64 KiB with
/// Go. The plugin keeps no more.
const MAX_BUFFERED_LISTS: usize = 2_000;

#[tokio::test]
async fn slow_reader_skips_old_lists() {
    let node = Node::running().await;
    let mut lists = slow_reader(&node).await;
    node.modify_state(|state| {
        state.unhealthy = BTreeMap::from([("GPU-7".to_owned(), "XID 79".to_owned())]);
    });
    let mut read = 1;
    while lists.message().await.unwrap().unwrap().devices[7].health == "Healthy" {
        read += 1;
    }
    assert!(read < MAX_BUFFERED_LISTS, "{read} lists are buffered");
}

#[tokio::test]
async fn slow_reader_receives_the_empty_list() {
    let node = Node::running().await;
    let mut lists = slow_reader(&node).await;
    node.modify_state(|state| state.advertised_resources.clear());
    settle().await;
    let mut last = None;
    while let Some(list) = lists.message().await.unwrap() {
        last = Some(list.devices.len());
    }
    assert_eq!(last, Some(0));
}

#[tokio::test]
async fn resources_can_be_added_and_removed() {
    let mut node = Node::running().await;
    node.modify_state(|state| {
        state.advertised_resources = vec![advertised_resource(MIG_DEVICE, 7)];
    });
    node.kubelet.wait_for_registration(MIG_DEVICE).await;
    node.wait_for_event(|event| matches!(event, PluginEvent::Closed { .. }))
        .await;
    let ended = |seen: &Seen| seen.resource(GPU).ended == 1;
    let seen = node.kubelet.wait_until("the end of the list", ended).await;
    assert!(seen.resource(GPU).devices.is_empty());
    assert_eq!(
        seen.resource(GPU).lists,
        2,
        "a list of eight devices, then an empty one"
    );
    assert!(!node.socket(GPU).exists());
    // The resource can return with different devices.
    for _ in 0..5 {
        node.modify_state(|state| {
            state.advertised_resources = vec![
                advertised_resource(GPU, 4),
                advertised_resource(MIG_DEVICE, 7),
            ];
        });
        let has_four = |seen: &Seen| seen.resource(GPU).healthy().len() == 4;
        node.kubelet.wait_until("four GPUs", has_four).await;
        node.modify_state(|state| {
            state.advertised_resources = vec![advertised_resource(MIG_DEVICE, 7)];
        });
        let is_empty = |seen: &Seen| seen.resource(GPU).healthy().is_empty();
        node.kubelet.wait_until("no GPUs", is_empty).await;
    }
    assert_eq!(node.kubelet.seen().resource(MIG_DEVICE).ended, 0);
}

#[tokio::test]
async fn repeated_registration_keeps_health() {
    let node = Node::running().await;
    // A second client next to the kubelet: both receive every list.
    let mut plugin = dial(&node.socket(GPU)).await.unwrap();
    let mut lists = plugin.list_and_watch(Empty {}).await.unwrap().into_inner();
    assert_eq!(lists.message().await.unwrap().unwrap().devices.len(), 8);
    drop(lists);
    drop(plugin);
    settle().await;
    let seen = node.kubelet.seen();
    assert_eq!(seen.resource(GPU).healthy().len(), 8);
    assert_eq!((seen.registrations.len(), seen.resource(GPU).open), (1, 1));
}

#[tokio::test]
async fn node_without_resources_waits() {
    let mut node = Node::new();
    node.modify_state(|state| state.advertised_resources.clear());
    node.kubelet.start().await;
    settle().await;
    assert!(node.kubelet.seen().registrations.is_empty());
    node.modify_state(|state| state.advertised_resources.push(advertised_resource(GPU, 8)));
    let kubelet: &Kubelet = &node.kubelet;
    assert_eq!(kubelet.wait_for_registration(GPU).await.healthy().len(), 8);
}
