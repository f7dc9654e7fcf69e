//! Faults that NVIDIA's device plugin v0.20.0 handles incorrectly. Each comment describes the plugin's behavior.

use gpuc_runtime::health::{Health, HealthEvent, Monitoring, Policy, Reaction, WatchReport};
use gpuc_runtime::nvml::{Condition, NvmlErrorKind, NvmlEventKind, RecoveryAction};
use gpuc_schema::node_config::{HealthPolicy, NodeSharing};

use super::node::{HEALTHY, Node};
use crate::machine::{
    inventory, lost_gpu_error, mig, mig_device_uuid, nvml_error, time_slicing, uuid,
    with_unresponsive_gpu,
};

/// NVIDIA's plugin: one of ten replicas is unhealthy. The other nine stay allocatable.
#[test]
fn fatal_error_affects_all_replicas() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.xid(3, 79, None);
    assert_eq!(node.unhealthy(), [uuid(3)]);
    assert_eq!(node.unhealthy_counts(&time_slicing(10)), (10, 80));
    assert_eq!(node.unhealthy_counts(&NodeSharing::Exclusive), (1, 8));
    let reason = "Xid 79 (the GPU fell off the bus)";
    assert_eq!(reaction.became_unhealthy, [(uuid(3), reason.to_owned())]);
    assert!(reaction.changed);
}

/// NVIDIA's plugin: the error is ignored (three of three).
#[test]
fn instance_error_affects_one_mig_device() {
    for gi in [7, 10, 13] {
        let mut node = Node::new(inventory(8, true));
        node.xid(2, 79, Some((gi, 0)));
        assert_eq!(node.unhealthy(), [mig_device_uuid(2, gi)]);
        assert_eq!(node.unhealthy_counts(&mig()), (1, 56));
    }
}

/// NVIDIA's plugin: one of seven MIG devices is unhealthy.
#[test]
fn gpu_error_affects_all_mig_devices() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, None);
    assert_eq!(node.unhealthy(), [uuid(2)]);
    assert_eq!(node.unhealthy_counts(&mig()), (7, 56));
}

#[test]
fn unknown_instance_affects_the_gpu() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((99, 0)));
    assert_eq!(node.unhealthy(), [uuid(2)]);
    let mut node = Node::new(inventory(8, false));
    node.xid(2, 79, Some((7, 0)));
    assert_eq!(node.unhealthy(), [uuid(2)]);
}

/// The driver reports `0xFFFFFFFF` for an unknown compute instance or GPU instance.
#[test]
fn unspecified_instance_affects_all() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((8, u32::MAX)));
    assert_eq!(node.unhealthy(), [mig_device_uuid(2, 8)]);
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((u32::MAX, u32::MAX)));
    assert_eq!(node.unhealthy(), [uuid(2)]);
}

/// NVIDIA's plugin: the same.
#[test]
fn application_errors_are_ignored() {
    let mut node = Node::new(inventory(8, false));
    for xid in [13, 31, 43, 45, 68, 109] {
        assert_eq!(node.xid(1, xid, None), Reaction::default(), "{xid}");
    }
    assert!(node.unhealthy().is_empty());
    assert_eq!(node.health.next_probe(), None);
}

/// NVIDIA's plugin: the error is only logged.
#[test]
fn only_double_bit_errors_count() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.event(Some(4), NvmlEventKind::SingleBitEcc);
    assert_eq!(reaction, Reaction::default());
    node.event(Some(4), NvmlEventKind::DoubleBitEcc);
    assert_eq!(node.unhealthy(), [uuid(4)]);
    assert_eq!(node.unhealthy_counts(&time_slicing(10)), (10, 80));
}

/// NVIDIA's plugin: it subscribes to neither event.
#[test]
fn requested_recovery_is_a_fault() {
    let mut node = Node::new(inventory(8, false));
    node.event(Some(4), NvmlEventKind::Unavailable);
    assert_eq!(node.unhealthy(), [uuid(4)]);
    node.event(Some(5), NvmlEventKind::RecoveryAction);
    assert_eq!(
        node.unhealthy(),
        [uuid(4)],
        "the event does not have the action; the driver must be queried"
    );
    node.answer_due_queries(|gpu| {
        let mut condition = HEALTHY;
        if gpu == 5 {
            condition.action = Some(RecoveryAction::RebootNode);
        }
        Ok(condition)
    });
    assert_eq!(node.unhealthy(), [uuid(4), uuid(5)]);
}

/// NVIDIA's plugin: all eight GPUs are unhealthy permanently.
#[test]
fn failed_event_wait_affects_no_gpu() {
    let mut node = Node::new(inventory(8, false));
    let error = nvml_error(NvmlErrorKind::Other, "nvmlEventSetWait: unknown error");
    node.xid(3, 94, None);
    let reaction = node.apply(&HealthEvent::Watch(WatchReport::Failed(error.clone())));
    assert!(reaction.changed && reaction.became_unhealthy.is_empty());
    assert_eq!(node.unhealthy(), [uuid(3)], "earlier faults are kept");
    node.apply(&HealthEvent::Watch(WatchReport::Failed(error)));
    let expected = Monitoring::Down {
        error: "nvmlEventSetWait: unknown error".into(),
        failures: 2,
    };
    assert_eq!(*node.health.monitoring(), expected);
    node.apply(&HealthEvent::Watch(WatchReport::Started {
        watched: Vec::new(),
        unwatched: Vec::new(),
    }));
    let all: Vec<u32> = (0..8).collect();
    assert_eq!(
        node.health.take_due_queries(node.now),
        all,
        "no GPU was monitored during the failure"
    );
    assert_eq!(node.unhealthy(), [uuid(3)]);
}

