//! Faults that NVIDIA's device plugin v0.20.0 gets wrong, one by one, and what happens here.

use gpuc_runtime::device::Inventory;
use gpuc_runtime::health::{Health, HealthEvent, Monitoring, Policy, Reaction, WatchReport};
use gpuc_runtime::nvml::{Condition, NvmlErrorKind, NvmlEvent, NvmlEventKind, RecoveryAction};
use gpuc_schema::node_config::{HealthPolicy, NodeSharing};
use proptest::prelude::*;

use crate::machine::{error, inventory, lost, mig, slice, state, time_slicing, uuid, without};

/// What the driver of a GPU answers that has nothing.
const WELL: Condition = Condition {
    action: Some(RecoveryAction::Nothing),
    remap_failed: false,
};

/// The driver is too old for the question.
const UNSAID: Condition = Condition {
    action: None,
    remap_failed: false,
};

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;

/// A node, what it knows of its health, and a clock.
struct Node {
    health: Health,
    inventory: Inventory,
    now: u64,
}

impl Node {
    fn new(inventory: Inventory) -> Self {
        Self::with(inventory, &HealthPolicy::default())
    }

    /// A node whose GPUs were seen, and found well.
    fn with(inventory: Inventory, policy: &HealthPolicy) -> Self {
        let health = Health::new(Policy::new(policy, None, None).0);
        let mut node = Self {
            health,
            inventory,
            now: 5 * HOUR,
        };
        node.apply(&HealthEvent::Scanned);
        node.answer(|_| Ok(WELL));
        assert!(node.health.unwell().is_empty());
        node
    }

    fn apply(&mut self, event: &HealthEvent) -> Reaction {
        self.health.apply(&self.inventory, event, self.now)
    }

    fn event(&mut self, gpu: Option<u32>, kind: NvmlEventKind) -> Reaction {
        let event = NvmlEvent { gpu, kind };
        self.apply(&HealthEvent::Watch(WatchReport::Event(event)))
    }

    fn xid(&mut self, gpu: u32, xid: u64, instance: Option<(u32, u32)>) -> Reaction {
        self.event(Some(gpu), NvmlEventKind::Xid { xid, instance })
    }

    fn scan(&mut self, inventory: Inventory) -> Reaction {
        self.inventory = inventory;
        self.apply(&HealthEvent::Scanned)
    }

    /// Whoever is to be asked now answers so. The answer is what recovered.
    fn answer(
        &mut self,
        answer: impl Fn(u32) -> Result<Condition, gpuc_runtime::nvml::NvmlError>,
    ) -> Vec<String> {
        let due = self.health.due(self.now);
        let probed = |gpu| {
            let reaction = self
                .health
                .probed(&self.inventory, gpu, answer(gpu), self.now);
            reaction.recovered
        };
        due.into_iter().flat_map(probed).collect()
    }

    fn pass(&mut self, time: u64) {
        self.now += time;
    }

    /// Waits until somebody is to be asked; how long that was.
    fn wait(&mut self) -> u64 {
        let next = self.health.next_probe().expect("somebody is to be asked");
        let time = next.saturating_sub(self.now);
        self.pass(time);
        time
    }

    fn unwell(&self) -> Vec<String> {
        self.health.unwell().into_keys().collect()
    }

    /// How many of the shares that the kubelet sees must not be used, and of how many.
    fn troubled(&self, sharing: &NodeSharing) -> (usize, usize) {
        let state = state(&self.inventory, sharing, self.health.unwell());
        let shares = state.offers.iter().flat_map(|offer| &offer.shares);
        let troubled = shares
            .clone()
            .filter(|share| state.trouble(share).is_some());
        (troubled.count(), shares.count())
    }
}

/// NVIDIA's: one of ten replicas; nine stay on the dead GPU.
#[test]
fn a_dead_gpu_takes_all_its_replicas_with_it() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.xid(3, 79, None);
    assert_eq!(node.unwell(), [uuid(3)]);
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
        assert_eq!(node.unwell(), [slice(2, gi)]);
        assert_eq!(node.troubled(&mig()), (1, 56));
    }
}

/// NVIDIA's: one of seven.
#[test]
fn an_error_of_a_whole_gpu_hits_all_its_mig_devices() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, None);
    assert_eq!(node.unwell(), [uuid(2)]);
    assert_eq!(node.troubled(&mig()), (7, 56));
}

#[test]
fn an_error_in_an_instance_that_nobody_knows_hits_the_whole_gpu() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((99, 0)));
    assert_eq!(node.unwell(), [uuid(2)]);
    let mut node = Node::new(inventory(8, false));
    node.xid(2, 79, Some((7, 0)));
    assert_eq!(node.unwell(), [uuid(2)]);
}

/// The driver answers `0xFFFFFFFF` where it cannot name the compute instance, or the GPU instance.
#[test]
fn an_instance_that_the_driver_cannot_name_stands_for_all() {
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((8, u32::MAX)));
    assert_eq!(node.unwell(), [slice(2, 8)]);
    let mut node = Node::new(inventory(8, true));
    node.xid(2, 79, Some((u32::MAX, u32::MAX)));
    assert_eq!(node.unwell(), [uuid(2)]);
}

