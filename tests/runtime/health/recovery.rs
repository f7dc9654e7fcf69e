//! When an unhealthy device recovers, and when it does not.

use gpuc_runtime::device::Gpu;
use gpuc_runtime::health::{Health, HealthEvent, Policy};
use gpuc_runtime::nvml::{Condition, NvmlEventKind, RecoveryAction};
use gpuc_schema::node_config::HealthPolicy;

use super::node::{HOUR, Node, SECOND, UNSAID, WELL};
use crate::machine::{inventory, lost, slice, uuid, without};

/// NVIDIA's plugin: unhealthy permanently.
#[test]
fn a_gpu_is_offered_again_after_a_quiet_time_and_a_good_answer() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    assert_eq!(node.answer(|_| Ok(WELL)), [""; 0], "it was not quiet yet");
    node.pass(59 * SECOND);
    assert_eq!(node.health.due(node.now), [0; 0]);
    assert_eq!(node.wait(), SECOND);
    assert_eq!(node.answer(|_| Ok(WELL)), [uuid(3)]);
    assert!(node.unhealthy().is_empty());
    assert_eq!(node.health.next_probe(), None, "no probe is scheduled");
}

#[test]
fn a_mig_device_is_offered_again_like_a_gpu() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 94, Some((9, 0)));
    node.answer(|_| Ok(WELL));
    node.wait();
    assert_eq!(node.answer(|_| Ok(WELL)), [slice(2, 9)]);
}

#[test]
fn a_new_error_starts_the_quiet_time_anew() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    node.answer(|_| Ok(WELL));
    node.pass(50 * SECOND);
    node.xid(3, 94, None);
    node.answer(|_| Ok(WELL));
    assert_eq!(node.wait(), 60 * SECOND);
}

#[test]
fn an_error_after_the_question_outweighs_the_answer() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    node.answer(|_| Ok(WELL));
    node.wait();
    assert_eq!(node.health.due(node.now), [3]);
    node.xid(3, 94, None);
    let reaction = node
        .health
        .probed(&node.inventory, 3, Ok(WELL), node.now + 120 * SECOND);
    assert_eq!(reaction.recovered, [""; 0]);
    assert_eq!(node.unhealthy(), [uuid(3)]);
}

#[test]
fn a_driver_that_hangs_is_not_asked_a_second_time() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    assert_eq!(node.health.due(node.now), [3]);
    node.pass(HOUR);
    assert_eq!(node.health.due(node.now), [0; 0]);
    assert_eq!(node.health.next_probe(), None);
}

#[test]
fn the_quiet_time_doubles_with_every_relapse_within_a_day() {
    let mut node = Node::new(inventory(8, false));
    let mut waits = Vec::new();
    for _ in 0..12 {
        node.xid(3, 94, None);
        node.answer(|_| Ok(WELL));
        waits.push(node.wait() / SECOND);
        assert_eq!(node.answer(|_| Ok(WELL)), [uuid(3)]);
    }
    assert_eq!(waits[..4], [60, 120, 240, 480]);
    assert_eq!(*waits.last().expect("there are twelve"), 6 * 3_600);
    node.pass(25 * HOUR);
    node.xid(3, 94, None);
    node.answer(|_| Ok(WELL));
    assert_eq!(node.wait(), 60 * SECOND, "a day without is forgiven");
}

#[test]
fn without_a_quiet_time_nothing_is_offered_again() {
    let policy = HealthPolicy {
        quiet_seconds: None,
        ..HealthPolicy::default()
    };
    let mut node = Node::with(inventory(8, false), &policy);
    node.xid(3, 94, None);
    node.answer(|_| Ok(WELL));
    assert_eq!(node.health.next_probe(), None);
    node.pass(100 * HOUR);
    node.event(Some(3), NvmlEventKind::RecoveryAction);
    node.answer(|_| Ok(WELL));
    assert_eq!(node.unhealthy(), [uuid(3)]);
}

