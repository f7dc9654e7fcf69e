//! The plugin registers once, and immediately, with a kubelet that starts late, restarts or is slow.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gpuc_runtime::kubelet::KUBELET_SOCKET;
use gpuc_runtime::plugin::PluginEvent;

use super::{GPU, MIG_DEVICE, Node, advertised_resource, settle};
use crate::simulated_kubelet::{Seen, TIMEOUT};

/// If the kubelet starts after 0.3 s, NVIDIA's plugin registers after 1.02 s, stops, and registers a second time.
#[tokio::test]
async fn late_kubelet_is_registered_with_once() {
    for delay in [30, 300] {
        let mut node = Node::new();
        tokio::time::sleep(Duration::from_millis(delay)).await;
        node.kubelet.start().await;
        let resource = node.kubelet.wait_for_registration(GPU).await;
        assert_eq!(resource.healthy().len(), 8);
        settle().await;
        let seen = node.kubelet.seen();
        assert_eq!(seen.registrations.len(), 1);
        assert_eq!((seen.resource(GPU).lists, seen.resource(GPU).ended), (1, 0));
        let (_, request) = &seen.registrations[0];
        assert_eq!(request.version, "v1beta1");
        assert_eq!(request.endpoint, "gpuc-nvidia.com_gpu.sock");
        let options = request.options.unwrap();
        assert!(options.get_preferred_allocation_available && !options.pre_start_required);
    }
}

#[tokio::test]
async fn folder_created_later_is_watched() {
    let mut node = Node::without_folder();
    settle().await;
    node.kubelet.start().await;
    node.kubelet.wait_for_registration(GPU).await;
    settle().await;
    assert_eq!(node.kubelet.seen().registrations.len(), 1);
}

#[tokio::test]
async fn hundred_restarts_register_once_each() {
    let mut node = Node::running().await;
    for restart in 0..100_u64 {
        match restart % 3 {
            0 => node.kubelet.restart().await,
            // A crash leaves the socket. The next kubelet removes it.
            1 => {
                node.kubelet.kill().await;
                node.kubelet.start().await;
            }
            _ => {
                node.kubelet.stop().await;
                tokio::time::sleep(Duration::from_millis(2)).await;
                node.kubelet.start().await;
            }
        }
        let resource = node.kubelet.wait_for_registration(GPU).await;
        assert_eq!(resource.healthy().len(), 8);
    }
    settle().await;
    let seen = node.kubelet.seen();
    for instance in 1..=101 {
        assert_eq!(
            seen.registrations_in(instance, GPU),
            1,
            "instance {instance}"
        );
    }
    let is_registered = |event: &PluginEvent| matches!(event, PluginEvent::Registered { .. });
    assert_eq!(node.count_events(is_registered), 101);
}

/// Counters and readiness depend on the events, so none may be lost if they are read late.
#[tokio::test]
async fn no_event_is_lost() {
    let mut node = Node::running().await;
    let name = |number: u32| format!("nvidia.com/gpu-{number}");
    node.modify_state(|state| {
        state
            .advertised_resources
            .extend((0..200).map(|number| advertised_resource(&name(number), 1)));
    });
    for number in 0..200 {
        node.kubelet.wait_for_registration(&name(number)).await;
    }
    settle().await;
    let mut events = Vec::new();
    node.count_events(|event| {
        events.push(event.clone());
        true
    });
    for resource in (0..200).map(name) {
        for expected in [
            PluginEvent::Bound {
                resource: resource.clone(),
            },
            PluginEvent::Registered {
                resource: resource.clone(),
                kubelet_instance: 1,
            },
            PluginEvent::RegistrationChanged {
                resource: resource.clone(),
                is_registered: true,
            },
        ] {
            let count = events.iter().filter(|event| **event == expected).count();
            assert_eq!(count, 1, "{expected:?}");
        }
    }
}

/// NVIDIA's plugin waits for gRPC's first backoff of one second in 4 to 24 of 60 restarts.
#[tokio::test]
async fn connection_between_bind_and_listen_is_retried() {
    let mut node = Node::running().await;
    for gap in [20, 200, 20, 1_500] {
        node.kubelet.stop().await;
        node.kubelet
            .start_with_gap(Duration::from_millis(gap))
            .await;
        let start = Instant::now();
        node.kubelet.wait_for_registration(GPU).await;
        let waited = start.elapsed();
        assert!(waited < Duration::from_millis(800), "{waited:?}");
    }
    settle().await;
    let seen = node.kubelet.seen();
    for instance in 1..=5 {
        assert_eq!(
            seen.registrations_in(instance, GPU),
            1,
            "instance {instance}"
        );
    }
    let is_rejected = |event: &PluginEvent| matches!(event, PluginEvent::NotRegistered { .. });
    assert_eq!(node.count_events(is_rejected), 0);
}

#[tokio::test]
async fn health_survives_restarts_of_the_kubelet() {
    let mut node = Node::running().await;
    node.modify_state(|state| {
        state
            .unhealthy
            .insert("GPU-3".to_owned(), "XID 79".to_owned());
    });
    for _ in 0..3 {
        node.kubelet.restart().await;
        let resource = node.kubelet.wait_for_registration(GPU).await;
        assert_eq!(resource.devices.len(), 8);
        assert!(!resource.healthy().contains(&"gpu-3"));
        assert_eq!(resource.healthy().len(), 7);
    }
}

