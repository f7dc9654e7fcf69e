//! The health of GPUs and MIG devices. Events are the input; the unhealthy devices are the output.
//!
//! This module uses no clock and no driver. Times are milliseconds of a monotonic clock, and the owner queries the
//! driver when [`Health::next_probe`] is due. Records are kept by UUID, so that they survive a restart of the kubelet,
//! a new discovery and a new configuration.

mod answer;
mod fault;
mod monitoring;
pub mod policy;
mod restore;
pub mod xid;

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{Gpu, Inventory};
use crate::nvml::{Condition, NvmlError, NvmlErrorKind, NvmlEvent, NvmlEventKind, RecoveryAction};

use answer::{requested_recovery, treat_unsupported_as_healthy};
use fault::{DeviceRecord, FAILED_QUERY};
pub use monitoring::Monitoring;
pub use policy::Policy;
pub use restore::Records;
use xid::Effect;

/// The value that the driver reports for an unknown or missing GPU instance (nvml.h, `nvmlEventData_t`).
const ANY_INSTANCE: u32 = u32::MAX;

/// An input of the health state.
#[derive(Clone, Debug, PartialEq)]
pub enum HealthEvent {
    /// The GPUs were discovered again.
    Scanned,
    /// A report of the driver monitoring.
    Watch(WatchReport),
}

/// A report of the driver monitoring.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchReport {
    /// Events are received from now on.
    Started {
        /// The monitored GPUs, by index at the time of the subscription, and their UUIDs.
        watched: Vec<(u32, String)>,
        /// The GPUs without monitoring, by index, and why.
        unwatched: Vec<(u32, NvmlError)>,
    },
    /// No events are received; monitoring is retried.
    Failed(NvmlError),
    /// An event of a GPU.
    Event(NvmlEvent),
    /// More different events arrived at once than the queue can hold, and some were dropped.
    Dropped,
}

/// The consequences of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reaction {
    /// Whether [`Health::unhealthy`] or [`Health::monitoring`] changed.
    pub changed: bool,
    /// Whether a GPU discovery is needed.
    pub rescan: bool,
    /// Newly unhealthy devices, by UUID, and the causes.
    pub became_unhealthy: Vec<(String, String)>,
    /// Recovered devices, by UUID.
    pub recovered: Vec<String>,
}

/// The health of a node's GPUs.
#[derive(Clone, Debug)]
pub struct Health {
    policy: Policy,
    /// By the UUID of the GPU or MIG device.
    records: Records,
    /// All GPUs seen so far. A new one is queried once.
    known_gpus: BTreeSet<String>,
    /// GPUs whose MIG devices changed since the last discovery.
    repartitioned: BTreeSet<String>,
    /// GPUs to query, by index, and the earliest time.
    queries_due: BTreeMap<u32, u64>,
    /// GPUs being queried, by index, and since when.
    queries_in_flight: BTreeMap<u32, u64>,
    monitoring: Monitoring,
}