#[test]
fn what_needs_a_reset_waits_for_the_drivers_word() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 95, None);
    let wants = Condition {
        action: Some(RecoveryAction::ResetGpu),
        remap_failed: false,
    };
    node.answer(|_| Ok(wants));
    let why = &node.health.unhealthy()[&uuid(3)];
    assert!(why.contains("Xid 95") && why.contains("the driver requests a reset of the GPU"));
    for _ in 0..100 {
        node.wait();
        assert_eq!(node.answer(|_| Ok(wants)), [""; 0]);
    }
    node.event(Some(3), NvmlEventKind::RecoveryAction);
    assert_eq!(node.answer(|_| Ok(WELL)), [uuid(3)]);
}

/// Drivers before 570 do not say what they want: that a GPU answers is no proof that it was reset.
#[test]
fn what_needs_a_reset_stays_where_the_driver_says_nothing() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 79, None);
    for _ in 0..100 {
        node.wait();
        assert_eq!(node.answer(|_| Ok(UNSAID)), [""; 0]);
    }
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    node.answer(|_| Ok(UNSAID));
    node.wait();
    assert_eq!(node.answer(|_| Ok(UNSAID)), [uuid(3)]);
}

#[test]
fn a_row_that_could_not_be_replaced_keeps_a_gpu_away() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 63, None);
    assert!(node.unhealthy().is_empty(), "a replaced row is no harm");
    let failed = Condition {
        action: None,
        remap_failed: true,
    };
    node.answer(|_| Ok(failed));
    let why = node.health.unhealthy();
    assert_eq!(why[&uuid(3)], "a memory row could not be remapped");
    node.wait();
    assert_eq!(node.answer(|_| Ok(failed)), [""; 0]);
}

#[test]
fn a_gpu_that_is_back_is_read_anew_and_offered_after_a_quiet_time() {
    let mut node = Node::new(inventory(8, false));
    node.scan(without(&node.inventory, 3));
    node.answer(|_| Err(lost()));
    node.wait();
    let due = node.health.due(node.now);
    assert_eq!(due, [3]);
    let reaction = node.health.probed(&node.inventory, 3, Ok(WELL), node.now);
    assert!(reaction.rescan && reaction.recovered.is_empty());
    node.scan(inventory(8, false));
    assert_eq!(node.unhealthy(), [uuid(3)]);
    node.answer(|_| Ok(WELL));
    assert_eq!(node.wait(), 60 * SECOND);
    assert_eq!(node.answer(|_| Ok(WELL)), [uuid(3)]);
}

/// It never had a name: what is known of it goes over to the name that it gets.
#[test]
fn a_gpu_that_never_answered_is_not_trusted_at_once() {
    let mut never = without(&inventory(8, false), 3);
    if let Gpu::Silent { last, .. } = &mut never.gpus[3] {
        *last = None;
    }
    let mut health = Health::new(Policy::new(&HealthPolicy::default(), None, None).0);
    health.apply(&never, &HealthEvent::Scanned, 0);
    assert!(health.unhealthy().contains_key("gpu-3-silent"));
    health.apply(&inventory(8, false), &HealthEvent::Scanned, 10);
    let unhealthy: Vec<String> = health.unhealthy().into_keys().collect();
    assert_eq!(unhealthy, [uuid(3)]);
}

#[test]
fn a_gpu_that_comes_back_under_another_index_is_still_ill() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    let mut fewer = inventory(8, false);
    fewer.gpus.remove(3);
    node.scan(fewer);
    assert!(node.unhealthy().is_empty(), "it is not there");
    let mut moved = inventory(8, false);
    if let Gpu::Known { info, .. } = &mut moved.gpus[3] {
        info.index = 9;
    }
    node.scan(moved);
    assert_eq!(node.unhealthy(), [uuid(3)]);
    node.pass(60 * SECOND);
    assert_eq!(node.answer(|_| Ok(WELL)), [uuid(3)]);
}

#[test]
fn a_new_cut_is_read_at_once_and_forgets_what_is_gone() {
    let mut node = Node::new(inventory(8, true));
    node.xid(3, 95, Some((7, 0)));
    let reaction = node.event(Some(3), NvmlEventKind::MigChanged);
    assert!(reaction.rescan);
    let mut cut = inventory(8, true);
    if let Gpu::Known { info, .. } = &mut cut.gpus[3] {
        info.slices.remove(0);
    }
    node.scan(cut);
    assert!(node.unhealthy().is_empty());
    node.scan(inventory(8, true));
    assert!(node.unhealthy().is_empty(), "it is another one");
}
