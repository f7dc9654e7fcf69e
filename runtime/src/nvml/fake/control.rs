//! Fault injection for a fake machine.

use std::sync::Arc;
use std::time::Duration;

use super::words::{self, UnknownMachine};
use super::{Shared, World, error};
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
        self.fail(gpu, NvmlErrorKind::GpuLost);
    }

    /// Every call about the GPU fails with this error.
    pub fn fail(&self, gpu: u32, kind: NvmlErrorKind) {
        self.change(gpu, |card| {
            card.trouble = Some(error(kind, &format!("GPU {gpu}")));
        });
    }

    /// The GPU responds again.
    pub fn bring_back(&self, gpu: u32) {
        self.change(gpu, |card| card.trouble = None);
    }

    /// Sends a critical error (Xid), in one instance if given.
    pub fn xid(&self, gpu: u32, xid: u64, instance: Option<(u32, u32)>) {
        self.send(Some(gpu), NvmlEventKind::Xid { xid, instance });
    }

    /// Sends an uncorrectable memory error.
    pub fn double_bit_error(&self, gpu: u32) {
        self.change(gpu, |card| card.double_bit_errors += 1);
        self.send(Some(gpu), NvmlEventKind::DoubleBitEcc);
    }

    /// Partitions the GPU, `3g.40gb,1g.10gb*4`, and sends the event. Without profiles, MIG mode is on and there are no
    /// MIG devices. MIG devices with unchanged placement and profile keep their UUIDs.
    pub fn cut(&self, gpu: u32, profiles: &str) -> Result<(), UnknownMachine> {
        {
            let mut world = self.shared.world();
            let Some(card) = world.machine.card(gpu) else {
                return Ok(());
            };
            let layout = words::cut(card.model, profiles)?;
            card.cut(Some(&layout));
        }
        self.send(Some(gpu), NvmlEventKind::MigChanged);
        Ok(())
    }

    /// Disables MIG mode of the GPU, and sends the event.
    pub fn disable_mig(&self, gpu: u32) {
        self.change(gpu, |card| card.cut(None));
        self.send(Some(gpu), NvmlEventKind::MigChanged);
    }

    /// Reports the GPU as unavailable.
    pub fn unavailable(&self, gpu: u32) {
        self.send(Some(gpu), NvmlEventKind::Unavailable);
    }

    /// Sets the requested recovery action of the GPU, and sends the event. `None`: the driver reports no action any
    /// more.
    pub fn want(&self, gpu: u32, action: Option<RecoveryAction>) {
        self.change(gpu, |card| card.condition.action = action);
        self.send(Some(gpu), NvmlEventKind::RecoveryAction);
    }

    /// Sets or clears a failed row remapping of the GPU.
    pub fn remap_failed(&self, gpu: u32, failed: bool) {
        self.change(gpu, |card| card.condition.remap_failed = failed);
    }

    /// Sets the driver's name of the GPU.
    pub fn call(&self, gpu: u32, name: &str) {
        self.change(gpu, |card| name.clone_into(&mut card.info.name));
    }

    /// Replaces the GPUs, as after a reset of the whole board.
    pub fn replace(&self, words: &str) -> Result<(), UnknownMachine> {
        let groups = words::parse(words)?;
        self.shared.world().machine.replace(&groups);
        Ok(())
    }

    /// Excludes the GPU from new subscriptions, or includes it again.
    pub fn refuse_watch(&self, gpu: u32, kind: Option<NvmlErrorKind>) {
        self.change(gpu, |card| {
            card.watch_trouble = kind.map(|kind| error(kind, &format!("GPU {gpu}")));
        });
    }

    /// Makes new subscriptions fail, or succeed again.
    pub fn refuse_watches(&self, kind: Option<NvmlErrorKind>) {
        self.shared.world().watch_trouble = kind.map(|kind| error(kind, "event set"));
    }

    /// Makes one wait for an event fail in every open subscription.
    pub fn fail_wait(&self, kind: NvmlErrorKind) {
        self.tell(|_| Some(Err(error(kind, "event wait"))));
    }

    /// Sends an event. Subscriptions that exclude the GPU do not receive it.
    pub fn send(&self, gpu: Option<u32>, kind: NvmlEventKind) {
        self.tell(|unwatched| {
            let deaf = gpu.is_some_and(|gpu| unwatched.iter().any(|(other, _)| *other == gpu));
            (!deaf).then_some(Ok(NvmlEvent { gpu, kind }))
        });
    }

    /// Makes every call fail with this error (no library, no driver), or succeed again.
    pub fn fail_all(&self, kind: Option<NvmlErrorKind>) {
        self.shared.world().trouble = kind.map(|kind| error(kind, "NVML"));
    }

    /// Sets the duration of each call.
    pub fn latency(&self, latency: Duration) {
        self.shared.world().latency = latency;
    }

    /// Returns the number of calls.
    pub fn calls(&self) -> u64 {
        self.shared.world().calls.values().sum()
    }

    /// Returns the number of calls of this function: `gpu`, `link`.
    pub fn calls_of(&self, question: &str) -> u64 {
        let world = self.shared.world();
        world.calls.get(question).copied().unwrap_or_default()
    }

    /// Returns the number of open subscriptions.
    pub fn watches(&self) -> usize {
        self.shared.world().queues.len()
    }

    fn change(&self, gpu: u32, change: impl FnOnce(&mut super::Card)) {
        if let Some(card) = self.shared.world().machine.card(gpu) {
            change(card);
        }
    }

    /// Adds an event to the queue of each subscription.
    fn tell(&self, what: impl Fn(&[(u32, NvmlError)]) -> Option<Result<NvmlEvent, NvmlError>>) {
        let World { queues, .. } = &mut *self.shared.world();
        for queue in queues.values_mut() {
            if let Some(news) = what(&queue.unwatched) {
                queue.waiting.push_back(news);
            }
        }
        self.shared.happened.notify_all();
    }
}
