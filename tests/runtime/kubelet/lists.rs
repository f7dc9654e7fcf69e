//! The list is sent when it is another one, and then only.

use std::collections::BTreeMap;

use gpuc_runtime::kubelet::api::v1beta1::{Empty, ListAndWatchResponse};
use gpuc_runtime::plugin::PluginEvent;

use super::{GPU, Node, SLICE, offer, settle};
use crate::simulated_kubelet::{Kubelet, Seen, dial};

#[tokio::test]
async fn devices_are_listed_with_health_and_place() {
    let mut node = Node::new();
    node.change(|state| {
        state.offers[0].shares[7].numa = None;
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
async fn changes_reach_the_list_and_others_do_not() {
    let node = Node::running().await;
    let with_trouble = |gpus: usize| {
        let healthy = 8 - gpus;
        move |seen: &Seen| seen.resource(GPU).healthy().len() == healthy
    };
    for gpus in 1..=8 {
        node.change(|state| {
            state
                .unhealthy
                .insert(format!("GPU-{}", gpus - 1), "XID 79".to_owned());
        });
        node.kubelet.until("one more", with_trouble(gpus)).await;
    }
    node.change(|state| state.unhealthy.clear());
    let seen = node.kubelet.until("all well", with_trouble(0)).await;
    assert_eq!(seen.resource(GPU).lists, 10);
    // Another reason, another resource, nothing at all: the list is the same.
    node.change(|state| state.offers.push(offer(SLICE, 7)));
    node.kubelet.met(SLICE).await;
    node.change(|_| {});
    node.change(|state| {
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
async fn late_reader(node: &Node) -> tonic::Streaming<ListAndWatchResponse> {
    node.change(|state| state.offers = vec![offer(GPU, 80)]);
    let mut plugin = dial(&node.socket(GPU)).await.unwrap();
    let lists = plugin.list_and_watch(Empty {}).await.unwrap().into_inner();
    for round in 0..4_000 {
        node.change(|state| {
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
const KEPT: usize = 2_000;

#[tokio::test]
async fn a_slow_reader_sees_the_latest_list_and_few_before() {
    let node = Node::running().await;
    let mut lists = late_reader(&node).await;
    node.change(|state| {
        state.unhealthy = BTreeMap::from([("GPU-7".to_owned(), "XID 79".to_owned())]);
    });
    let mut read = 1;
    while lists.message().await.unwrap().unwrap().devices[7].health == "Healthy" {
        read += 1;
    }
    assert!(read < KEPT, "{read} lists were kept");
}

#[tokio::test]
async fn a_slow_reader_is_told_that_a_resource_is_gone() {
    let node = Node::running().await;
    let mut lists = late_reader(&node).await;
    node.change(|state| state.offers.clear());
    settle().await;
    let mut last = None;
    while let Some(list) = lists.message().await.unwrap() {
        last = Some(list.devices.len());
    }
    assert_eq!(last, Some(0));
}

#[tokio::test]
async fn a_resource_that_comes_is_registered_and_one_that_goes_is_emptied_then_ended() {
    let mut node = Node::running().await;
    node.change(|state| state.offers = vec![offer(SLICE, 7)]);
    node.kubelet.met(SLICE).await;
    node.hear(|event| matches!(event, PluginEvent::Closed { .. }))
        .await;
    let ended = |seen: &Seen| seen.resource(GPU).ended == 1;
    let seen = node.kubelet.until("the list ends", ended).await;
    assert!(seen.resource(GPU).devices.is_empty());
    assert_eq!(seen.resource(GPU).lists, 2, "eight, then none");
    assert!(!node.socket(GPU).exists());
    // And back: registered again, without leftovers of the old one.
    for _ in 0..5 {
        node.change(|state| state.offers = vec![offer(GPU, 4), offer(SLICE, 7)]);
        let four = |seen: &Seen| seen.resource(GPU).healthy().len() == 4;
        node.kubelet.until("four", four).await;
        node.change(|state| state.offers = vec![offer(SLICE, 7)]);
        let none = |seen: &Seen| seen.resource(GPU).healthy().is_empty();
        node.kubelet.until("none", none).await;
    }
    assert_eq!(node.kubelet.seen().resource(SLICE).ended, 0);
}

#[tokio::test]
async fn a_second_registration_in_one_life_keeps_the_health() {
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
async fn a_node_without_any_resource_waits_for_one() {
    let mut node = Node::new();
    node.change(|state| state.offers.clear());
    node.kubelet.start().await;
    settle().await;
    assert!(node.kubelet.seen().registrations.is_empty());
    node.change(|state| state.offers.push(offer(GPU, 8)));
    let kubelet: &Kubelet = &node.kubelet;
    assert_eq!(kubelet.met(GPU).await.healthy().len(), 8);
}
