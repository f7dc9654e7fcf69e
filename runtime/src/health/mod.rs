//! Which GPUs and MIG devices are well: everything that happens to them goes in, what must not be used comes out.
//!
//! No clock and no driver: times are milliseconds of a clock that never goes back, and whoever holds the value asks the
//! driver when [`Health::next_probe`] says so. States are kept by UUID, so that they survive a restart of the kubelet,
//! a new scan and a new configuration.

mod answer;
mod illness;
pub mod policy;
pub mod xid;

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{Gpu, Inventory};
use crate::nvml::{Condition, NvmlError, NvmlErrorKind, NvmlEvent, NvmlEventKind, RecoveryAction};

use answer::{answered, wanted};
use illness::Record;
pub use policy::Policy;
use xid::Effect;

/// What the driver reports where an error was in a GPU instance, or in none that it can name (nvml.h,
/// `nvmlEventData_t`).
const ANY: u32 = u32::MAX;

/// What can happen.
#[derive(Clone, Debug, PartialEq)]
pub enum HealthEvent {
    /// The inventory was read anew.
    Scanned,
    /// The one who watches the driver has something to say.
    Watch(WatchReport),
}

/// What the one who watches the driver has to say.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchReport {
    /// Events come in from now on, but for these GPUs, by index.
    Started {
        /// The GPUs that are not watched, and why.
        unwatched: Vec<(u32, NvmlError)>,
    },
    /// No events come in; it is tried again.
    Failed(NvmlError),
    /// Something happened to a GPU.
    Event(NvmlEvent),
}

/// Whether anybody watches.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Monitoring {
    /// Nobody does yet, or nobody is wanted to.
    #[default]
    Off,
    /// Somebody does.
    Up {
        /// The GPUs that are not watched, by index, and why. They are offered: that they cannot be watched makes them
        /// no worse than they were.
        unwatched: BTreeMap<u32, String>,
    },
    /// Somebody tries to.
    Down {
        /// Why it does not work.
        error: String,
        /// How often it failed since it last worked.
        failures: u32,
    },
}

/// What follows from something that happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reaction {
    /// Whether [`Health::unwell`] or [`Health::monitoring`] answers something else than before.
    pub changed: bool,
    /// Whether the GPUs are to be read anew.
    pub rescan: bool,
    /// What fell ill, by UUID, and why.
    pub fell: Vec<(String, String)>,
    /// What is well again, by UUID.
    pub recovered: Vec<String>,
}

/// What is known of the health of a node's GPUs.
#[derive(Clone, Debug)]
pub struct Health {
    policy: Policy,
    /// By the UUID of the GPU or MIG device.
    records: BTreeMap<String, Record>,
    /// GPUs that were ever seen. One that is new is asked once.
    seen: BTreeSet<String>,
    /// GPUs that were cut anew since the last scan.
    recut: BTreeSet<String>,
    /// GPUs to be asked, by index, and from when on.
    wanted: BTreeMap<u32, u64>,
    /// GPUs that are being asked, by index, and since when.
    asked: BTreeMap<u32, u64>,
    monitoring: Monitoring,
}

