//! Random sequences of events, queries and discoveries.

use gpuc_runtime::health::{HealthEvent, WatchReport};
use gpuc_runtime::nvml::{Condition, NvmlEvent, NvmlEventKind, RecoveryAction};
use proptest::prelude::*;

use super::node::{HOUR, Node};
use crate::machine::{inventory, lost_gpu_error, with_unresponsive_gpu};

#[derive(Clone, Debug)]
enum Step {
    Event(NvmlEvent),
    Watch(bool),
    Scan(Vec<u32>),
    Pass(u64),
    Answer(bool, Option<RecoveryAction>, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        (0_u64..180, proptest::option::of((0_u32..15, 0_u32..2)))
            .prop_map(|(xid, instance)| NvmlEventKind::Xid { xid, instance }),
        Just(NvmlEventKind::SingleBitEcc),
        Just(NvmlEventKind::DoubleBitEcc),
        Just(NvmlEventKind::MigChanged),
        Just(NvmlEventKind::Unavailable),
        Just(NvmlEventKind::RecoveryAction),
    ];
    let gpu = proptest::option::of(0_u32..5);
    let action = proptest::option::of(prop_oneof![
        3 => Just(RecoveryAction::Nothing),
        1 => Just(RecoveryAction::ResetGpu),
        1 => any::<u32>().prop_map(RecoveryAction::Other),
    ]);
    prop_oneof![
        4 => (gpu, kind).prop_map(|(gpu, kind)| Step::Event(NvmlEvent { gpu, kind })),
        1 => any::<bool>().prop_map(Step::Watch),
        1 => proptest::collection::vec(0_u32..4, 0..3).prop_map(Step::Scan),
        3 => prop_oneof![0_u64..100_000, 0..100 * HOUR, Just(u64::MAX)].prop_map(Step::Pass),
        4 => (any::<bool>(), action, any::<bool>())
            .prop_map(|(ok, action, failed)| Step::Answer(ok, action, failed)),
    ]
}

proptest! {
    /// An unhealthy device recovers only after a response of the driver without a fault. No sequence panics.
    #[test]
    fn only_good_responses_recover(is_partitioned: bool, steps in proptest::collection::vec(step(), 0..60)) {
        let machine = inventory(4, is_partitioned);
        let mut node = Node::new(machine.clone());
        for step in steps {
            let before = node.unhealthy();
            let mut is_healthy = false;
            match step {
                Step::Event(event) => {
                    node.apply(&HealthEvent::Watch(WatchReport::Event(event)));
                }
                Step::Watch(up) => {
                    let report = if up {
                        WatchReport::Started { watched: Vec::new(), unwatched: Vec::new() }
                    } else {
                        WatchReport::Failed(lost_gpu_error())
                    };
                    node.apply(&HealthEvent::Watch(report));
                }
                Step::Scan(unresponsive) => {
                    let seen = unresponsive.iter().fold(machine.clone(), |it, gpu| with_unresponsive_gpu(&it, *gpu));
                    node.scan(seen);
                }
                Step::Pass(time) => node.now = node.now.saturating_add(time),
                Step::Answer(ok, action, remap_failed) => {
                    is_healthy = ok
                        && !remap_failed
                        && matches!(action, None | Some(RecoveryAction::Nothing));
                    let condition = Condition { action, remap_failed };
                    node.answer_due_queries(|_| if ok { Ok(condition) } else { Err(lost_gpu_error()) });
                }
            }
            let after = node.unhealthy();
            if !is_healthy {
                prop_assert!(before.iter().all(|device| after.contains(device)), "{before:?} {after:?}");
            }
            if let Some(next) = node.health.next_probe() {
                let due = node.health.clone().take_due_queries(next);
                prop_assert!(!due.is_empty(), "no query is due at the scheduled time");
            }
        }
    }
}
