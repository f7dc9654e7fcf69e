//! Faults that NVIDIA's device plugin v0.20.0 gets wrong, one by one, and what happens here.

use gpuc_runtime::health::{Health, HealthEvent, Monitoring, Policy, Reaction, WatchReport};
use gpuc_runtime::nvml::{Condition, NvmlErrorKind, NvmlEventKind, RecoveryAction};
use gpuc_schema::node_config::{HealthPolicy, NodeSharing};

use super::node::{Node, WELL};
use crate::machine::{error, inventory, lost, mig, slice, time_slicing, uuid, without};

/// NVIDIA's: one of ten replicas; nine stay on the dead GPU.
#[test]
fn a_dead_gpu_takes_all_its_replicas_with_it() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.xid(3, 79, None);
    assert_eq!(node.unhealthy(), [uuid(3)]);
    assert_eq!(node.troubled(&time_slicing(10)), (10, 80));
    assert_eq!(node.troubled(&NodeSharing::Exclusive), (1, 8));
    let why = "Xid 79 (the GPU fell off the bus)";
    assert_eq!(reaction.fell, [(uuid(3), why.to_owned())]);
    assert!(reaction.changed);
}

/// NVIDIA's: dropped, three of three times.
#[test]
fn an_error_in_an_instance_hits_that_mig_device_and_no_other() {
    for gi in [7, 10, 13] {
        let mut node = Node::new(inventory(8, true));
        node.xid(2, 79, Some((gi, 0)));
        assert_eq!(node.unhealthy(), [slice(2, gi)]);
        assert_eq!(node.troubled(&mig()), (1, 56));
    }
}

/// NVIDIA's: one of seven.
#[test]
fn an_error_of_a_whole_gpu_hits_all_its_mig_devices() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, None);
    assert_eq!(node.unhealthy(), [uuid(2)]);
    assert_eq!(node.troubled(&mig()), (7, 56));
}

#[test]
fn an_error_in_an_instance_that_nobody_knows_hits_the_whole_gpu() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((99, 0)));
    assert_eq!(node.unhealthy(), [uuid(2)]);
    let mut node = Node::new(inventory(8, false));
    node.xid(2, 79, Some((7, 0)));
    assert_eq!(node.unhealthy(), [uuid(2)]);
}

/// The driver answers `0xFFFFFFFF` where it cannot name the compute instance, or the GPU instance.
#[test]
fn an_instance_that_the_driver_cannot_name_stands_for_all() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((8, u32::MAX)));
    assert_eq!(node.unhealthy(), [slice(2, 8)]);
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((u32::MAX, u32::MAX)));
    assert_eq!(node.unhealthy(), [uuid(2)]);
}

/// As NVIDIA's.
#[test]
fn errors_of_programs_are_ignored() {
    let mut node = Node::new(inventory(8, false));
    for xid in [13, 31, 43, 45, 68, 109] {
        assert_eq!(node.xid(1, xid, None), Reaction::default(), "{xid}");
    }
    assert!(node.unhealthy().is_empty());
    assert_eq!(node.health.next_probe(), None);
}

/// NVIDIA's: logged only.
#[test]
fn a_double_bit_error_counts_and_a_single_bit_error_does_not() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.event(Some(4), NvmlEventKind::SingleBitEcc);
    assert_eq!(reaction, Reaction::default());
    node.event(Some(4), NvmlEventKind::DoubleBitEcc);
    assert_eq!(node.unhealthy(), [uuid(4)]);
    assert_eq!(node.troubled(&time_slicing(10)), (10, 80));
}

/// NVIDIA's plugin subscribes to neither event.
#[test]
fn the_drivers_own_word_counts() {
    let mut node = Node::new(inventory(8, false));
    node.event(Some(4), NvmlEventKind::Unavailable);
    assert_eq!(node.unhealthy(), [uuid(4)]);
    node.event(Some(5), NvmlEventKind::RecoveryAction);
    assert_eq!(
        node.unhealthy(),
        [uuid(4)],
        "it says what it wants when asked"
    );
    node.answer(|gpu| {
        let mut condition = WELL;
        if gpu == 5 {
            condition.action = Some(RecoveryAction::RebootNode);
        }
        Ok(condition)
    });
    assert_eq!(node.unhealthy(), [uuid(4), uuid(5)]);
}

