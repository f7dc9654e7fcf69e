//! What happens to a machine that does not exist.

use std::sync::Arc;
use std::time::Duration;

use super::words::{self, UnknownMachine};
use super::{Shared, World, error};
use crate::nvml::{NvmlError, NvmlErrorKind, NvmlEvent, NvmlEventKind, RecoveryAction};

/// The hand that breaks a fake machine and mends it. A GPU that the machine does not have takes no notice.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

impl Control {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The GPU falls off the bus: every question about it fails, and new subscriptions do without it.
    pub fn lose(&self, gpu: u32) {
        self.fail(gpu, NvmlErrorKind::GpuLost);
    }

    /// Every question about the GPU fails in this way.
    pub fn fail(&self, gpu: u32, kind: NvmlErrorKind) {
        self.change(gpu, |card| {
            card.trouble = Some(error(kind, &format!("GPU {gpu}")));
        });
    }

    /// The GPU answers again.
    pub fn bring_back(&self, gpu: u32) {
        self.change(gpu, |card| card.trouble = None);
    }

    /// A critical error, in one instance where one is given.
    pub fn xid(&self, gpu: u32, xid: u64, instance: Option<(u32, u32)>) {
        self.send(Some(gpu), NvmlEventKind::Xid { xid, instance });
    }

    /// A memory error that could be corrected.
    pub fn single_bit_error(&self, gpu: u32) {
        self.change(gpu, |card| card.single_bit_errors += 1);
        self.send(Some(gpu), NvmlEventKind::SingleBitEcc);
    }

    /// A memory error that could not be corrected.
    pub fn double_bit_error(&self, gpu: u32) {
        self.change(gpu, |card| card.double_bit_errors += 1);
        self.send(Some(gpu), NvmlEventKind::DoubleBitEcc);
    }

    /// Cuts the GPU, `3g.40gb,1g.10gb*4`, and says that its layout changed. With no profile the mode is on and nothing
    /// is cut. Slices at the places and with the profiles they had keep their UUIDs.
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

    /// Takes the GPU out of MIG mode, and says that its layout changed.
    pub fn uncut(&self, gpu: u32) {
        self.change(gpu, |card| card.cut(None));
        self.send(Some(gpu), NvmlEventKind::MigChanged);
    }

    /// MIG mode is to be on or off after the next reset of the GPU.
    pub fn pend_mig(&self, gpu: u32, pending: bool) {
        self.change(gpu, |card| {
            if let Some(mode) = &mut card.info.mig {
                mode.pending = pending;
            }
        });
    }

    /// The driver says that the GPU cannot be used.
    pub fn unavailable(&self, gpu: u32) {
        self.send(Some(gpu), NvmlEventKind::Unavailable);
    }

    /// The driver wants something done about the GPU, and says so. `None`: it does not say what it wants any more.
    pub fn want(&self, gpu: u32, action: Option<RecoveryAction>) {
        self.change(gpu, |card| card.condition.action = action);
        self.send(Some(gpu), NvmlEventKind::RecoveryAction);
    }

    /// A row of the GPU's memory could not be replaced, or a reset put that right.
    pub fn remap_failed(&self, gpu: u32, failed: bool) {
        self.change(gpu, |card| card.condition.remap_failed = failed);
    }

    /// The driver calls the GPU so.
    pub fn call(&self, gpu: u32, name: &str) {
        self.change(gpu, |card| name.clone_into(&mut card.info.name));
    }

    /// Puts other GPUs in, as after a reset of the whole board.
    pub fn replace(&self, words: &str) -> Result<(), UnknownMachine> {
        let groups = words::parse(words)?;
        self.shared.world().machine.replace(&groups);
        Ok(())
    }

    /// New subscriptions do without the GPU, or with it again.
    pub fn refuse_watch(&self, gpu: u32, kind: Option<NvmlErrorKind>) {
        self.change(gpu, |card| {
            card.watch_trouble = kind.map(|kind| error(kind, &format!("GPU {gpu}")));
        });
    }

    /// Nothing can be subscribed to, or everything again.
    pub fn refuse_watches(&self, kind: Option<NvmlErrorKind>) {
        self.shared.world().watch_trouble = kind.map(|kind| error(kind, "event set"));
    }

    /// Waiting for an event fails once in every open subscription.
    pub fn fail_wait(&self, kind: NvmlErrorKind) {
        self.tell(|_| Some(Err(error(kind, "event wait"))));
    }

    /// An event. Subscriptions that do without the GPU do not hear of it.
    pub fn send(&self, gpu: Option<u32>, kind: NvmlEventKind) {
        self.tell(|unwatched| {
            let deaf = gpu.is_some_and(|gpu| unwatched.iter().any(|(other, _)| *other == gpu));
            (!deaf).then_some(Ok(NvmlEvent { gpu, kind }))
        });
    }

    /// Nothing answers in this way (no library, no driver), or everything again.
    pub fn fail_all(&self, kind: Option<NvmlErrorKind>) {
        self.shared.world().trouble = kind.map(|kind| error(kind, "NVML"));
    }

    /// How long each question takes from now on.
    pub fn latency(&self, latency: Duration) {
        self.shared.world().latency = latency;
    }

    /// How many questions were asked.
    pub fn calls(&self) -> u64 {
        self.shared.world().calls.values().sum()
    }

    /// How often this question was asked: `gpu`, `link`, by the name of the function.
    pub fn calls_of(&self, question: &str) -> u64 {
        let world = self.shared.world();
        world.calls.get(question).copied().unwrap_or_default()
    }

    /// How many subscriptions are open.
    pub fn watches(&self) -> usize {
        self.shared.world().queues.len()
    }

    fn change(&self, gpu: u32, change: impl FnOnce(&mut super::Card)) {
        if let Some(card) = self.shared.world().machine.card(gpu) {
            change(card);
        }
    }

    /// Puts into each queue what its subscription hears.
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
