//! A driver without GPUs: machines simulated from gpuc's GPU catalog, with fault injection.
//!
//! `gpuc-runtime serve --fake h100x8` and the tests use it. A machine implements the same interface as the real driver;
//! [`Control`] changes it.

mod control;
mod description;
mod links;
mod machine;
mod mig_devices;
mod roots;
mod samples;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub use control::Control;
pub use description::UnknownMachine;

use self::machine::{FakeGpu, Machine};
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
    world: Mutex<FakeState>,
    /// Notified when an event is added to a queue.
    event_ready: Condvar,
    /// Notified when calls that hang return.
    released: Condvar,
}

/// The machine and its faults.
#[derive(Debug)]
struct FakeState {
    machine: Machine,
    /// Why every call fails: no library, no driver.
    error: Option<NvmlError>,
    /// Why subscriptions fail.
    watch_error: Option<NvmlError>,
    /// Duration of each call.
    latency: Duration,
    /// The calls that do not return, by function name and GPU. Without a GPU, calls about every GPU.
    hanging: BTreeSet<(String, Option<u32>)>,
    /// Number of calls that hang now.
    hung_calls: usize,
    /// Number of calls, by function name.
    calls: BTreeMap<&'static str, u64>,
    /// The queues of open subscriptions.
    queues: BTreeMap<u64, Queue>,
    next_queue: u64,
}

/// The queue of one subscription.
#[derive(Debug)]
struct Queue {
    /// The monitored GPUs, by index at the time of the subscription, and their UUIDs.
    watched: Vec<(u32, String)>,
    pending: VecDeque<Result<NvmlEvent, NvmlError>>,
    /// The end of the current wait for an event.
    waits_until: Option<Instant>,
}

impl Fake {
    /// Creates a machine: `h100x8`; `l4x4`; `a100-sxm4-40gbx2:mig=3g.20gb,1g.5gb*4`, which partitions each of the two;
    /// `h100x1:mig`, in MIG mode without MIG devices; `t4x1+l4x2`, two GPU models. Models are named as in gpuc's
    /// catalog, by key or alias; a profile with `+` is written with `.`, as in the names of resources.
    pub fn from_description(words: &str) -> Result<Self, UnknownMachine> {
        Self::from_description_with_name(words, "")
    }

    /// Creates a machine with UUIDs derived from this name: two nodes of a cluster have different GPUs.
    pub fn from_description_with_name(words: &str, name: &str) -> Result<Self, UnknownMachine> {
        let machine = Machine::new(&description::parse(words)?, name);
        let world = FakeState {
            machine,
            error: None,
            watch_error: None,
            latency: Duration::ZERO,
            hanging: BTreeSet::new(),
            hung_calls: 0,
            calls: BTreeMap::new(),
            queues: BTreeMap::new(),
            next_queue: 0,
        };
        let shared = Shared {
            world: Mutex::new(world),
            event_ready: Condvar::new(),
            released: Condvar::new(),
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
    fn respond<T>(
        &self,
        question: &'static str,
        gpu: Option<u32>,
        respond: impl FnOnce(&mut Machine) -> Result<T, NvmlError>,
    ) -> Result<T, NvmlError> {
        let latency = {
            let mut world = self.shared.lock_state();
            *world.calls.entry(question).or_default() += 1;
            world.latency
        };
        if !latency.is_zero() {
            std::thread::sleep(latency);
        }
        let mut world = self.shared.wait_until_released(question, gpu);
        match &world.error {
            Some(error) => Err(error.clone()),
            None => respond(&mut world.machine),
        }
    }
}

impl Shared {
    /// Locks the state. It is consistent even after a panic of another thread, because no change has two steps.
    fn lock_state(&self) -> MutexGuard<'_, FakeState> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state once calls of this function about this GPU do not hang.
    fn wait_until_released(&self, question: &str, gpu: Option<u32>) -> MutexGuard<'_, FakeState> {
        let hangs = |world: &mut FakeState| {
            let mut hanging = world.hanging.iter();
            hanging
                .any(|(function, about)| function == question && (about.is_none() || *about == gpu))
        };
        let mut world = self.lock_state();
        world.hung_calls += 1;
        let waited = self.released.wait_while(world, hangs);
        let mut world = waited.unwrap_or_else(PoisonError::into_inner);
        world.hung_calls -= 1;
        world
    }
}

impl Nvml for Fake {
    fn driver(&self) -> Result<DriverInfo, NvmlError> {
        self.respond("driver", None, |machine| Ok(machine.driver.clone()))
    }