/// NVIDIA's plugin: eight of eight unhealthy, permanently.
#[test]
fn one_error_of_the_event_wait_is_not_eight_dead_gpus() {
    let mut node = Node::new(inventory(8, false));
    let broken = error(NvmlErrorKind::Other, "nvmlEventSetWait: unknown error");
    node.xid(3, 94, None);
    let reaction = node.apply(&HealthEvent::Watch(WatchReport::Failed(broken.clone())));
    assert!(reaction.changed && reaction.fell.is_empty());
    assert_eq!(node.unhealthy(), [uuid(3)], "what was known stays");
    node.apply(&HealthEvent::Watch(WatchReport::Failed(broken)));
    let down = Monitoring::Down {
        error: "nvmlEventSetWait: unknown error".into(),
        failures: 2,
    };
    assert_eq!(*node.health.monitoring(), down);
    node.apply(&HealthEvent::Watch(WatchReport::Started {
        unwatched: Vec::new(),
    }));
    let all: Vec<u32> = (0..8).collect();
    assert_eq!(
        node.health.due(node.now),
        all,
        "no GPU was watched meanwhile"
    );
    assert_eq!(node.unhealthy(), [uuid(3)]);
}

/// NVIDIA's (#2037): silently ends, everything stays healthy.
#[test]
fn gpus_that_nobody_watches_are_offered_and_the_trouble_is_seen() {
    let mut node = Node::new(inventory(8, false));
    let refused = error(NvmlErrorKind::NotSupported, "nvmlDeviceRegisterEvents");
    let reaction = node.apply(&HealthEvent::Watch(WatchReport::Started {
        unwatched: vec![(6, refused)],
    }));
    assert!(reaction.changed && node.unhealthy().is_empty());
    let Monitoring::Up { unwatched } = node.health.monitoring() else {
        panic!("it is up");
    };
    assert_eq!(unwatched[&6], "nvmlDeviceRegisterEvents");
}

/// NVIDIA's: eight of eight unhealthy when the one that is lost cannot say its name.
#[test]
fn an_event_without_a_gpu_asks_all_and_blames_none() {
    let mut node = Node::new(inventory(8, false));
    let kind = NvmlEventKind::Xid {
        xid: 79,
        instance: None,
    };
    node.event(None, kind);
    assert!(node.unhealthy().is_empty());
    node.answer(|gpu| if gpu == 3 { Err(lost()) } else { Ok(WELL) });
    assert_eq!(node.unhealthy(), [uuid(3)]);
}

/// NVIDIA's: takes the node down.
#[test]
fn a_lost_gpu_is_listed_and_the_rest_serves() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.scan(without(&node.inventory, 3));
    assert_eq!(reaction.fell.len(), 1);
    assert_eq!(node.troubled(&NodeSharing::Exclusive), (1, 8));
    let why = &node.health.unhealthy()[&uuid(3)];
    assert_eq!(why, "not responding: nvmlDeviceGetUUID: GPU is lost");
}

#[test]
fn a_gpu_that_waits_for_a_reset_is_found_at_the_start() {
    let mut health = Health::new(Policy::new(&HealthPolicy::default(), None, None).0);
    let machine = inventory(8, false);
    health.apply(&machine, &HealthEvent::Scanned, 0);
    assert_eq!(health.due(0).len(), 8);
    let wants = Condition {
        action: Some(RecoveryAction::ResetGpu),
        remap_failed: false,
    };
    let reaction = health.probed(&machine, 5, Ok(wants), 1);
    assert_eq!(
        reaction.fell,
        [(uuid(5), "the driver requests a reset of the GPU".to_owned())]
    );
}

/// NVIDIA's: any restart of the kubelet and any SIGHUP forgets every mark.
#[test]
fn states_survive_scans_and_new_configurations() {
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
fn an_event_of_a_gpu_that_nobody_knows_reads_them_anew() {
    let mut node = Node::new(inventory(8, false));
    assert!(node.xid(11, 79, None).rescan);
    assert!(node.unhealthy().is_empty());
}

#[test]
fn what_is_turned_off_counts_for_nothing() {
    let health = Policy::new(&HealthPolicy::default(), Some("all"), None).0;
    let mut node = Node::new(inventory(8, false));
    node.health.set_policy(health);
    node.xid(3, 79, None);
    node.event(Some(3), NvmlEventKind::DoubleBitEcc);
    node.event(Some(3), NvmlEventKind::Unavailable);
    assert!(node.unhealthy().is_empty());
    node.scan(without(&node.inventory, 3));
    assert_eq!(
        node.unhealthy(),
        [uuid(3)],
        "it cannot be used all the same"
    );
}
