//! Measures GPUs without ever waiting for a driver that hangs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::nvml::{Nvml, NvmlError, Sample};

/// How long a round may take. Prometheus waits 10 s for all of a scrape.
pub const LIMIT: Duration = Duration::from_secs(3);

/// How long a round stands for those who ask after it.
pub const KEEP: Duration = Duration::from_secs(1);

/// What one GPU answered, or why it did not.
pub(super) type Answer = Result<Sample, Missing>;

/// Why there are no numbers of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Missing {
    /// The driver says why.
    Error(NvmlError),
    /// The driver says nothing.
    Late,
}

/// One look at all GPUs, by index.
pub(super) type Round = BTreeMap<u32, Answer>;

/// The way to the task that measures.
#[derive(Clone, Debug)]
pub(super) struct Sampler(mpsc::Sender<Question>);

/// Which GPUs, and where the answer goes.
type Question = (Vec<u32>, oneshot::Sender<(Arc<Round>, bool)>);

/// GPUs that a thread is asking right now, by index.
type Busy = Arc<Mutex<BTreeSet<u32>>>;

impl Sampler {
    /// Starts the task.
    pub(super) fn start(nvml: Arc<dyn Nvml>, limit: Duration, keep: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(16);
        tokio::spawn(serve(nvml, receiver, limit, keep));
        Self(sender)
    }

    /// The numbers of these GPUs, and whether they were measured for this question and not a moment ago for another.
    pub(super) async fn round(&self, gpus: Vec<u32>) -> (Arc<Round>, bool) {
        let (answer, answered) = oneshot::channel();
        if self.0.send((gpus, answer)).await.is_err() {
            return (Arc::default(), false);
        }
        answered.await.unwrap_or_default()
    }
}

/// Answers one question after the other: those that came while the first was measured get the same numbers.
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
        // Whoever asked may have gone away.
        drop(answer.send(round));
    }
}

/// Asks GPU after GPU on a thread of its own. A thread that the driver does not let go is left behind, and the GPU that
/// it asks about is not asked again before it answered: there are never more such threads than GPUs.
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
    let mut round: Round = gpus.iter().map(|gpu| (*gpu, Err(Missing::Late))).collect();
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