    fn gpu_count(&self) -> Result<u32, NvmlError> {
        self.respond("gpu_count", None, |machine| Ok(machine.count()))
    }

    fn gpu(&self, index: u32) -> Result<GpuInfo, NvmlError> {
        self.respond("gpu", Some(index), |machine| {
            machine
                .responding_gpu_mut(index)
                .map(|fake_gpu| fake_gpu.info.clone())
        })
    }

    fn link(&self, one: u32, other: u32) -> Result<Link, NvmlError> {
        self.respond("link", Some(one), |machine| {
            machine.responding_gpu_mut(one)?;
            machine.responding_gpu_mut(other)?;
            Ok(machine.link(one, other))
        })
    }

    fn condition(&self, index: u32) -> Result<Condition, NvmlError> {
        self.respond("condition", Some(index), |machine| {
            machine
                .responding_gpu_mut(index)
                .map(|fake_gpu| fake_gpu.condition)
        })
    }

    fn sample(&self, index: u32) -> Result<Sample, NvmlError> {
        self.respond("sample", Some(index), |machine| {
            machine.responding_gpu_mut(index).map(FakeGpu::next_sample)
        })
    }

    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError> {
        self.respond("watch", None, |_| Ok(()))?;
        let mut world = self.shared.lock_state();
        if let Some(error) = &world.watch_error {
            return Err(error.clone());
        }
        let (watched, unwatched) = world.machine.subscribe();
        let id = world.next_queue;
        world.next_queue += 1;
        let queue = Queue {
            watched: watched.clone(),
            pending: VecDeque::new(),
            waits_until: None,
        };
        world.queues.insert(id, queue);
        drop(world);
        Ok(Box::new(FakeWatch {
            shared: Arc::clone(&self.shared),
            id,
            watched,
            unwatched,
        }))
    }
}

/// A subscription to the events of the control.
struct FakeWatch {
    shared: Arc<Shared>,
    id: u64,
    watched: Vec<(u32, String)>,
    unwatched: Vec<(u32, NvmlError)>,
}

impl Watch for FakeWatch {
    fn watched(&self) -> &[(u32, String)] {
        &self.watched
    }

    fn unwatched(&self) -> &[(u32, NvmlError)] {
        &self.unwatched
    }

    fn next(&mut self, timeout: Duration) -> Result<Option<NvmlEvent>, NvmlError> {
        let end = Instant::now() + timeout;
        let mut world = self.shared.wait_until_released("wait", None);
        loop {
            let remaining = end.saturating_duration_since(Instant::now());
            if let Some(queue) = world.queues.get_mut(&self.id) {
                let next = queue.pending.pop_front();
                let is_over = next.is_some() || remaining.is_zero();
                queue.waits_until = Some(end).filter(|_| !is_over);
                if let Some(next) = next {
                    return next.map(Some);
                }
            }
            if remaining.is_zero() {
                return Ok(None);
            }
            let woken = self.shared.event_ready.wait_timeout(world, remaining);
            world = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for FakeWatch {
    fn drop(&mut self) {
        self.shared.lock_state().queues.remove(&self.id);
    }
}

/// Creates an error with the message of NVML.
fn nvml_error(kind: NvmlErrorKind, about: &str) -> NvmlError {
    let message = match kind {
        NvmlErrorKind::NoLibrary => "NVML Shared Library Not Found",
        NvmlErrorKind::Unsupported => "Not Supported On This Machine",
        NvmlErrorKind::NoDriver => "Driver Not Loaded",
        NvmlErrorKind::GpuLost => "GPU is lost",
        NvmlErrorKind::NotSupported => "Not Supported",
        NvmlErrorKind::NoPermission => "Insufficient Permissions",
        NvmlErrorKind::InUse => "In use by another client",
        NvmlErrorKind::TimedOut => "Timeout",
        NvmlErrorKind::Other => "Unknown Error",
    };
    NvmlError {
        kind,
        message: format!("{about}: {message}"),
    }
}

#[cfg(test)]
mod tests;
