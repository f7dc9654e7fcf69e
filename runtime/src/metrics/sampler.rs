//! Measures GPUs without waiting for a driver that hangs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::nvml::{Nvml, NvmlError, Sample};

/// Timeout of a measurement. Prometheus allows 10 s for a whole scrape.
pub const LIMIT: Duration = Duration::from_secs(3);

/// How long a result is reused.
pub const KEEP: Duration = Duration::from_secs(1);

/// The measurement of one GPU, or why there is none.
pub(super) type Answer = Result<Sample, Missing>;

/// Why a GPU has no measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Missing {
    /// The driver returned an error.
    Error(NvmlError),
    /// The driver did not respond in time.
    DriverHandle,
}

/// The measurements of all GPUs, by index.
pub(super) type Round = BTreeMap<u32, Answer>;

/// The client of the sampler task.
#[derive(Clone, Debug)]
pub(super) struct Sampler(mpsc::Sender<Question>);

/// The GPUs to measure, and the channel for the result.
type Question = (Vec<u32>, oneshot::Sender<(Arc<Round>, bool)>);

/// GPUs that a thread is measuring, by index.
type Busy = Arc<Mutex<BTreeSet<u32>>>;

impl Sampler {
    /// Starts the task.
    pub(super) fn start(nvml: Arc<dyn Nvml>, limit: Duration, keep: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(16);
        tokio::spawn(serve(nvml, receiver, limit, keep));
        Self(sender)
    }

    /// Returns the measurements of these GPUs, and whether they are new and not reused.
    pub(super) async fn round(&self, gpus: Vec<u32>) -> (Arc<Round>, bool) {
        let (answer, answered) = oneshot::channel();
        if self.0.send((gpus, answer)).await.is_err() {
            return (Arc::default(), false);
        }
        answered.await.unwrap_or_default()
    }
}

/// Processes requests one after the other: requests that arrive during a measurement share its result.
async fn serve(
    nvml: Arc<dyn Nvml>,
    mut questions: mpsc::Receiver<Question>,
    limit: Duration,
    keep: Duration,
) {
    let busy = Busy::default();
    let mut last: Option<(Instant, Vec<u32>, Arc<Round>)> = None;
    while let Some((gpus, answer)) = questions.recv().await {
        let fresh = last
            .as_ref()
            .filter(|(at, of, _)| at.elapsed() < keep && *of == gpus);
        let round = if let Some((_, _, round)) = fresh {
            (Arc::clone(round), false)
        } else {
            let round = Arc::new(measure(&nvml, &gpus, &busy, limit).await);
            last = Some((Instant::now(), gpus, Arc::clone(&round)));
            (round, true)
        };
        // The receiver may be gone.
        drop(answer.send(round));
    }
}

/// Measures all GPUs on a separate thread. A thread that hangs in the driver is abandoned, and its GPU is
/// skipped until it responds: there are never more such threads than GPUs.
async fn measure(nvml: &Arc<dyn Nvml>, gpus: &[u32], busy: &Busy, limit: Duration) -> Round {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (nvml, asked, busy) = (Arc::clone(nvml), gpus.to_vec(), Arc::clone(busy));
    let ask = move || {
        for gpu in asked {
            if !lock(&busy).insert(gpu) {
                continue;
            }
            let sample = nvml.sample(gpu);
            lock(&busy).remove(&gpu);
            if sender.send((gpu, sample)).is_err() {
                return;
            }
        }
    };
    let mut round: Round = gpus
        .iter()
        .map(|gpu| (*gpu, Err(Missing::DriverHandle)))
        .collect();
    let thread = thread::Builder::new().name("nvml-sampler".to_owned());
    if thread.spawn(ask).is_err() {
        return round;
    }
    let deadline = Instant::now() + limit;
    while let Ok(Some((gpu, sample))) = timeout_at(deadline, receiver.recv()).await {
        round.insert(gpu, sample.map_err(Missing::Error));
    }
    round
}

fn lock(busy: &Busy) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
    busy.lock().unwrap_or_else(PoisonError::into_inner)
}
