//! The conditions for the recovery of an unhealthy device.

use gpuc_runtime::device::Gpu;
use gpuc_runtime::health::{Health, HealthEvent, Policy};
use gpuc_runtime::nvml::{Condition, NvmlEventKind, RecoveryAction};
use gpuc_schema::node_config::HealthPolicy;

use super::node::{HEALTHY, HOUR, NO_ACTION_REPORTED, Node, SECOND};
use crate::machine::{inventory, lost_gpu_error, mig_device_uuid, uuid, with_unresponsive_gpu};

/// With NVIDIA's plugin, an unhealthy GPU never recovers.
#[test]
fn gpu_recovers_after_quiet_time_and_response() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    assert_eq!(
        node.answer_due_queries(|_| Ok(HEALTHY)),
        [""; 0],
        "the quiet time has not passed"
    );
    node.advance(59 * SECOND);
    assert_eq!(node.health.take_due_queries(node.now), [0; 0]);
    assert_eq!(node.advance_to_next_query(), SECOND);
    assert_eq!(node.answer_due_queries(|_| Ok(HEALTHY)), [uuid(3)]);
    assert!(node.unhealthy().is_empty());
    assert_eq!(node.health.next_probe(), None, "no probe is scheduled");
}

#[test]
fn mig_device_recovers_like_a_gpu() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 94, Some((9, 0)));
    node.answer_due_queries(|_| Ok(HEALTHY));
    node.advance_to_next_query();
    assert_eq!(
        node.answer_due_queries(|_| Ok(HEALTHY)),
        [mig_device_uuid(2, 9)]
    );
}

#[test]
fn new_error_restarts_the_quiet_time() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    node.answer_due_queries(|_| Ok(HEALTHY));
    node.advance(50 * SECOND);
    node.xid(3, 94, None);
    node.answer_due_queries(|_| Ok(HEALTHY));
    assert_eq!(node.advance_to_next_query(), 60 * SECOND);
}

#[test]
fn error_during_query_prevents_recovery() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    node.answer_due_queries(|_| Ok(HEALTHY));
    node.advance_to_next_query();
    assert_eq!(node.health.take_due_queries(node.now), [3]);
    node.xid(3, 94, None);
    let reaction =
        node.health
            .handle_response(&node.inventory, 3, Ok(HEALTHY), node.now + 120 * SECOND);
    assert_eq!(reaction.recovered, [""; 0]);
    assert_eq!(node.unhealthy(), [uuid(3)]);
}

#[test]
fn hanging_driver_is_queried_once() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    assert_eq!(node.health.take_due_queries(node.now), [3]);
    node.advance(HOUR);
    assert_eq!(node.health.take_due_queries(node.now), [0; 0]);
    assert_eq!(node.health.next_probe(), None);
}

#[test]
fn quiet_time_doubles_per_recurrence() {
    let mut node = Node::new(inventory(8, false));
    let mut delays = Vec::new();
    for _ in 0..12 {
        node.xid(3, 94, None);
        node.answer_due_queries(|_| Ok(HEALTHY));
        delays.push(node.advance_to_next_query() / SECOND);
        assert_eq!(node.answer_due_queries(|_| Ok(HEALTHY)), [uuid(3)]);
    }
    assert_eq!(delays[..4], [60, 120, 240, 480]);
    assert_eq!(*delays.last().expect("twelve delays"), 6 * 3_600);
    node.advance(25 * HOUR);
    node.xid(3, 94, None);
    node.answer_due_queries(|_| Ok(HEALTHY));
    assert_eq!(
        node.advance_to_next_query(),
        60 * SECOND,
        "a day without errors resets the quiet time"
    );
}

#[test]
fn unset_quiet_time_prevents_recovery() {
    let policy = HealthPolicy {
        quiet_seconds: None,
        ..HealthPolicy::default()
    };
    let mut node = Node::with(inventory(8, false), &policy);
    node.xid(3, 94, None);
    node.answer_due_queries(|_| Ok(HEALTHY));
    assert_eq!(node.health.next_probe(), None);
    node.advance(100 * HOUR);
    node.event(Some(3), NvmlEventKind::RecoveryAction);
    node.answer_due_queries(|_| Ok(HEALTHY));
    assert_eq!(node.unhealthy(), [uuid(3)]);
}

#[test]
fn reset_requires_confirmation() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 95, None);
    let requested = Condition {
        action: Some(RecoveryAction::ResetGpu),
        remap_failed: false,
    };
    node.answer_due_queries(|_| Ok(requested));
    let reason = &node.health.unhealthy()[&uuid(3)];
    assert!(reason.contains("Xid 95") && reason.contains("the driver requests a reset of the GPU"));
    for _ in 0..100 {
        node.advance_to_next_query();
        assert_eq!(node.answer_due_queries(|_| Ok(requested)), [""; 0]);
    }
    node.event(Some(3), NvmlEventKind::RecoveryAction);
    assert_eq!(node.answer_due_queries(|_| Ok(HEALTHY)), [uuid(3)]);
}

