//! The list is sent when it is another one, and then only.

use std::collections::BTreeMap;

use gpuc_runtime::kubelet::api::v1beta1::{Empty, ListAndWatchResponse};
use gpuc_runtime::plugin::PluginEvent;

use super::{GPU, Node, SLICE, offer, settle};
use crate::simulated_kubelet::{Kubelet, Seen, dial};

#[tokio::test]
async fn devices_have_health_and_numa_node() {
    let mut node = Node::new();
    node.modify_state(|state| {
        state.advertised_resources[0].shares[7].numa = None;
        state
            .unhealthy
            .insert("GPU-2".to_owned(), "XID 79".to_owned());
    });
    node.kubelet.start().await;
    let resource = node.kubelet.met(GPU).await;
    let listed = resource.devices.iter().map(|device| {
        let nodes = device.topology.as_ref().map(|topology| &topology.nodes);
        let numa = nodes.map(|nodes| nodes.iter().map(|node| node.id).collect::<Vec<_>>());
        (device.id.as_str(), device.health.as_str(), numa)
    });
    let listed: Vec<_> = listed.collect();
    assert_eq!(listed.len(), 8);
    assert_eq!(listed[0], ("gpu-0", "Healthy", Some(vec![0])));
    assert_eq!(listed[2], ("gpu-2", "Unhealthy", Some(vec![0])));
    assert_eq!(listed[4], ("gpu-4", "Healthy", Some(vec![1])));
    assert_eq!(listed[7], ("gpu-7", "Healthy", None));
}

#[tokio::test]
async fn only_changes_are_sent() {
    let node = Node::running().await;
    let with_trouble = |gpus: usize| {
        let healthy = 8 - gpus;
        move |seen: &Seen| seen.resource(GPU).healthy().len() == healthy
    };
    for gpus in 1..=8 {
        node.modify_state(|state| {
            state
                .unhealthy
                .insert(format!("GPU-{}", gpus - 1), "XID 79".to_owned());
        });
        node.kubelet.until("one more", with_trouble(gpus)).await;
    }
    node.modify_state(|state| state.unhealthy.clear());
    let seen = node.kubelet.until("all well", with_trouble(0)).await;
    assert_eq!(seen.resource(GPU).lists, 10);
    // Another reason, another resource, nothing at all: the list is the same.
    node.modify_state(|state| state.advertised_resources.push(offer(SLICE, 7)));
    node.kubelet.met(SLICE).await;
    node.modify_state(|_| {});
    node.modify_state(|state| {
        state
            .unhealthy
            .insert("GPU-99".to_owned(), "XID 79".to_owned());
    });
    settle().await;
    let seen = node.kubelet.seen();
    assert_eq!(
        (seen.resource(GPU).lists, seen.resource(SLICE).lists),
        (10, 1)
    );
}

/// A reader who has not read while the list changed 4,000 times.
async fn slow_reader(node: &Node) -> tonic::Streaming<ListAndWatchResponse> {
    node.modify_state(|state| state.advertised_resources = vec![offer(GPU, 80)]);
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

/// Flow control sends some lists before they are read: 2 MiB of 2.4 KiB each here, 64 KiB with Go. No more are kept.
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
    assert!(read < MAX_BUFFERED_LISTS, "{read} lists were kept");
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
    node.modify_state(|state| state.advertised_resources = vec![offer(SLICE, 7)]);
    node.kubelet.met(SLICE).await;
    node.wait_for_event(|event| matches!(event, PluginEvent::Closed { .. }))
        .await;
    let ended = |seen: &Seen| seen.resource(GPU).ended == 1;
    let seen = node.kubelet.until("the list ends", ended).await;
    assert!(seen.resource(GPU).devices.is_empty());
    assert_eq!(seen.resource(GPU).lists, 2, "eight, then none");
    assert!(!node.socket(GPU).exists());
    // And back: registered again, without leftovers of the old one.
    for _ in 0..5 {
        node.modify_state(|state| {
            state.advertised_resources = vec![offer(GPU, 4), offer(SLICE, 7)];
        });
        let four = |seen: &Seen| seen.resource(GPU).healthy().len() == 4;
        node.kubelet.until("four", four).await;
        node.modify_state(|state| state.advertised_resources = vec![offer(SLICE, 7)]);
        let none = |seen: &Seen| seen.resource(GPU).healthy().is_empty();
        node.kubelet.until("none", none).await;
    }
    assert_eq!(node.kubelet.seen().resource(SLICE).ended, 0);
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
    node.modify_state(|state| state.advertised_resources.push(offer(GPU, 8)));
    let kubelet: &Kubelet = &node.kubelet;
    assert_eq!(kubelet.met(GPU).await.healthy().len(), 8);
}
