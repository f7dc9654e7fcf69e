//! Sockets and folders that are taken away come back; none is left behind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use gpuc_runtime::kubelet::api::v1beta1::Empty;
use gpuc_runtime::plugin::PluginEvent;
use tokio::net::UnixListener;

use super::{GPU, Node, SLICE, offer, settle};
use crate::simulated_kubelet::{dial, wipe};

/// NVIDIA's plugin never notices that.
#[tokio::test]
async fn deleted_socket_is_recreated() {
    let mut node = Node::running().await;
    for _ in 0..10 {
        fs::remove_file(node.socket(GPU)).unwrap();
        node.wait_for_event(|event| matches!(event, PluginEvent::SocketLost { .. }))
            .await;
        node.wait_for_event(|event| matches!(event, PluginEvent::Bound { .. }))
            .await;
        let mut plugin = dial(&node.socket(GPU)).await.unwrap();
        plugin.get_device_plugin_options(Empty {}).await.unwrap();
    }
    node.modify_state(|state| {
        state
            .unhealthy
            .insert("GPU-1".to_owned(), "XID 48".to_owned());
    });
    let seven = |seen: &crate::simulated_kubelet::Seen| seen.resource(GPU).healthy().len() == 7;
    let seen = node.kubelet.until("one unhealthy", seven).await;
    assert_eq!(seen.registrations.len(), 1, "the kubelet lost nothing");
    assert_eq!(seen.resource(GPU).ended, 0);
}

#[tokio::test]
async fn wiped_folder_is_registered_again() {
    let mut node = Node::running().await;
    for life in 2..=6 {
        node.kubelet.kill().await;
        wipe(&node.folder);
        if life % 2 == 0 {
            settle().await;
        }
        node.kubelet.start().await;
        assert_eq!(node.kubelet.met(GPU).await.healthy().len(), 8);
    }
    settle().await;
    for life in 1..=6 {
        assert_eq!(node.kubelet.seen().registrations_in(life, GPU), 1);
    }
}

#[tokio::test]
async fn other_deleted_files_are_ignored() {
    let mut node = Node::running().await;
    for entry in fs::read_dir(&node.folder).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    node.wait_for_event(|event| matches!(event, PluginEvent::SocketLost { .. }))
        .await;
    settle().await;
    let seen = node.kubelet.seen();
    assert_eq!(seen.resource(GPU).healthy().len(), 8);
    assert_eq!((seen.registrations.len(), seen.resource(GPU).ended), (1, 0));
    assert!(node.socket(GPU).exists());
    node.kubelet.restart().await;
    node.kubelet.met(GPU).await;
}

#[tokio::test]
async fn stale_socket_is_replaced() {
    let mut node = Node::without_folder();
    fs::create_dir(&node.folder).unwrap();
    drop(UnixListener::bind(node.socket(GPU)));
    node.wait_for_event(|event| matches!(event, PluginEvent::Bound { .. }))
        .await;
    dial(&node.socket(GPU)).await.unwrap();
}

#[tokio::test]
async fn newest_daemon_keeps_the_socket() {
    let mut node = Node::running().await;
    fs::remove_file(node.socket(GPU)).unwrap();
    let other = UnixListener::bind(node.socket(GPU)).unwrap();
    node.wait_for_event(|event| matches!(event, PluginEvent::SocketTaken { .. }))
        .await;
    settle().await;
    let taken = fs::symlink_metadata(node.socket(GPU)).unwrap();
    // The newer one shuts down, and the older one takes over: it must register with the kubelet.
    drop(other);
    fs::remove_file(node.socket(GPU)).unwrap();
    node.wait_for_event(|event| matches!(event, PluginEvent::Registered { .. }))
        .await;
    let ours = fs::symlink_metadata(node.socket(GPU)).unwrap();
    assert!(ours.ino() != taken.ino() || ours.created().unwrap() != taken.created().unwrap());
    assert_eq!(node.kubelet.seen().registrations_in(1, GPU), 2);
}

#[tokio::test]
async fn other_file_at_the_path_is_kept() {
    let mut node = Node::without_folder();
    fs::create_dir(&node.folder).unwrap();
    fs::write(node.socket(GPU), "notes").unwrap();
    let heard = node
        .wait_for_event(|event| matches!(event, PluginEvent::NotBound { .. }))
        .await;
    let PluginEvent::NotBound { error: why, .. } = heard else {
        unreachable!("it was found to be one")
    };
    assert!(why.contains("gpuc-nvidia.com_gpu.sock"), "{why}");
    assert_eq!(fs::read_to_string(node.socket(GPU)).unwrap(), "notes");
    fs::remove_file(node.socket(GPU)).unwrap();
    node.kubelet.start().await;
    node.kubelet.met(GPU).await;
}

#[tokio::test]
async fn shutdown_removes_sockets() {
    let node = Node::running().await;
    node.modify_state(|state| state.advertised_resources.push(offer(SLICE, 7)));
    node.kubelet.met(SLICE).await;
    assert!(node.socket(GPU).exists() && node.socket(SLICE).exists());
    let (gpu, slice) = (node.socket(GPU), node.socket(SLICE));
    let stopped = tokio::time::timeout(Duration::from_secs(2), node.plugins.stop()).await;
    stopped.expect("it hangs").unwrap();
    assert!(!gpu.exists() && !slice.exists());
    let ended = |seen: &crate::simulated_kubelet::Seen| {
        seen.resource(GPU).ended == 1 && seen.resource(SLICE).ended == 1
    };
    node.kubelet.until("both lists ended", ended).await;
}

#[tokio::test]
async fn hanging_clients_do_not_delay_shutdown() {
    let node = Node::running().await;
    let stream = tokio::net::UnixStream::connect(node.socket(GPU)).await;
    let stopped = tokio::time::timeout(Duration::from_secs(2), node.plugins.stop()).await;
    stopped.expect("it hangs").unwrap();
    drop(stream);
}

#[tokio::test]
async fn drop_removes_sockets() {
    let node = Node::running().await;
    let socket = node.socket(GPU);
    drop(node.plugins);
    let gone = async {
        while socket.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(2), gone).await;
    gone.expect("it stays");
}

#[tokio::test]
async fn closed_state_channel_ends_plugins() {
    let mut node = Node::running().await;
    drop(node.state);
    let ended = tokio::time::timeout(Duration::from_secs(2), node.plugins.wait_until_ended()).await;
    ended.expect("it hangs").unwrap();
    assert!(node.above.path().exists());
}