/// After a long quiet time, a reset is noticed within ten minutes.
#[test]
fn queries_are_at_most_ten_minutes_apart() {
    let policy = HealthPolicy {
        quiet_seconds: Some(2 * 3_600),
        ..HealthPolicy::default()
    };
    let mut node = Node::with(inventory(8, false), &policy);
    let requested = Condition {
        action: Some(RecoveryAction::ResetGpu),
        remap_failed: false,
    };
    node.xid(3, 95, None);
    node.answer_due_queries(|_| Ok(requested));
    assert_eq!(node.advance_to_next_query(), 2 * HOUR);
    node.answer_due_queries(|_| Ok(requested));
    for _ in 0..3 {
        assert_eq!(node.advance_to_next_query(), 600 * SECOND);
        assert_eq!(node.answer_due_queries(|_| Ok(requested)), [""; 0]);
    }
}

/// Drivers before 570 report no recovery action, so a response does not prove that the GPU was reset.
#[test]
fn old_driver_cannot_confirm_a_reset() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 79, None);
    for _ in 0..100 {
        node.advance_to_next_query();
        assert_eq!(node.answer_due_queries(|_| Ok(NO_ACTION_REPORTED)), [""; 0]);
    }
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    node.answer_due_queries(|_| Ok(NO_ACTION_REPORTED));
    node.advance_to_next_query();
    assert_eq!(
        node.answer_due_queries(|_| Ok(NO_ACTION_REPORTED)),
        [uuid(3)]
    );
}

#[test]
fn failed_row_remapping_prevents_recovery() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 63, None);
    assert!(node.unhealthy().is_empty(), "a remapped row is not a fault");
    let failed = Condition {
        action: None,
        remap_failed: true,
    };
    node.answer_due_queries(|_| Ok(failed));
    let reason = node.health.unhealthy();
    assert_eq!(reason[&uuid(3)], "a memory row could not be remapped");
    node.advance_to_next_query();
    assert_eq!(node.answer_due_queries(|_| Ok(failed)), [""; 0]);
}

#[test]
fn returned_gpu_recovers_after_quiet_time() {
    let mut node = Node::new(inventory(8, false));
    node.scan(with_unresponsive_gpu(&node.inventory, 3));
    node.answer_due_queries(|_| Err(lost_gpu_error()));
    node.advance_to_next_query();
    let due = node.health.take_due_queries(node.now);
    assert_eq!(due, [3]);
    let reaction = node
        .health
        .handle_response(&node.inventory, 3, Ok(HEALTHY), node.now);
    assert!(reaction.rescan && reaction.recovered.is_empty());
    node.scan(inventory(8, false));
    assert_eq!(node.unhealthy(), [uuid(3)]);
    node.answer_due_queries(|_| Ok(HEALTHY));
    assert_eq!(node.advance_to_next_query(), 60 * SECOND);
    assert_eq!(node.answer_due_queries(|_| Ok(HEALTHY)), [uuid(3)]);
}

/// Without a UUID, the GPU has a placeholder ID. Its fault moves to the UUID.
#[test]
fn first_response_starts_a_quiet_time() {
    let mut unidentified = with_unresponsive_gpu(&inventory(8, false), 3);
    if let Gpu::Unresponsive { last_info, .. } = &mut unidentified.gpus[3] {
        *last_info = None;
    }
    let mut health = Health::new(Policy::new(&HealthPolicy::default(), None, None).0);
    health.apply(&unidentified, &HealthEvent::Scanned, 0);
    assert!(health.unhealthy().contains_key("gpu-3-unresponsive"));
    health.apply(&inventory(8, false), &HealthEvent::Scanned, 10);
    let unhealthy: Vec<String> = health.unhealthy().into_keys().collect();
    assert_eq!(unhealthy, [uuid(3)]);
}

#[test]
fn fault_follows_a_changed_index() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    let mut fewer = inventory(8, false);
    fewer.gpus.remove(3);
    node.scan(fewer);
    assert!(node.unhealthy().is_empty(), "the GPU is missing");
    let mut moved = inventory(8, false);
    if let Gpu::Responding { info, .. } = &mut moved.gpus[3] {
        info.index = 9;
    }
    node.scan(moved);
    assert_eq!(node.unhealthy(), [uuid(3)]);
    node.advance(60 * SECOND);
    assert_eq!(node.answer_due_queries(|_| Ok(HEALTHY)), [uuid(3)]);
}

#[test]
fn repartitioning_discards_deleted_devices() {
    let mut node = Node::new(inventory(8, true));
    node.xid(3, 95, Some((7, 0)));
    let reaction = node.event(Some(3), NvmlEventKind::MigChanged);
    assert!(reaction.rescan);
    let mut repartitioned = inventory(8, true);
    if let Gpu::Responding { info, .. } = &mut repartitioned.gpus[3] {
        info.slices.remove(0);
    }
    node.scan(repartitioned);
    assert!(node.unhealthy().is_empty());
    node.scan(inventory(8, true));
    assert!(node.unhealthy().is_empty(), "the MIG device is a new one");
}
