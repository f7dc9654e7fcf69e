//! Fault injection for a fake machine.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::description::{self, UnknownMachine};
use super::{FakeState, Shared, nvml_error};
use crate::nvml::{NvmlError, NvmlErrorKind, NvmlEvent, NvmlEventKind, RecoveryAction};

/// Injects and clears faults of a fake machine. Calls for GPUs that the machine does not have are ignored.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

impl Control {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The GPU falls off the bus: every call about it fails, and new subscriptions exclude it.
    pub fn lose(&self, gpu: u32) {
        self.fail_gpu(gpu, NvmlErrorKind::GpuLost);
    }

    /// Every call about the GPU fails with this error.
    pub fn fail_gpu(&self, gpu: u32, kind: NvmlErrorKind) {
        self.update_gpu(gpu, |fake_gpu| {
            fake_gpu.error = Some(nvml_error(kind, &format!("GPU {gpu}")));
        });
    }

    /// The GPU responds again.
    pub fn bring_back(&self, gpu: u32) {
        self.update_gpu(gpu, |fake_gpu| fake_gpu.error = None);
    }

    /// Sends a critical error (Xid), in one instance if given.
    pub fn send_xid(&self, gpu: u32, xid: u64, instance: Option<(u32, u32)>) {
        self.send(Some(gpu), NvmlEventKind::Xid { xid, instance });
    }

    /// Sends an uncorrectable memory error.
    pub fn send_double_bit_error(&self, gpu: u32) {
        self.update_gpu(gpu, |fake_gpu| fake_gpu.double_bit_errors += 1);
        self.send(Some(gpu), NvmlEventKind::DoubleBitEcc);
    }

    /// Partitions the GPU, `3g.40gb,1g.10gb*4`, and sends the event. Without profiles, MIG mode is on and there are no
    /// MIG devices. MIG devices with unchanged placement and profile keep their UUIDs.
    pub fn partition(&self, gpu: u32, profiles: &str) -> Result<(), UnknownMachine> {
        {
            let mut world = self.shared.lock_state();
            let Some(fake_gpu) = world.machine.gpu_mut(gpu) else {
                return Ok(());
            };
            let layout = description::place_profiles(fake_gpu.model, profiles)?;
            fake_gpu.partition(Some(&layout));
        }
        self.send(Some(gpu), NvmlEventKind::MigChanged);
        Ok(())
    }

    /// Disables MIG mode of the GPU, and sends the event.
    pub fn disable_mig(&self, gpu: u32) {
        self.update_gpu(gpu, |fake_gpu| fake_gpu.partition(None));
        self.send(Some(gpu), NvmlEventKind::MigChanged);
    }

    /// Reports the GPU as unavailable.
    pub fn report_unavailable(&self, gpu: u32) {
        self.send(Some(gpu), NvmlEventKind::Unavailable);
    }

    /// Sets the requested recovery action of the GPU, and sends the event. `None`: the driver reports no action any
    /// more.
    pub fn request_recovery(&self, gpu: u32, action: Option<RecoveryAction>) {
        self.update_gpu(gpu, |fake_gpu| fake_gpu.condition.action = action);
        self.send(Some(gpu), NvmlEventKind::RecoveryAction);
    }

    /// Sets or clears a failed row remapping of the GPU.
    pub fn set_remap_failed(&self, gpu: u32, failed: bool) {
        self.update_gpu(gpu, |fake_gpu| fake_gpu.condition.remap_failed = failed);
    }

    /// Sets the driver's name of the GPU.
    pub fn set_driver_name(&self, gpu: u32, name: &str) {
        self.update_gpu(gpu, |fake_gpu| name.clone_into(&mut fake_gpu.info.name));
    }

    /// Replaces the GPUs, as after a reset of the whole board.
    pub fn replace_gpus(&self, words: &str) -> Result<(), UnknownMachine> {
        let groups = description::parse(words)?;
        self.shared.lock_state().machine.replace(&groups);
        Ok(())
    }

    /// Removes the GPU. The GPUs after it get new indexes, as after a reload of the driver.
    pub fn remove_gpu(&self, gpu: u32) {
        self.shared.lock_state().machine.remove(gpu);
    }

    /// Inserts a GPU at this index, of the model of the first GPU. The GPUs after it get new indexes. `seed`
    /// determines its UUID.
    pub fn insert_gpu(&self, index: u32, seed: &str) {
        self.shared.lock_state().machine.insert(index, seed);
    }