/// As NVIDIA's.
#[test]
fn errors_of_programs_are_ignored() {
    let mut node = Node::new(inventory(8, false));
    for xid in [13, 31, 43, 45, 68, 109] {
        assert_eq!(node.xid(1, xid, None), Reaction::default(), "{xid}");
    }
    assert!(node.unwell().is_empty());
    assert_eq!(node.health.next_probe(), None);
}

/// NVIDIA's: unhealthy for ever.
#[test]
fn a_gpu_is_offered_again_after_a_quiet_time_and_a_good_answer() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    assert_eq!(node.answer(|_| Ok(WELL)), [""; 0], "it was not quiet yet");
    node.pass(59 * SECOND);
    assert_eq!(node.health.due(node.now), [0; 0]);
    assert_eq!(node.wait(), SECOND);
    assert_eq!(node.answer(|_| Ok(WELL)), [uuid(3)]);
    assert!(node.unwell().is_empty());
    assert_eq!(node.health.next_probe(), None, "nobody wakes for nothing");
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
    assert_eq!(node.unwell(), [uuid(3)]);
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
    assert_eq!(node.unwell(), [uuid(3)]);
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
    let why = &node.health.unwell()[&uuid(3)];
    assert!(why.contains("Xid 95") && why.contains("the driver wants a reset of the GPU"));
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
    assert!(node.unwell().is_empty(), "a replaced row is no harm");
    let failed = Condition {
        action: None,
        remap_failed: true,
    };
    node.answer(|_| Ok(failed));
    let why = node.health.unwell();
    assert_eq!(why[&uuid(3)], "a row of its memory could not be replaced");
    node.wait();
    assert_eq!(node.answer(|_| Ok(failed)), [""; 0]);
}

/// NVIDIA's: logged only.
#[test]
fn a_double_bit_error_counts_and_a_single_bit_error_does_not() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.event(Some(4), NvmlEventKind::SingleBitEcc);
    assert_eq!(reaction, Reaction::default());
    node.event(Some(4), NvmlEventKind::DoubleBitEcc);
    assert_eq!(node.unwell(), [uuid(4)]);
    assert_eq!(node.troubled(&time_slicing(10)), (10, 80));
}

/// NVIDIA's asks for neither event.
#[test]
fn the_drivers_own_word_counts() {
    let mut node = Node::new(inventory(8, false));
    node.event(Some(4), NvmlEventKind::Unavailable);
    assert_eq!(node.unwell(), [uuid(4)]);
    node.event(Some(5), NvmlEventKind::RecoveryAction);
    assert_eq!(node.unwell(), [uuid(4)], "it says what it wants when asked");
    node.answer(|gpu| {
        let mut condition = WELL;
        if gpu == 5 {
            condition.action = Some(RecoveryAction::RebootNode);
        }
        Ok(condition)
    });
    assert_eq!(node.unwell(), [uuid(4), uuid(5)]);
}

/// NVIDIA's: eight of eight unhealthy, for ever.
#[test]
fn one_error_of_the_event_wait_is_not_eight_dead_gpus() {
    let mut node = Node::new(inventory(8, false));
    let broken = error(NvmlErrorKind::Other, "nvmlEventSetWait: unknown error");
    node.xid(3, 94, None);
    let reaction = node.apply(&HealthEvent::Watch(WatchReport::Failed(broken.clone())));
    assert!(reaction.changed && reaction.fell.is_empty());
    assert_eq!(node.unwell(), [uuid(3)], "what was known stays");
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
    assert_eq!(node.health.due(node.now), all, "nobody watched meanwhile");
    assert_eq!(node.unwell(), [uuid(3)]);
}

/// NVIDIA's (#2037): silently ends, everything stays healthy.
#[test]
fn gpus_that_nobody_watches_are_offered_and_the_trouble_is_seen() {
    let mut node = Node::new(inventory(8, false));
    let refused = error(NvmlErrorKind::NotSupported, "nvmlDeviceRegisterEvents");
    let reaction = node.apply(&HealthEvent::Watch(WatchReport::Started {
        unwatched: vec![(6, refused)],
    }));
    assert!(reaction.changed && node.unwell().is_empty());
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
    assert!(node.unwell().is_empty());
    node.answer(|gpu| if gpu == 3 { Err(lost()) } else { Ok(WELL) });
    assert_eq!(node.unwell(), [uuid(3)]);
}

/// NVIDIA's: takes the node down.
#[test]
fn a_lost_gpu_is_listed_and_the_rest_serves() {
    let mut node = Node::new(inventory(8, false));
    let reaction = node.scan(without(&node.inventory, 3));
    assert_eq!(reaction.fell.len(), 1);
    assert_eq!(node.troubled(&NodeSharing::Exclusive), (1, 8));
    let why = &node.health.unwell()[&uuid(3)];
    assert_eq!(why, "it does not answer: nvmlDeviceGetUUID: GPU is lost");
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
    assert_eq!(node.unwell(), [uuid(3)]);
    node.answer(|_| Ok(WELL));
    assert_eq!(node.wait(), 60 * SECOND);
    assert_eq!(node.answer(|_| Ok(WELL)), [uuid(3)]);
}