impl Health {
    /// Everything is well as far as anybody knows.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            records: BTreeMap::new(),
            seen: BTreeSet::new(),
            recut: BTreeSet::new(),
            wanted: BTreeMap::new(),
            asked: BTreeMap::new(),
            monitoring: Monitoring::Off,
        }
    }

    /// Takes a new policy. What is ill stays so until it answers well after the new time of quiet.
    pub fn set_policy(&mut self, policy: Policy) {
        if !policy.watches() {
            self.monitoring = Monitoring::Off;
        }
        self.policy = policy;
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What is not well, by the UUID of the GPU or MIG device, and why: [`crate::state::State::unwell`].
    pub fn unwell(&self) -> BTreeMap<String, String> {
        let present = self.records.iter().filter(|(_, it)| it.index.is_some());
        present
            .filter_map(|(id, record)| Some((id.clone(), record.trouble()?)))
            .collect()
    }

    /// Whether anybody watches. A GPU that nobody watches is offered, and the trouble is shown.
    pub fn monitoring(&self) -> &Monitoring {
        &self.monitoring
    }

    /// When GPUs are to be asked next, in milliseconds; `None` while there is nothing to ask.
    pub fn next_probe(&self) -> Option<u64> {
        let questions = self.questions();
        questions
            .filter(|(gpu, _)| !self.asked.contains_key(gpu))
            .map(|(_, at)| at)
            .min()
    }

    /// The GPUs whose [`crate::nvml::Nvml::condition`] is to be asked now, by index. Each is named once until
    /// [`Health::probed`] is told what it answered, so that a driver that hangs is not asked a second time.
    pub fn due(&mut self, now: u64) -> Vec<u32> {
        let due: BTreeSet<u32> = self
            .questions()
            .filter(|(gpu, at)| *at <= now && !self.asked.contains_key(gpu))
            .map(|(gpu, _)| gpu)
            .collect();
        for gpu in &due {
            self.wanted.remove(gpu);
            self.asked.insert(*gpu, now);
        }
        due.into_iter().collect()
    }

    /// Something happened.
    pub fn apply(&mut self, inventory: &Inventory, event: &HealthEvent, now: u64) -> Reaction {
        let before = (self.unwell(), self.monitoring.clone());
        let mut reaction = Reaction::default();
        match event {
            HealthEvent::Scanned => self.scanned(inventory, now, &mut reaction),
            HealthEvent::Watch(WatchReport::Started { unwatched }) => {
                // What happened while nobody watched is not known.
                if matches!(self.monitoring, Monitoring::Down { .. }) {
                    self.ask(inventory, None, now);
                }
                let unwatched = unwatched.iter();
                let unwatched = unwatched.map(|(gpu, error)| (*gpu, error.to_string()));
                self.monitoring = Monitoring::Up {
                    unwatched: unwatched.collect(),
                };
            }
            HealthEvent::Watch(WatchReport::Failed(error)) => {
                let failures = match &self.monitoring {
                    Monitoring::Down { failures, .. } => failures.saturating_add(1),
                    Monitoring::Off | Monitoring::Up { .. } => 1,
                };
                let error = error.to_string();
                self.monitoring = Monitoring::Down { error, failures };
            }
            HealthEvent::Watch(WatchReport::Event(event)) => {
                self.happened(inventory, event, now, &mut reaction);
            }
        }
        reaction.changed = before != (self.unwell(), self.monitoring.clone());
        reaction
    }

    /// A GPU was asked and answered so.
    pub fn probed(
        &mut self,
        inventory: &Inventory,
        gpu: u32,
        answer: Result<Condition, NvmlError>,
        now: u64,
    ) -> Reaction {
        let asked = self.asked.remove(&gpu).unwrap_or(now);
        let mut reaction = Reaction::default();
        let Some(known) = inventory.gpu(gpu) else {
            return reaction;
        };
        let before = self.unwell();
        let id = known.id();
        let silent = matches!(known, Gpu::Silent { .. });
        match answered(answer) {
            Ok(_) if silent => {
                reaction.rescan = true;
                self.put_off(&id, now);
            }
            Ok(condition) => match wanted(&condition).filter(|_| self.policy.counts_events()) {
                Some(word) => self.heard(&id, gpu, &word, now, &mut reaction),
                None => self.good(&id, &condition, asked, now, &mut reaction),
            },
            Err(_) if silent => self.put_off(&id, now),
            Err(error) => {
                reaction.rescan = true;
                let cause = format!("it does not answer: {error}");
                self.strike(&id, &id, gpu, (&cause, false), now, &mut reaction);
                self.put_off(&id, now);
            }
        }
        reaction.changed = before != self.unwell();
        reaction
    }

    /// GPUs, and when they are to be asked.
    fn questions(&self) -> impl Iterator<Item = (u32, u64)> {
        let records = self.records.values();
        let ill = records.filter_map(|it| Some((it.index?, it.question(&self.policy)?)));
        let wanted = self.wanted.iter().map(|(gpu, at)| (*gpu, *at));
        ill.chain(wanted)
    }

    /// The driver wants something done about a GPU.
    fn heard(&mut self, id: &str, gpu: u32, word: &str, now: u64, reaction: &mut Reaction) {
        let record = self.record(id, id, gpu);
        if record.illness.is_none() {
            self.strike(id, id, gpu, (word, true), now, reaction);
        }
        for record in self.records.values_mut().filter(|it| it.gpu == id) {
            if let Some(illness) = &mut record.illness {
                illness.word = Some(word.to_owned());
            }
        }
        self.put_off(id, now);
    }

    /// A GPU answers well.
    fn good(
        &mut self,
        id: &str,
        condition: &Condition,
        asked: u64,
        now: u64,
        reaction: &mut Reaction,
    ) {
        let word = condition.action == Some(RecoveryAction::Nothing);
        for (part, record) in &mut self.records {
            if record.gpu == id && record.cure(&self.policy, word, asked, now) {
                reaction.recovered.push(part.clone());
            }
        }
    }

    fn put_off(&mut self, id: &str, now: u64) {
        for record in self.records.values_mut().filter(|it| it.gpu == id) {
            record.put_off(&self.policy, now);
        }
    }

    fn happened(
        &mut self,
        inventory: &Inventory,
        event: &NvmlEvent,
        now: u64,
        reaction: &mut Reaction,
    ) {
        let counts = self.policy.counts_events();
        match event.kind {
            NvmlEventKind::Xid { xid, instance } => {
                let effect = self.policy.effect(xid);
                if effect == Effect::Application {
                    return;
                }
                self.ask(inventory, event.gpu, now);
                if effect > Effect::Ask {
                    let what = (xid::describe(xid), effect >= Effect::Reset);
                    self.hit(inventory, event.gpu, instance, &what, now, reaction);
                }
            }
            NvmlEventKind::DoubleBitEcc if counts => {
                let what = ("a memory error that could not be corrected".into(), true);
                self.ask(inventory, event.gpu, now);
                self.hit(inventory, event.gpu, None, &what, now, reaction);
            }
            NvmlEventKind::Unavailable if counts => {
                let what = ("the driver says that it cannot be used".into(), true);
                self.ask(inventory, event.gpu, now);
                self.hit(inventory, event.gpu, None, &what, now, reaction);
            }
            NvmlEventKind::RecoveryAction if counts => self.ask(inventory, event.gpu, now),
            NvmlEventKind::MigChanged => {
                reaction.rescan = true;
                let gpus = inventory.gpus.iter();
                let gpus = gpus.filter(|gpu| event.gpu.is_none_or(|index| index == gpu.index()));
                self.recut.extend(gpus.map(Gpu::id));
                self.ask(inventory, event.gpu, now);
            }
            NvmlEventKind::SingleBitEcc
            | NvmlEventKind::DoubleBitEcc
            | NvmlEventKind::Unavailable
            | NvmlEventKind::RecoveryAction => {}
        }
        if event.gpu.is_some_and(|gpu| inventory.gpu(gpu).is_none()) {
            reaction.rescan = true;
        }
    }

    /// Asks a GPU at once, or all where nobody knows which it is about.
    fn ask(&mut self, inventory: &Inventory, gpu: Option<u32>, now: u64) {
        let indexes = inventory.gpus.iter().map(Gpu::index);
        let indexes = indexes.filter(|index| gpu.is_none_or(|gpu| gpu == *index));
        self.wanted.extend(indexes.map(|index| (index, now)));
    }

    /// Something happened in an instance of a GPU, or to all of it. Where nobody knows to which GPU, all were asked,
    /// and their answers tell.
    fn hit(
        &mut self,
        inventory: &Inventory,
        gpu: Option<u32>,
        instance: Option<(u32, u32)>,
        (cause, strict): &(String, bool),
        now: u64,
        reaction: &mut Reaction,
    ) {
        let Some(gpu) = gpu.and_then(|index| inventory.gpu(index)) else {
            return;
        };
        let id = gpu.id();
        for part in parts(gpu, instance) {
            self.strike(&part, &id, gpu.index(), (cause, *strict), now, reaction);
        }
    }

    fn strike(
        &mut self,
        part: &str,
        gpu: &str,
        index: u32,
        (cause, strict): (&str, bool),
        now: u64,
        reaction: &mut Reaction,
    ) {
        let record = self.record(part, gpu, index);
        if record.strike(cause, strict, now) {
            reaction.fell.push((part.to_owned(), cause.to_owned()));
        }
    }

    fn record(&mut self, part: &str, gpu: &str, index: u32) -> &mut Record {
        let record = self.records.entry(part.to_owned());
        let record = record.or_insert_with(|| Record::new(gpu, index));
        record.index = Some(index);
        record
    }

    fn scanned(&mut self, inventory: &Inventory, now: u64, reaction: &mut Reaction) {
        for gpu in &inventory.gpus {
            let (id, index) = (gpu.id(), gpu.index());
            if self.seen.insert(id.clone()) {
                self.wanted.insert(index, now);
            }
            match gpu {
                Gpu::Silent { error, .. } => {
                    let why = format!("it does not answer: {error}");
                    if self.record(&id, &id, index).silence(&why, now) {
                        reaction.fell.push((id, why));
                    }
                }
                Gpu::Known { .. } => self.named(&id, index, now),
            }
        }
        let recut = std::mem::take(&mut self.recut);
        self.records.retain(|part, record| {
            let gpu = inventory.gpus.iter().find(|gpu| gpu.id() == record.gpu);
            let there = gpu.filter(|gpu| *part == record.gpu || has_slice(gpu, part));
            record.index = there.map(Gpu::index);
            let gone = gpu.is_some_and(|gpu| matches!(gpu, Gpu::Known { .. }));
            record.index.is_some() || !(gone && recut.contains(&record.gpu))
        });
        self.wanted
            .retain(|index, _| inventory.gpu(*index).is_some());
    }

    /// A GPU answers under this name. One that never answered before was called by its index until now.
    fn named(&mut self, id: &str, index: u32, now: u64) {
        let nameless = Gpu::Silent {
            index,
            last: None,
            error: NvmlError {
                kind: NvmlErrorKind::Other,
                message: String::new(),
            },
        };
        if let Some(mut record) = self.records.remove(&nameless.id()) {
            id.clone_into(&mut record.gpu);
            self.records.entry(id.to_owned()).or_insert(record);
        }
        if let Some(record) = self.records.get_mut(id)
            && record.speak(now)
        {
            self.wanted.insert(index, now);
        }
    }
}

/// The parts of a GPU that an instance stands for; the whole GPU where it is of none that is known.
fn parts(gpu: &Gpu, instance: Option<(u32, u32)>) -> Vec<String> {
    let slices = gpu.info().map_or(&[][..], |info| &info.slices);
    let hit = instance.filter(|(gi, _)| *gi != ANY).map(|(gi, ci)| {
        let of = slices.iter().filter(|slice| slice.gi == gi);
        let of = of.filter(|slice| ci == ANY || slice.ci == ci);
        of.map(|slice| slice.uuid.clone()).collect::<Vec<_>>()
    });
    match hit {
        Some(hit) if !hit.is_empty() => hit,
        _ => vec![gpu.id()],
    }
}

fn has_slice(gpu: &Gpu, uuid: &str) -> bool {
    gpu.info()
        .is_some_and(|info| info.slices.iter().any(|slice| slice.uuid == uuid))
}
