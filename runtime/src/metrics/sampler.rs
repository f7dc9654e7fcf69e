//! Measures GPUs without waiting for a driver that hangs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::nvml::{Nvml, NvmlError, Sample};

/// Timeout of a measurement. Prometheus allows 10 s for a whole scrape.
pub const SAMPLE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a result is reused.
pub const CACHE_TIME: Duration = Duration::from_secs(1);

/// The measurement of one GPU, or why there is none.
pub(super) type SampleResult = Result<Sample, MissingSample>;

/// Why a GPU has no measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MissingSample {
    /// The driver returned an error.
    Error(NvmlError),
    /// The driver did not respond in time.
    TimedOut,
}

/// The measurements of all GPUs, by index.
pub(super) type Samples = BTreeMap<u32, SampleResult>;

/// The client of the sampler task.
#[derive(Clone, Debug)]
pub(super) struct Sampler(mpsc::Sender<SampleRequest>);

/// The GPUs to measure, and the channel for the result.
type SampleRequest = (Vec<u32>, oneshot::Sender<(Arc<Samples>, bool)>);

/// GPUs that a thread is measuring, by index.
type BusyGpus = Arc<Mutex<BTreeSet<u32>>>;

impl Sampler {
    /// Starts the task.
    pub(super) fn start(nvml: Arc<dyn Nvml>, limit: Duration, keep: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(16);
        tokio::spawn(serve(nvml, receiver, limit, keep));
        Self(sender)
    }

    /// Returns the measurements of these GPUs, and whether they are new and not reused.
    pub(super) async fn sample_all(&self, gpus: Vec<u32>) -> (Arc<Samples>, bool) {
        let (reply, answered) = oneshot::channel();
        if self.0.send((gpus, reply)).await.is_err() {
            return (Arc::default(), false);
        }
        answered.await.unwrap_or_default()
    }
}

/// Processes requests one after the other: requests that arrive during a measurement share its result.
async fn serve(
    nvml: Arc<dyn Nvml>,
    mut questions: mpsc::Receiver<SampleRequest>,
    limit: Duration,
    keep: Duration,
) {
    let busy = BusyGpus::default();
    let mut last: Option<(Instant, Vec<u32>, Arc<Samples>)> = None;
    while let Some((gpus, reply)) = questions.recv().await {
        let cached = last
            .as_ref()
            .filter(|(at, of, _)| at.elapsed() < keep && *of == gpus);
        let round = if let Some((_, _, round)) = cached {
            (Arc::clone(round), false)
        } else {
            let round = Arc::new(measure(&nvml, &gpus, &busy, limit).await);
            last = Some((Instant::now(), gpus, Arc::clone(&round)));
            (round, true)
        };
        // The receiver may be gone.
        drop(reply.send(round));
    }
}

/// Measures all GPUs on a separate thread. A thread that hangs in the driver is abandoned, and its GPU is
/// skipped until it responds: there are never more such threads than GPUs.
async fn measure(nvml: &Arc<dyn Nvml>, gpus: &[u32], busy: &BusyGpus, limit: Duration) -> Samples {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (nvml, queried, busy) = (Arc::clone(nvml), gpus.to_vec(), Arc::clone(busy));
    let sample_all = move || {
        for gpu in queried {
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
    let mut round: Samples = gpus
        .iter()
        .map(|gpu| (*gpu, Err(MissingSample::TimedOut)))
        .collect();
    let thread = thread::Builder::new().name("nvml-sampler".to_owned());
    if thread.spawn(sample_all).is_err() {
        return round;
    }
    let deadline = Instant::now() + limit;
    while let Ok(Some((gpu, sample))) = timeout_at(deadline, receiver.recv()).await {
        round.insert(gpu, sample.map_err(MissingSample::Error));
    }
    round
}

fn lock(busy: &BusyGpus) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
    busy.lock().unwrap_or_else(PoisonError::into_inner)
}