/// It never had a name: what is known of it goes over to the name that it gets.
#[test]
fn a_gpu_that_never_answered_is_not_trusted_at_once() {
    let mut never = without(&inventory(8, false), 3);
    if let gpuc_runtime::device::Gpu::Silent { last, .. } = &mut never.gpus[3] {
        *last = None;
    }
    let mut health = Health::new(Policy::new(&HealthPolicy::default(), None, None).0);
    health.apply(&never, &HealthEvent::Scanned, 0);
    assert!(health.unwell().contains_key("gpu-3-silent"));
    health.apply(&inventory(8, false), &HealthEvent::Scanned, 10);
    let unwell: Vec<String> = health.unwell().into_keys().collect();
    assert_eq!(unwell, [uuid(3)]);
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
        [(uuid(5), "the driver wants a reset of the GPU".to_owned())]
    );
}

/// NVIDIA's: any restart of the kubelet and any SIGHUP forgets every mark.
#[test]
fn states_survive_scans_and_new_configurations() {
    let mut node = Node::new(inventory(8, true));
    node.xid(3, 79, None);
    node.xid(4, 94, Some((7, 0)));
    let before = node.health.unwell();
    for _ in 0..3 {
        node.scan(inventory(8, true));
        let config = HealthPolicy {
            ignored_xids: vec![79, 94],
            ..HealthPolicy::default()
        };
        node.health.set_policy(Policy::new(&config, None, None).0);
    }
    assert_eq!(node.health.unwell(), before);
}

#[test]
fn a_gpu_that_comes_back_under_another_index_is_still_ill() {
    let mut node = Node::new(inventory(8, false));
    node.xid(3, 94, None);
    let mut fewer = inventory(8, false);
    fewer.gpus.remove(3);
    node.scan(fewer);
    assert!(node.unwell().is_empty(), "it is not there");
    let mut moved = inventory(8, false);
    if let gpuc_runtime::device::Gpu::Known { info, .. } = &mut moved.gpus[3] {
        info.index = 9;
    }
    node.scan(moved);
    assert_eq!(node.unwell(), [uuid(3)]);
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
    if let gpuc_runtime::device::Gpu::Known { info, .. } = &mut cut.gpus[3] {
        info.slices.remove(0);
    }
    node.scan(cut);
    assert!(node.unwell().is_empty());
    node.scan(inventory(8, true));
    assert!(node.unwell().is_empty(), "it is another one");
}

#[test]
fn an_event_of_a_gpu_that_nobody_knows_reads_them_anew() {
    let mut node = Node::new(inventory(8, false));
    assert!(node.xid(11, 79, None).rescan);
    assert!(node.unwell().is_empty());
}

#[test]
fn what_is_turned_off_counts_for_nothing() {
    let health = Policy::new(&HealthPolicy::default(), Some("all"), None).0;
    let mut node = Node::new(inventory(8, false));
    node.health.set_policy(health);
    node.xid(3, 79, None);
    node.event(Some(3), NvmlEventKind::DoubleBitEcc);
    node.event(Some(3), NvmlEventKind::Unavailable);
    assert!(node.unwell().is_empty());
    node.scan(without(&node.inventory, 3));
    assert_eq!(node.unwell(), [uuid(3)], "it cannot be used all the same");
}

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
    /// Whatever happens in whatever order: nothing panics, and nothing that is ill is well after anything but a good
    /// answer of the driver.
    #[test]
    fn only_a_good_answer_makes_well(cut: bool, steps in proptest::collection::vec(step(), 0..60)) {
        let machine = inventory(4, cut);
        let mut node = Node::new(machine.clone());
        for step in steps {
            let before = node.unwell();
            let mut good = false;
            match step {
                Step::Event(event) => {
                    node.apply(&HealthEvent::Watch(WatchReport::Event(event)));
                }
                Step::Watch(up) => {
                    let report = if up {
                        WatchReport::Started { unwatched: Vec::new() }
                    } else {
                        WatchReport::Failed(lost())
                    };
                    node.apply(&HealthEvent::Watch(report));
                }
                Step::Scan(silent) => {
                    let seen = silent.iter().fold(machine.clone(), |it, gpu| without(&it, *gpu));
                    node.scan(seen);
                }
                Step::Pass(time) => node.now = node.now.saturating_add(time),
                Step::Answer(ok, action, remap_failed) => {
                    good = ok
                        && !remap_failed
                        && matches!(action, None | Some(RecoveryAction::Nothing));
                    let condition = Condition { action, remap_failed };
                    node.answer(|_| if ok { Ok(condition) } else { Err(lost()) });
                }
            }
            let after = node.unwell();
            if !good {
                prop_assert!(before.iter().all(|part| after.contains(part)), "{before:?} {after:?}");
            }
            if let Some(next) = node.health.next_probe() {
                let due = node.health.clone().due(next);
                prop_assert!(!due.is_empty(), "a wake-up for nothing");
            }
        }
    }
}