impl Health {
    /// Creates a state in which every device is healthy.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            records: Records::default(),
            known_gpus: BTreeSet::new(),
            repartitioned: BTreeSet::new(),
            queries_due: BTreeMap::new(),
            queries_in_flight: BTreeMap::new(),
            monitoring: Monitoring::Off,
        }
    }

    /// Replaces the policy. Unhealthy devices stay unhealthy until a good response after the new quiet time.
    pub fn set_policy(&mut self, policy: Policy) {
        if !policy.needs_monitoring() {
            self.monitoring = Monitoring::Off;
        }
        self.policy = policy;
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the unhealthy devices, by the UUID of the GPU or MIG device, and the causes:
    /// [`crate::state::State::unhealthy`].
    pub fn unhealthy(&self) -> BTreeMap<String, String> {
        let present = self.records.0.iter().filter(|(_, it)| it.index.is_some());
        present
            .filter_map(|(id, record)| Some((id.clone(), record.unhealthy_reason()?)))
            .collect()
    }

    /// Returns the state of the monitoring. GPUs without monitoring stay advertised; the problem is reported.
    pub fn monitoring(&self) -> &Monitoring {
        &self.monitoring
    }

    /// Returns the time of the next query in milliseconds, if any.
    pub fn next_probe(&self) -> Option<u64> {
        let questions = self.pending_queries();
        questions
            .filter(|(gpu, _)| !self.queries_in_flight.contains_key(gpu))
            .map(|(_, at)| at)
            .min()
    }

    /// Returns the GPUs whose [`crate::nvml::Nvml::condition`] must be queried now, by index. Each is returned once
    /// until [`Health::handle_response`] receives the response, so that a driver that hangs is not queried twice.
    pub fn take_due_queries(&mut self, now: u64) -> Vec<u32> {
        let due: BTreeSet<u32> = self
            .pending_queries()
            .filter(|(gpu, at)| *at <= now && !self.queries_in_flight.contains_key(gpu))
            .map(|(gpu, _)| gpu)
            .collect();
        for gpu in &due {
            self.queries_due.remove(gpu);
            self.queries_in_flight.insert(*gpu, now);
        }
        due.into_iter().collect()
    }

    /// Processes an event.
    pub fn apply(&mut self, inventory: &Inventory, event: &HealthEvent, now: u64) -> Reaction {
        let before = (self.unhealthy(), self.monitoring.clone());
        let mut reaction = Reaction::default();
        match event {
            HealthEvent::Scanned => self.handle_discovery(inventory, now, &mut reaction),
            HealthEvent::Watch(WatchReport::Started { unwatched, .. }) => {
                // Events during the gap are unknown.
                if matches!(self.monitoring, Monitoring::Down { .. }) {
                    self.schedule_query(inventory, None, now);
                }
                self.monitoring = Monitoring::Up {
                    unwatched: unwatched.iter().cloned().collect(),
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
            HealthEvent::Watch(WatchReport::Dropped) => self.schedule_query(inventory, None, now),
            HealthEvent::Watch(WatchReport::Event(event)) => {
                self.handle_driver_event(inventory, event, now, &mut reaction);
            }
        }
        reaction.changed = before != (self.unhealthy(), self.monitoring.clone());
        reaction
    }

    /// Processes the response of a GPU.
    pub fn handle_response(
        &mut self,
        inventory: &Inventory,
        gpu: u32,
        result: Result<Condition, NvmlError>,
        now: u64,
    ) -> Reaction {
        let queried_at = self.queries_in_flight.remove(&gpu).unwrap_or(now);
        let mut reaction = Reaction::default();
        let Some(known_gpu) = inventory.gpu(gpu) else {
            return reaction;
        };
        let before = self.unhealthy();
        let id = known_gpu.id();
        let is_unresponsive = matches!(known_gpu, Gpu::Unresponsive { .. });
        match treat_unsupported_as_healthy(result) {
            Ok(_) if is_unresponsive => {
                reaction.rescan = true;
                self.postpone(&id, now);
            }
            Ok(condition) => match requested_recovery(&condition)
                .filter(|_| self.policy.counts_events())
            {
                Some(word) => self.record_recovery_request(&id, gpu, &word, now, &mut reaction),
                None => self.record_good_response(&id, &condition, queried_at, now, &mut reaction),
            },
            Err(_) if is_unresponsive => self.postpone(&id, now),
            // An unloaded driver says nothing about its GPUs. The discovery reports it, and the GPUs need no quiet time
            // once it is loaded again.
            Err(error) if error.is_driver_missing() => {
                reaction.rescan = true;
                self.postpone(&id, now);
            }
            Err(error) => {
                reaction.rescan = true;
                let cause = format!("{FAILED_QUERY}: {error}");
                self.record_error(&id, &id, gpu, (&cause, false), now, &mut reaction);
                self.postpone(&id, now);
            }
        }
        reaction.changed = before != self.unhealthy();
        reaction
    }

    /// Returns the GPUs to query, and when.
    fn pending_queries(&self) -> impl Iterator<Item = (u32, u64)> {
        let records = self.records.0.values();
        let for_faults = records.filter_map(|it| Some((it.index?, it.next_query(&self.policy)?)));
        let scheduled = self.queries_due.iter().map(|(gpu, at)| (*gpu, *at));
        for_faults.chain(scheduled)
    }

    /// The driver requests a recovery of a GPU.
    fn record_recovery_request(
        &mut self,
        id: &str,
        gpu: u32,
        request: &str,
        now: u64,
        reaction: &mut Reaction,
    ) {
        let record = self.record_mut(id, id, gpu);
        if record.fault.is_none() {
            self.record_error(id, id, gpu, (request, true), now, reaction);
        }
        for record in self.records.0.values_mut().filter(|it| it.gpu == id) {
            if let Some(fault) = &mut record.fault {
                fault.recovery_request = Some(request.to_owned());
            }
        }
        self.postpone(id, now);
    }

    /// A GPU responds normally.
    fn record_good_response(
        &mut self,
        id: &str,
        condition: &Condition,
        queried_at: u64,
        now: u64,
        reaction: &mut Reaction,
    ) {
        let is_confirmed = condition.action == Some(RecoveryAction::Nothing);
        for (uuid, record) in &mut self.records.0 {
            if record.gpu == id
                && record.record_recovery(&self.policy, is_confirmed, queried_at, now)
            {
                reaction.recovered.push(uuid.clone());
            }
        }
    }

    fn postpone(&mut self, id: &str, now: u64) {
        for record in self.records.0.values_mut().filter(|it| it.gpu == id) {
            record.postpone(&self.policy, now);
        }
    }

    fn handle_driver_event(
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
                self.schedule_query(inventory, event.gpu, now);
                if effect > Effect::QueryOnly {
                    let error = (xid::describe(xid), effect >= Effect::Reset);
                    self.record_instance_error(
                        inventory, event.gpu, instance, &error, now, reaction,
                    );
                }
            }
            NvmlEventKind::DoubleBitEcc if counts => {
                let error = ("an uncorrectable memory error".into(), true);
                self.schedule_query(inventory, event.gpu, now);
                self.record_instance_error(inventory, event.gpu, None, &error, now, reaction);
            }
            NvmlEventKind::Unavailable if counts => {
                let error = ("the driver reports that it is unavailable".into(), true);
                self.schedule_query(inventory, event.gpu, now);
                self.record_instance_error(inventory, event.gpu, None, &error, now, reaction);
            }
            NvmlEventKind::RecoveryAction if counts => {
                self.schedule_query(inventory, event.gpu, now);
            }
            NvmlEventKind::MigChanged => {
                reaction.rescan = true;
                let gpus = inventory.gpus.iter();
                let gpus = gpus.filter(|gpu| event.gpu.is_none_or(|index| index == gpu.index()));
                self.repartitioned.extend(gpus.map(Gpu::id));
                self.schedule_query(inventory, event.gpu, now);
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

    /// Schedules a query of every GPU without a fault. The others are queried at times that depend on their fault.
    pub fn query_healthy(&mut self, inventory: &Inventory, now: u64) {
        for gpu in &inventory.gpus {
            let has_fault =
                |record: &DeviceRecord| record.gpu == gpu.id() && record.fault.is_some();
            if !self.records.0.values().any(has_fault) {
                self.schedule_query(inventory, Some(gpu.index()), now);
            }
        }
    }

    /// Repeats a query that was not made.
    pub fn cancel_query(&mut self, inventory: &Inventory, gpu: u32, now: u64) {
        self.queries_in_flight.remove(&gpu);
        self.schedule_query(inventory, Some(gpu), now);
    }

    /// Schedules a query of a GPU that may respond again.
    pub fn query_soon(&mut self, inventory: &Inventory, gpu: u32, now: u64) {
        self.schedule_query(inventory, Some(gpu), now);
    }

    /// Queries a GPU at once, or all GPUs if the affected one is unknown.
    fn schedule_query(&mut self, inventory: &Inventory, gpu: Option<u32>, now: u64) {
        let indexes = inventory.gpus.iter().map(Gpu::index);
        let indexes = indexes.filter(|index| gpu.is_none_or(|gpu| gpu == *index));
        self.queries_due.extend(indexes.map(|index| (index, now)));
    }

    /// Records an error in an instance of a GPU, or in the whole GPU. If the GPU is unknown, all GPUs were queried, and
    /// their responses decide.
    fn record_instance_error(
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
        for uuid in affected_devices(gpu, instance) {
            self.record_error(&uuid, &id, gpu.index(), (cause, *strict), now, reaction);
        }
    }

    fn record_error(
        &mut self,
        uuid: &str,
        gpu: &str,
        index: u32,
        (cause, strict): (&str, bool),
        now: u64,
        reaction: &mut Reaction,
    ) {
        let record = self.record_mut(uuid, gpu, index);
        if record.record_error(cause, strict, now) {
            reaction
                .became_unhealthy
                .push((uuid.to_owned(), cause.to_owned()));
        }
    }

    fn record_mut(&mut self, uuid: &str, gpu: &str, index: u32) -> &mut DeviceRecord {
        let record = self.records.0.entry(uuid.to_owned());
        let record = record.or_insert_with(|| DeviceRecord::new(gpu, index));
        record.index = Some(index);
        record
    }

    fn handle_discovery(&mut self, inventory: &Inventory, now: u64, reaction: &mut Reaction) {
        for gpu in &inventory.gpus {
            let (id, index) = (gpu.id(), gpu.index());
            if self.known_gpus.insert(id.clone()) {
                self.queries_due.insert(index, now);
            }
            match gpu {
                Gpu::Unresponsive { error, .. } => {
                    let reason = format!("not responding: {error}");
                    if self
                        .record_mut(&id, &id, index)
                        .record_no_response(&reason, now)
                    {
                        reaction.became_unhealthy.push((id, reason));
                    }
                }
                Gpu::Responding { .. } => self.handle_identified_gpu(&id, index, now, reaction),
            }
        }
        let recut = std::mem::take(&mut self.repartitioned);
        self.records.0.retain(|uuid, record| {
            let gpu = inventory.gpus.iter().find(|gpu| gpu.id() == record.gpu);
            let owner = gpu.filter(|gpu| *uuid == record.gpu || has_mig_device(gpu, uuid));
            record.index = owner.map(Gpu::index);
            let responds = gpu.is_some_and(|gpu| matches!(gpu, Gpu::Responding { .. }));
            record.index.is_some() || !(responds && recut.contains(&record.gpu))
        });
        self.queries_due
            .retain(|index, _| inventory.gpu(*index).is_some());
    }

    /// Handles a GPU that responds with this UUID. A GPU that never responded before was identified by its index.
    fn handle_identified_gpu(&mut self, id: &str, index: u32, now: u64, reaction: &mut Reaction) {
        let unidentified = Gpu::Unresponsive {
            index,
            last_info: None,
            error: NvmlError {
                kind: NvmlErrorKind::Other,
                message: String::new(),
            },
        };
        if let Some(mut record) = self.records.0.remove(&unidentified.id()) {
            id.clone_into(&mut record.gpu);
            self.records.0.entry(id.to_owned()).or_insert(record);
        }
        let Some(record) = self.records.0.get_mut(id) else {
            return;
        };
        // Queries refer to GPUs by index: a failed query under the old index may have been about another GPU.
        if record.index.is_some_and(|old| old != index) && record.discard_failed_query() {
            self.queries_due.insert(index, now);
            reaction.recovered.push(id.to_owned());
        } else if record.record_response(now) {
            self.queries_due.insert(index, now);
        }
    }
}

/// Returns the parts of a GPU that an instance covers, or the whole GPU if the instance is unknown.
fn affected_devices(gpu: &Gpu, instance: Option<(u32, u32)>) -> Vec<String> {
    let mig_devices = gpu.info().map_or(&[][..], |info| &info.slices);
    let affected = instance
        .filter(|(gi, _)| *gi != ANY_INSTANCE)
        .map(|(gi, ci)| {
            let in_instance = mig_devices.iter().filter(|mig_device| mig_device.gi == gi);
            let in_instance =
                in_instance.filter(|mig_device| ci == ANY_INSTANCE || mig_device.ci == ci);
            in_instance
                .map(|mig_device| mig_device.uuid.clone())
                .collect::<Vec<_>>()
        });
    match affected {
        Some(hit) if !hit.is_empty() => hit,
        _ => vec![gpu.id()],
    }
}

fn has_mig_device(gpu: &Gpu, uuid: &str) -> bool {
    gpu.info()
        .is_some_and(|info| info.slices.iter().any(|mig_device| mig_device.uuid == uuid))
}
