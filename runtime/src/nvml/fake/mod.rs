//! A driver without GPUs: machines simulated from gpuc's GPU catalog, with fault injection.
//!
//! `gpuc-runtime serve --fake h100x8` and the tests use it. A machine implements the same interface as the real driver;
//! [`Control`] changes it.

mod control;
mod links;
mod machine;
mod roots;
mod samples;
mod slices;
mod words;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use control::Control;
pub use words::UnknownMachine;

use self::machine::{Card, Machine};
use super::{
    Condition, DriverInfo, GpuInfo, Link, Nvml, NvmlError, NvmlErrorKind, NvmlEvent, Sample, Watch,
};

/// A simulated driver.
#[derive(Clone, Debug)]
pub struct Fake {
    shared: Arc<Shared>,
}

/// The state shared by the driver, its subscriptions and its control.
#[derive(Debug)]
struct Shared {
    world: Mutex<World>,
    /// Notified when an event is added to a queue.
    happened: Condvar,
}

/// The machine and its faults.
#[derive(Debug)]
struct World {
    machine: Machine,
    /// Why every call fails: no library, no driver.
    trouble: Option<NvmlError>,
    /// Why subscriptions fail.
    watch_trouble: Option<NvmlError>,
    /// Duration of each call.
    latency: Duration,
    /// Number of calls, by function name.
    calls: BTreeMap<&'static str, u64>,
    /// The queues of open subscriptions.
    queues: BTreeMap<u64, Queue>,
    next_queue: u64,
}

/// The queue of one subscription.
#[derive(Debug)]
struct Queue {
    unwatched: Vec<(u32, NvmlError)>,
    waiting: VecDeque<Result<NvmlEvent, NvmlError>>,
}

impl Fake {
    /// Creates a machine: `h100x8`; `l4x4`; `a100-sxm4-40gbx2:mig=3g.20gb,1g.5gb*4`, which partitions each of the two;
    /// `h100x1:mig`, in MIG mode without MIG devices; `t4x1+l4x2`, two GPU models. Models are named as in gpuc's
    /// catalog, by key or alias; a profile with `+` is written with `.`, as in the names of resources.
    pub fn machine(words: &str) -> Result<Self, UnknownMachine> {
        Self::machine_called(words, "")
    }

    /// Creates a machine with UUIDs derived from this name: two nodes of a cluster have different GPUs.
    pub fn machine_called(words: &str, name: &str) -> Result<Self, UnknownMachine> {
        let machine = Machine::new(&words::parse(words)?, name);
        let world = World {
            machine,
            trouble: None,
            watch_trouble: None,
            latency: Duration::ZERO,
            calls: BTreeMap::new(),
            queues: BTreeMap::new(),
            next_queue: 0,
        };
        let shared = Shared {
            world: Mutex::new(world),
            happened: Condvar::new(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns the control of the machine.
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.shared))
    }

    /// Counts a call, waits for its duration, and returns the response or the injected error.
    fn ask<T>(
        &self,
        question: &'static str,
        answer: impl FnOnce(&mut Machine) -> Result<T, NvmlError>,
    ) -> Result<T, NvmlError> {
        let latency = {
            let mut world = self.shared.world();
            *world.calls.entry(question).or_default() += 1;
            world.latency
        };
        if !latency.is_zero() {
            std::thread::sleep(latency);
        }
        let mut world = self.shared.world();
        match &world.trouble {
            Some(error) => Err(error.clone()),
            None => answer(&mut world.machine),
        }
    }
}

impl Shared {
    /// Locks the state. It is consistent even after a panic of another thread, because no change has two steps.
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Nvml for Fake {
    fn driver(&self) -> Result<DriverInfo, NvmlError> {
        self.ask("driver", |machine| Ok(machine.driver.clone()))
    }

    fn gpu_count(&self) -> Result<u32, NvmlError> {
        self.ask("gpu_count", |machine| Ok(machine.count()))
    }

    fn gpu(&self, index: u32) -> Result<GpuInfo, NvmlError> {
        self.ask("gpu", |machine| {
            machine.answering(index).map(|card| card.info.clone())
        })
    }

    fn link(&self, one: u32, other: u32) -> Result<Link, NvmlError> {
        self.ask("link", |machine| {
            machine.answering(one)?;
            machine.answering(other)?;
            Ok(machine.link(one, other))
        })
    }

    fn condition(&self, index: u32) -> Result<Condition, NvmlError> {
        self.ask("condition", |machine| {
            machine.answering(index).map(|card| card.condition)
        })
    }

    fn sample(&self, index: u32) -> Result<Sample, NvmlError> {
        self.ask("sample", |machine| {
            machine.answering(index).map(Card::next_sample)
        })
    }

    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError> {
        self.ask("watch", |_| Ok(()))?;
        let mut world = self.shared.world();
        if let Some(error) = &world.watch_trouble {
            return Err(error.clone());
        }
        let unwatched = world.machine.unwatched();
        let id = world.next_queue;
        world.next_queue += 1;
        let queue = Queue {
            unwatched: unwatched.clone(),
            waiting: VecDeque::new(),
        };
        world.queues.insert(id, queue);
        drop(world);
        Ok(Box::new(FakeWatch {
            shared: Arc::clone(&self.shared),
            id,
            unwatched,
        }))
    }
}

/// A subscription to the events of the control.
struct FakeWatch {
    shared: Arc<Shared>,
    id: u64,
    unwatched: Vec<(u32, NvmlError)>,
}

impl Watch for FakeWatch {
    fn unwatched(&self) -> &[(u32, NvmlError)] {
        &self.unwatched
    }

    fn next(&mut self, timeout: Duration) -> Result<Option<NvmlEvent>, NvmlError> {
        let start = Instant::now();
        let mut world = self.shared.world();
        loop {
            let queue = world.queues.get_mut(&self.id);
            if let Some(next) = queue.and_then(|queue| queue.waiting.pop_front()) {
                return next.map(Some);
            }
            let Some(left) = timeout.checked_sub(start.elapsed()) else {
                return Ok(None);
            };
            if left.is_zero() {
                return Ok(None);
            }
            let woken = self.shared.happened.wait_timeout(world, left);
            world = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for FakeWatch {
    fn drop(&mut self) {
        self.shared.world().queues.remove(&self.id);
    }
}

/// Creates an error with the message of NVML.
fn error(kind: NvmlErrorKind, about: &str) -> NvmlError {
    let says = match kind {
        NvmlErrorKind::NoLibrary => "NVML Shared Library Not Found",
        NvmlErrorKind::Unsupported => "Not Supported On This Machine",
        NvmlErrorKind::NoDriver => "Driver Not Loaded",
        NvmlErrorKind::GpuLost => "GPU is lost",
        NvmlErrorKind::NotSupported => "Not Supported",
        NvmlErrorKind::NoPermission => "Insufficient Permissions",
        NvmlErrorKind::InUse => "In use by another client",
        NvmlErrorKind::Other => "Unknown Error",
    };
    NvmlError {
        kind,
        message: format!("{about}: {says}"),
    }
}

#[cfg(test)]
mod tests;
