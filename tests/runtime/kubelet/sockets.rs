//! The plugin recreates deleted sockets, and removes its sockets at shutdown.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use gpuc_runtime::kubelet::api::v1beta1::Empty;
use gpuc_runtime::plugin::PluginEvent;
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};

use super::{GPU, MIG_DEVICE, Node, advertised_resource, settle};
use crate::simulated_kubelet::{dial, wipe};

/// NVIDIA's plugin does not detect a deleted socket.
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
    let has_seven = |seen: &crate::simulated_kubelet::Seen| seen.resource(GPU).healthy().len() == 7;
    let seen = node.kubelet.wait_until("an unhealthy GPU", has_seven).await;
    assert_eq!(
        seen.registrations.len(),
        1,
        "the kubelet keeps the registration"
    );
    assert_eq!(seen.resource(GPU).ended, 0);
}

/// A client that leaks connections exhausts neither the daemon nor the kubelet's access: idle connections are closed,
/// the one on which the kubelet watches the devices is not, and a restarted kubelet can connect.
#[tokio::test]
async fn leaked_connections_are_closed() {
    let mut node = Node::running().await;
    let mut leaked = Vec::new();
    for _ in 0..100 {
        leaked.push(UnixStream::connect(node.socket(GPU)).await.unwrap());
    }
    let mut closed = 0;
    for stream in &mut leaked {
        // The server's settings arrive first.
        let mut received = Vec::new();
        let end = stream.read_to_end(&mut received);
        let ended = tokio::time::timeout(Duration::from_millis(100), end).await;
        closed += usize::from(ended.is_ok());
        if ended.is_err() {
            break;
        }
    }
    assert!((84..=86).contains(&closed), "{closed}");
    node.modify_state(|state| {
        let error = "XID 48".to_owned();
        state.unhealthy.insert("GPU-1".to_owned(), error);
    });
    let has_seven = |seen: &crate::simulated_kubelet::Seen| seen.resource(GPU).healthy().len() == 7;
    let seen = node.kubelet.wait_until("an unhealthy GPU", has_seven).await;
    assert_eq!((seen.registrations.len(), seen.resource(GPU).ended), (1, 0));
    node.kubelet.restart().await;
    let resource = node.kubelet.wait_for_registration(GPU).await;
    assert_eq!(resource.healthy().len(), 7);
}

#[tokio::test]
async fn wiped_folder_is_registered_again() {
    let mut node = Node::running().await;
    for instance in 2..=6 {
        node.kubelet.kill().await;
        wipe(&node.folder);
        if instance % 2 == 0 {
            settle().await;
        }
        node.kubelet.start().await;
        assert_eq!(
            node.kubelet
                .wait_for_registration(GPU)
                .await
                .healthy()
                .len(),
            8
        );
    }
    settle().await;
    for instance in 1..=6 {
        assert_eq!(node.kubelet.seen().registrations_in(instance, GPU), 1);
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
    node.kubelet.wait_for_registration(GPU).await;
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
    let foreign = fs::symlink_metadata(node.socket(GPU)).unwrap();
    // When the newer daemon shuts down, the older one creates its socket again and must register it.
    drop(other);
    fs::remove_file(node.socket(GPU)).unwrap();
    node.wait_for_event(|event| matches!(event, PluginEvent::Registered { .. }))
        .await;
    let recreated = fs::symlink_metadata(node.socket(GPU)).unwrap();
    assert!(
        recreated.ino() != foreign.ino()
            || recreated.created().unwrap() != foreign.created().unwrap()
    );
    assert_eq!(node.kubelet.seen().registrations_in(1, GPU), 2);
}

#[tokio::test]
async fn other_file_at_the_path_is_kept() {
    let mut node = Node::without_folder();
    fs::create_dir(&node.folder).unwrap();
    fs::write(node.socket(GPU), "notes").unwrap();
    let event = node
        .wait_for_event(|event| matches!(event, PluginEvent::NotBound { .. }))
        .await;
    let PluginEvent::NotBound { error, .. } = event else {
        unreachable!("only NotBound matches")
    };
    assert!(error.contains("gpuc-nvidia.com_gpu.sock"), "{error}");
    assert_eq!(fs::read_to_string(node.socket(GPU)).unwrap(), "notes");
    fs::remove_file(node.socket(GPU)).unwrap();
    node.kubelet.start().await;
    node.kubelet.wait_for_registration(GPU).await;
}

#[tokio::test]
async fn shutdown_removes_sockets() {
    let node = Node::running().await;
    node.modify_state(|state| {
        state
            .advertised_resources
            .push(advertised_resource(MIG_DEVICE, 7));
    });
    node.kubelet.wait_for_registration(MIG_DEVICE).await;
    assert!(node.socket(GPU).exists() && node.socket(MIG_DEVICE).exists());
    let (gpu, slice) = (node.socket(GPU), node.socket(MIG_DEVICE));
    let stopped = tokio::time::timeout(Duration::from_secs(2), node.plugins.stop()).await;
    stopped.expect("the plugins end").unwrap();
    assert!(!gpu.exists() && !slice.exists());
    let ended = |seen: &crate::simulated_kubelet::Seen| {
        seen.resource(GPU).ended == 1 && seen.resource(MIG_DEVICE).ended == 1
    };
    node.kubelet
        .wait_until("the end of both lists", ended)
        .await;
}

#[tokio::test]
async fn hanging_clients_do_not_delay_shutdown() {
    let node = Node::running().await;
    let stream = tokio::net::UnixStream::connect(node.socket(GPU)).await;
    let stopped = tokio::time::timeout(Duration::from_secs(2), node.plugins.stop()).await;
    stopped.expect("the plugins end").unwrap();
    drop(stream);
}

#[tokio::test]
async fn drop_removes_sockets() {
    let node = Node::running().await;
    let socket = node.socket(GPU);
    drop(node.plugins);
    let removed = async {
        while socket.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let removed = tokio::time::timeout(Duration::from_secs(2), removed).await;
    removed.expect("the socket is removed");
}

#[tokio::test]
async fn closed_state_channel_ends_plugins() {
    let mut node = Node::running().await;
    drop(node.state);
    let ended = tokio::time::timeout(Duration::from_secs(2), node.plugins.wait_until_ended()).await;
    ended.expect("the plugins end").unwrap();
    assert!(node.parent.path().exists());
}