    /// Makes calls of this function hang until [`Control::release`]: `driver`, `gpu_count`, `gpu`, `link`, `condition`,
    /// `sample`, `watch`, `wait`. Without a GPU, calls about every GPU hang.
    pub fn hang(&self, function: &str, gpu: Option<u32>) {
        let call = (function.to_owned(), gpu);
        self.shared.lock_state().hanging.insert(call);
    }

    /// Lets all calls return.
    pub fn release(&self) {
        self.shared.lock_state().hanging.clear();
        self.shared.released.notify_all();
    }

    /// Excludes the GPU from new subscriptions, or includes it again.
    pub fn refuse_watch(&self, gpu: u32, kind: Option<NvmlErrorKind>) {
        self.update_gpu(gpu, |fake_gpu| {
            fake_gpu.watch_error = kind.map(|kind| nvml_error(kind, &format!("GPU {gpu}")));
        });
    }

    /// Makes new subscriptions fail, or succeed again.
    pub fn refuse_watches(&self, kind: Option<NvmlErrorKind>) {
        self.shared.lock_state().watch_error = kind.map(|kind| nvml_error(kind, "event set"));
    }

    /// Makes one wait for an event fail in every open subscription.
    pub fn fail_wait(&self, kind: NvmlErrorKind) {
        self.enqueue(|_| Some(Err(nvml_error(kind, "event wait"))));
    }

    /// Sends an event. Subscriptions that exclude the GPU do not receive it; the others refer to the GPU by its index
    /// at the time of the subscription.
    pub fn send(&self, gpu: Option<u32>, kind: NvmlEventKind) {
        let uuid = {
            let world = self.shared.lock_state();
            gpu.and_then(|gpu| world.machine.uuid(gpu).map(str::to_owned))
        };
        self.enqueue(|watched| {
            let gpu = match &uuid {
                None => None,
                Some(uuid) => Some(watched.iter().find(|(_, watched)| watched == uuid)?.0),
            };
            Some(Ok(NvmlEvent { gpu, kind }))
        });
    }

    /// Makes every call fail with this error (no library, no driver), or succeed again.
    pub fn fail_all(&self, kind: Option<NvmlErrorKind>) {
        self.shared.lock_state().error = kind.map(|kind| nvml_error(kind, "NVML"));
    }

    /// Sets the duration of each call.
    pub fn set_latency(&self, latency: Duration) {
        self.shared.lock_state().latency = latency;
    }

    /// Returns the number of calls.
    pub fn call_count(&self) -> u64 {
        self.shared.lock_state().calls.values().sum()
    }

    /// Returns the number of calls of this function: `gpu`, `link`.
    pub fn call_count_for(&self, question: &str) -> u64 {
        let world = self.shared.lock_state();
        world.calls.get(question).copied().unwrap_or_default()
    }

    /// Returns the number of calls that hang now.
    pub fn hung_calls(&self) -> usize {
        self.shared.lock_state().hung_calls
    }

    /// Notifies waits for events that the clock of a test has advanced.
    pub fn notify_clock(&self) {
        self.shared.event_ready.notify_all();
    }

    /// Whether every subscription has received all events and waits for the next one.
    pub fn is_waiting_for_events(&self) -> bool {
        let now = Instant::now();
        let world = self.shared.lock_state();
        let mut queues = world.queues.values();
        queues.all(|queue| queue.pending.is_empty() && queue.waits_until.is_some_and(|at| at > now))
    }

    /// Whether a subscription includes the GPU.
    pub fn is_watched(&self, gpu: u32) -> bool {
        let world = self.shared.lock_state();
        let uuid = world.machine.uuid(gpu);
        let mut watched = world.queues.values().flat_map(|queue| &queue.watched);
        watched.any(|(_, watched)| Some(watched.as_str()) == uuid)
    }

    /// Returns the number of open subscriptions.
    pub fn subscription_count(&self) -> usize {
        self.shared.lock_state().queues.len()
    }

    fn update_gpu(&self, gpu: u32, change: impl FnOnce(&mut super::FakeGpu)) {
        if let Some(fake_gpu) = self.shared.lock_state().machine.gpu_mut(gpu) {
            change(fake_gpu);
        }
    }

    /// Adds an event to the queue of each subscription.
    fn enqueue(
        &self,
        event_for: impl Fn(&[(u32, String)]) -> Option<Result<NvmlEvent, NvmlError>>,
    ) {
        let FakeState { queues, .. } = &mut *self.shared.lock_state();
        for queue in queues.values_mut() {
            if let Some(event) = event_for(&queue.watched) {
                queue.pending.push_back(event);
            }
        }
        self.shared.event_ready.notify_all();
    }
}