#[tokio::test]
async fn fault_without_kubelet_is_kept() {
    let mut node = Node::running().await;
    node.kubelet.stop().await;
    node.modify_state(|state| {
        state
            .unhealthy
            .insert("GPU-3".to_owned(), "XID 79".to_owned());
    });
    node.kubelet.start().await;
    assert_eq!(
        node.kubelet
            .wait_for_registration(GPU)
            .await
            .healthy()
            .len(),
        7
    );
}

#[tokio::test]
async fn restart_registers_all_resources() {
    let mut node = Node::running().await;
    node.modify_state(|state| {
        state
            .advertised_resources
            .push(advertised_resource(MIG_DEVICE, 7));
    });
    node.kubelet.wait_for_registration(MIG_DEVICE).await;
    for _ in 0..5 {
        node.kubelet.restart().await;
        assert_eq!(
            node.kubelet
                .wait_for_registration(GPU)
                .await
                .healthy()
                .len(),
            8
        );
        assert_eq!(
            node.kubelet
                .wait_for_registration(MIG_DEVICE)
                .await
                .healthy()
                .len(),
            7
        );
    }
    settle().await;
    let seen = node.kubelet.seen();
    assert_eq!(seen.registrations_in(1, MIG_DEVICE), 1);
    for instance in 2..=6 {
        assert_eq!(seen.registrations_in(instance, GPU), 1);
        assert_eq!(seen.registrations_in(instance, MIG_DEVICE), 1);
    }
}

#[tokio::test]
async fn rejected_registration_is_retried() {
    let mut node = Node::new();
    node.kubelet.rejection = Some("unsupported resource name".to_owned());
    node.kubelet.start().await;
    let event = node
        .wait_for_event(|event| matches!(event, PluginEvent::NotRegistered { .. }))
        .await;
    let PluginEvent::NotRegistered { error, .. } = event else {
        unreachable!("only NotRegistered matches")
    };
    assert!(error.contains("unsupported resource name"), "{error}");
    node.wait_for_event(|event| matches!(event, PluginEvent::NotRegistered { .. }))
        .await;
    node.kubelet.stop().await;
    node.kubelet.rejection = None;
    node.kubelet.start().await;
    node.kubelet.wait_for_registration(GPU).await;
}

/// The plugin does not wait for a hanging kubelet after the next one has started.
#[tokio::test]
async fn hanging_kubelet_is_abandoned_for_the_next() {
    let mut node = Node::new();
    let hanging = tokio::net::UnixListener::bind(node.folder.join(KUBELET_SOCKET)).unwrap();
    let connected = tokio::time::timeout(TIMEOUT, hanging.accept()).await;
    let _connection = connected.expect("no connection").unwrap();
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

/// After a crash of the kubelet, the plugin waits for the next one instead of calling the old socket.
#[tokio::test]
async fn dead_kubelet_is_awaited() {
    let mut node = Node::running().await;
    node.kubelet.kill().await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    node.kubelet.start().await;
    node.kubelet.wait_for_registration(GPU).await;
    settle().await;
    assert_eq!(node.kubelet.seen().registrations.len(), 2);
    while let Ok(event) = node.events.try_recv() {
        assert!(
            !matches!(event, PluginEvent::DroppedByKubelet { .. }),
            "{event:?}"
        );
    }
}

/// After an invalid list, the kubelet ends the stream, marks all devices as unhealthy and expects a new registration.
#[tokio::test]
async fn dropped_plugin_registers_again() {
    let mut node = Node::running().await;
    // The connections end and the kubelet's socket stays.
    node.kubelet.end_lists();
    node.wait_for_event(|event| matches!(event, PluginEvent::DroppedByKubelet { .. }))
        .await;
    node.kubelet
        .wait_until("a second registration", |seen| {
            seen.registrations_in(1, GPU) == 2 && seen.resource(GPU).healthy().len() == 8
        })
        .await;
}

/// The real kubelet calls ListAndWatch right after it accepts a registration. One that never does has no devices.
#[tokio::test]
async fn registration_without_list_is_repeated() {
    let mut node = Node::new();
    node.kubelet.ignores_plugins.store(true, Ordering::SeqCst);
    node.kubelet.start().await;
    node.wait_for_event(|event| {
        let is_registered = matches!(
            event,
            PluginEvent::RegistrationChanged {
                is_registered: true,
                ..
            }
        );
        assert!(!is_registered, "the kubelet does not watch");
        matches!(event, PluginEvent::NotWatched { .. })
    })
    .await;
    let repeated = |seen: &Seen| seen.registrations_in(1, GPU) == 2;
    node.kubelet
        .wait_until("a second registration", repeated)
        .await;
    node.kubelet.ignores_plugins.store(false, Ordering::SeqCst);
    node.wait_for_event(|event| {
        matches!(
            event,
            PluginEvent::RegistrationChanged {
                is_registered: true,
                ..
            }
        )
    })
    .await;
    let listed = |seen: &Seen| seen.resource(GPU).healthy().len() == 8;
    let seen = node.kubelet.wait_until("a list", listed).await;
    assert_eq!(
        seen.registrations_in(1, GPU),
        3,
        "the second one was ignored as well"
    );
}

/// A file that is not a socket, or that a kubelet left behind.
#[tokio::test]
async fn socket_without_kubelet_is_reported() {
    let mut node = Node::new();
    let socket = node.folder.join(KUBELET_SOCKET);
    drop(tokio::net::UnixListener::bind(&socket).unwrap());
    let event = node
        .wait_for_event(|event| matches!(event, PluginEvent::NotRegistered { .. }))
        .await;
    let PluginEvent::NotRegistered { error, .. } = event else {
        unreachable!();
    };
    assert!(error.contains(&socket.display().to_string()), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
}