/// NVIDIA's plugin: monitoring ends without a message, and all GPUs stay healthy (k8s-device-plugin#2037).
#[test]
fn unmonitored_gpus_stay_advertised() {
    let mut node = Node::new(inventory(8, false));
    let error = nvml_error(NvmlErrorKind::NotSupported, "nvmlDeviceRegisterEvents");
    let reaction = node.apply(&HealthEvent::Watch(WatchReport::Started {
        watched: Vec::new(),
        unwatched: vec![(6, error)],
    }));
    assert!(reaction.changed && node.unhealthy().is_empty());
    let Monitoring::Up { unwatched } = node.health.monitoring() else {
        panic!("monitoring is down");
    };
    assert_eq!(unwatched[&6].to_string(), "nvmlDeviceRegisterEvents");
    assert_eq!(node.health.monitoring().failed_gpus().count(), 0);
}

/// The daemon reports a driver that is unloaded for an upgrade; its GPUs have no fault that outlives the upgrade.
#[test]
fn missing_driver_is_not_a_fault_of_its_gpus() {
    for kind in [NvmlErrorKind::NoDriver, NvmlErrorKind::NoLibrary] {
        let mut node = Node::new(inventory(8, false));
        node.health.query_soon(&node.inventory.clone(), 3, node.now);
        node.answer_due_queries(|_| Err(nvml_error(kind, "Driver Not Loaded")));
        assert!(node.unhealthy().is_empty(), "{kind:?}");
    }
}

/// NVIDIA's plugin: all eight GPUs are unhealthy if a lost GPU does not report its UUID.
#[test]
fn event_without_gpu_queries_all() {
    let mut node = Node::new(inventory(8, false));
    let kind = NvmlEventKind::Xid {
        xid: 79,
        instance: None,
    };
    node.event(None, kind);
    assert!(node.unhealthy().is_empty());
    node.answer_due_queries(|gpu| {
        if gpu == 3 {
            Err(lost_gpu_error())
        } else {
            Ok(HEALTHY)
        }
    });
    assert_eq!(node.unhealthy(), [uuid(3)]);
}

/// NVIDIA's plugin: the plugin exits.
#[test]
fn lost_gpu_is_listed_as_unhealthy() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.scan(with_unresponsive_gpu(&node.inventory, 3));
    assert_eq!(reaction.became_unhealthy.len(), 1);
    assert_eq!(node.unhealthy_counts(&NodeSharing::Exclusive), (1, 8));
    let reason = &node.health.unhealthy()[&uuid(3)];
    assert_eq!(reason, "not responding: nvmlDeviceGetUUID: GPU is lost");
}

#[test]
fn pending_reset_is_found_at_start() {
    let mut health = Health::new(Policy::new(&HealthPolicy::default(), None, None).0);
    let machine = inventory(8, false);
    health.apply(&machine, &HealthEvent::Scanned, 0);
    assert_eq!(health.take_due_queries(0).len(), 8);
    let requested = Condition {
        action: Some(RecoveryAction::ResetGpu),
        remap_failed: false,
    };
    let reaction = health.handle_response(&machine, 5, Ok(requested), 1);
    assert_eq!(
        reaction.became_unhealthy,
        [(uuid(5), "the driver requests a reset of the GPU".to_owned())]
    );
}

/// NVIDIA's plugin: every restart of the kubelet and every SIGHUP discards all faults.
#[test]
fn faults_survive_discovery_and_new_policies() {
    let mut node = Node::new(inventory(8, true));
    node.xid(3, 79, None);
    node.xid(4, 94, Some((7, 0)));
    let before = node.health.unhealthy();
    for _ in 0..3 {
        node.scan(inventory(8, true));
        let config = HealthPolicy {
            ignored_xids: vec![79, 94],
            ..HealthPolicy::default()
        };
        node.health.set_policy(Policy::new(&config, None, None).0);
    }
    assert_eq!(node.health.unhealthy(), before);
}

#[test]
fn event_of_unknown_gpu_triggers_discovery() {
    let mut node = Node::new(inventory(8, false));
    assert!(node.xid(11, 79, None).rescan);
    assert!(node.unhealthy().is_empty());
}

#[test]
fn disabled_events_are_ignored() {
    let health = Policy::new(&HealthPolicy::default(), Some("all"), None).0;
    let mut node = Node::new(inventory(8, false));
    node.health.set_policy(health);
    node.xid(3, 79, None);
    node.event(Some(3), NvmlEventKind::DoubleBitEcc);
    node.event(Some(3), NvmlEventKind::Unavailable);
    assert!(node.unhealthy().is_empty());
    node.scan(with_unresponsive_gpu(&node.inventory, 3));
    assert_eq!(
        node.unhealthy(),
        [uuid(3)],
        "disabled events do not make a lost GPU usable"
    );
}
