//! Detects driver calls that do not return, and rejects further calls of the same kind until they do.
//!
//! A call into a driver that hangs cannot be canceled. Its thread is abandoned: the caller continues without the
//! answer, and the next call for the same GPU fails at once. There are therefore never more abandoned threads than
//! GPUs, plus one for the driver and one for the links.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Condition, DriverInfo, GpuInfo, Link, Nvml, NvmlError, NvmlErrorKind, Sample, Watch};

/// What a call is about. A call that does not return blocks further calls about the same subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The driver as a whole.
    Driver,
    /// The GPU with this index.
    Gpu(u32),
    /// The links between GPUs.
    Links,
}

/// The number of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(u64);

/// A job: a sequence of calls on one thread. After an overdue call, the owner of the job no longer waits for it, and
/// its remaining calls fail.
pub struct Job {
    guard: CallGuard,
    id: JobId,
    _active: ActiveJob,
}

/// A call that has not returned in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverdueCall {
    /// The job that made the call.
    pub job: JobId,
    /// What the call is about.
    pub subject: Subject,
    /// The error that replaces the answer.
    pub error: NvmlError,
}

/// The calls in progress. Clones share them.
#[derive(Clone)]
pub struct CallGuard {
    calls: Arc<Mutex<Calls>>,
    limit: Duration,
    returned: Arc<dyn Fn(Subject) + Send + Sync>,
    jobs: JobCount,
}

/// The number of jobs whose threads have not ended. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct JobCount(Arc<AtomicUsize>);

/// Counts a job until it is dropped.
struct ActiveJob(JobCount);

#[derive(Default)]
struct Calls {
    last_job: u64,
    last_call: u64,
    /// The jobs with an overdue call.
    replaced: BTreeSet<JobId>,
    running: BTreeMap<u64, Call>,
}

struct Call {
    job: JobId,
    subject: Subject,
    question: &'static str,
    started_at: Instant,
    is_overdue: bool,
}

/// A driver whose calls belong to a job.
pub struct GuardedDriver {
    driver: Arc<dyn Nvml>,
    job: Job,
}

impl CallGuard {
    /// Creates a guard. A call that takes longer than `limit` is overdue. `returned` is called when an overdue call
    /// returns after all.
    pub fn new(limit: Duration, returned: impl Fn(Subject) + Send + Sync + 'static) -> Self {
        Self {
            calls: Arc::default(),
            limit,
            returned: Arc::new(returned),
            jobs: JobCount::default(),
        }
    }

    /// Counts the jobs with this count.
    #[must_use]
    pub fn with_job_count(self, jobs: JobCount) -> Self {
        Self { jobs, ..self }
    }

    /// Starts a job.
    pub fn start_job(&self) -> Job {
        let mut calls = self.lock();
        calls.last_job += 1;
        Job {
            id: JobId(calls.last_job),
            guard: self.clone(),
            _active: ActiveJob::new(&self.jobs),
        }
    }

    fn call<T>(
        &self,
        job: JobId,
        subject: Subject,
        question: &'static str,
        call: impl FnOnce() -> Result<T, NvmlError>,
    ) -> Result<T, NvmlError> {
        let id = {
            let mut calls = self.lock();
            let mut running = calls.running.values();
            let blocking = running.find(|call| call.is_overdue && call.subject == subject);
            if let Some(blocking) = blocking {
                return Err(blocking.timeout_error(self.limit));
            }
            if calls.replaced.contains(&job) {
                return Err(NvmlError {
                    kind: NvmlErrorKind::TimedOut,
                    message: format!("{subject}: an earlier call was overdue"),
                });
            }
            calls.last_call += 1;
            let id = calls.last_call;
            let running = Call {
                job,
                subject,
                question,
                started_at: Instant::now(),
                is_overdue: false,
            };
            calls.running.insert(id, running);
            id
        };
        // Also removes the call if it panics.
        let entry = RunningEntry { guard: self, id };
        let answer = call();
        match entry.finish() {
            Some(error) => Err(error),
            None => answer,
        }
    }

    /// Returns the calls that have become overdue since the last time. Each is returned once.
    pub fn take_overdue(&self) -> Vec<OverdueCall> {
        let limit = self.limit;
        let Calls {
            running, replaced, ..
        } = &mut *self.lock();
        let late = running.values_mut();
        let late = late.filter(|call| !call.is_overdue && call.started_at.elapsed() >= limit);
        late.map(|call| {
            call.is_overdue = true;
            replaced.insert(call.job);
            OverdueCall {
                job: call.job,
                subject: call.subject,
                error: call.timeout_error(limit),
            }
        })
        .collect()
    }

    /// Returns when the next of the calls in progress becomes overdue.
    pub fn next_check(&self) -> Option<Instant> {
        let calls = self.lock();
        let waiting = calls.running.values().filter(|call| !call.is_overdue);
        waiting.map(|call| call.started_at + self.limit).min()
    }

    /// The time after which a call is overdue.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns the overdue calls that have not returned yet, as messages.
    pub fn overdue(&self) -> Vec<String> {
        let calls = self.lock();
        let overdue = calls.running.values().filter(|call| call.is_overdue);
        overdue
            .map(|call| call.timeout_error(self.limit).message)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobCount {
    /// Returns the number.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl ActiveJob {
    fn new(count: &JobCount) -> Self {
        count.0.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for ActiveJob {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Job {
    /// The number of the job.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Makes a call.
    ///
    /// # Errors
    ///
    /// The error of the call, or [`NvmlErrorKind::TimedOut`] if this or an earlier call of the job was overdue, or if
    /// another call about the subject has not returned.
    pub fn call<T>(
        &self,
        subject: Subject,
        question: &'static str,
        call: impl FnOnce() -> Result<T, NvmlError>,
    ) -> Result<T, NvmlError> {
        self.guard.call(self.id, subject, question, call)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.guard.lock().replaced.remove(&self.id);
    }
}

/// The entry of a call in progress, removed on drop.
struct RunningEntry<'g> {
    guard: &'g CallGuard,
    id: u64,
}

impl RunningEntry<'_> {
    /// Removes the entry. Returns the error that the caller has already received, if the call was overdue.
    fn finish(self) -> Option<NvmlError> {
        self.remove()
    }

    fn remove(&self) -> Option<NvmlError> {
        let call = self.guard.lock().running.remove(&self.id)?;
        call.is_overdue.then(|| {
            (self.guard.returned)(call.subject);
            call.timeout_error(self.guard.limit)
        })
    }
}

impl Drop for RunningEntry<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Call {
    /// Returns the error that replaces the answer. The text is constant while the call hangs.
    fn timeout_error(&self, limit: Duration) -> NvmlError {
        NvmlError {
            kind: NvmlErrorKind::TimedOut,
            message: format!(
                "{}: the driver has not answered within {limit:?} ({})",
                self.subject, self.question
            ),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver => f.write_str("driver"),
            Self::Gpu(index) => write!(f, "GPU {index}"),
            Self::Links => f.write_str("links between GPUs"),
        }
    }
}

impl GuardedDriver {
    /// Creates a driver whose calls belong to this job.
    pub fn new(driver: Arc<dyn Nvml>, job: Job) -> Self {
        Self { driver, job }
    }

    fn call<T>(
        &self,
        subject: Subject,
        question: &'static str,
        call: impl FnOnce(&dyn Nvml) -> Result<T, NvmlError>,
    ) -> Result<T, NvmlError> {
        self.job.call(subject, question, || call(&*self.driver))
    }
}

impl Nvml for GuardedDriver {
    fn driver(&self) -> Result<DriverInfo, NvmlError> {
        self.call(Subject::Driver, "version", |driver| driver.driver())
    }

    fn gpu_count(&self) -> Result<u32, NvmlError> {
        self.call(Subject::Driver, "GPU count", |driver| driver.gpu_count())
    }

    fn gpu(&self, index: u32) -> Result<GpuInfo, NvmlError> {
        self.call(Subject::Gpu(index), "properties", |driver| {
            driver.gpu(index)
        })
    }

    fn link(&self, one: u32, other: u32) -> Result<Link, NvmlError> {
        self.call(Subject::Links, "links", |driver| driver.link(one, other))
    }

    fn condition(&self, index: u32) -> Result<Condition, NvmlError> {
        self.call(Subject::Gpu(index), "condition", |driver| {
            driver.condition(index)
        })
    }

    fn sample(&self, index: u32) -> Result<Sample, NvmlError> {
        self.call(Subject::Gpu(index), "measurement", |driver| {
            driver.sample(index)
        })
    }

    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError> {
        self.driver.watch()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(20);

    fn guard() -> (CallGuard, mpsc::Receiver<Subject>) {
        let (sender, returned) = mpsc::channel();
        let guard = CallGuard::new(LIMIT, move |subject| {
            // The test has ended.
            let _ = sender.send(subject);
        });
        (guard, returned)
    }

    /// A call that returns when the sender is dropped.
    fn hang(
        guard: &CallGuard,
        subject: Subject,
    ) -> (
        Arc<Job>,
        mpsc::Sender<()>,
        thread::JoinHandle<Result<(), NvmlError>>,
    ) {
        let (release, released) = mpsc::channel::<()>();
        let job = Arc::new(guard.start_job());
        let calling = Arc::clone(&job);
        let thread = thread::spawn(move || {
            calling.call(subject, "test", || {
                // An error: the sender was dropped.
                let _ = released.recv();
                Ok(())
            })
        });
        while guard.next_check().is_none() {
            thread::yield_now();
        }
        (job, release, thread)
    }

    #[test]
    fn overdue_call_blocks_its_subject_until_it_returns() {
        let (guard, returned) = guard();
        let (job, release, thread) = hang(&guard, Subject::Gpu(3));
        assert_eq!(guard.take_overdue(), []);
        thread::sleep(LIMIT * 2);
        let overdue = guard.take_overdue();
        assert_eq!(overdue.len(), 1);
        assert_eq!(
            (overdue[0].job, overdue[0].subject),
            (job.id(), Subject::Gpu(3))
        );
        assert!(
            overdue[0].error.message.starts_with("GPU 3: "),
            "{overdue:?}"
        );
        assert_eq!(guard.take_overdue(), [], "each call is returned once");
        assert_eq!(guard.next_check(), None);
        let ask = |job: &Job, subject| job.call(subject, "test", || Ok(7));
        let other = guard.start_job();
        let error = ask(&other, Subject::Gpu(3)).unwrap_err();
        assert_eq!(error.kind, NvmlErrorKind::TimedOut);
        assert_eq!(ask(&other, Subject::Gpu(2)), Ok(7));
        assert!(ask(&job, Subject::Gpu(2)).is_err(), "the job was replaced");
        assert_eq!(guard.overdue().len(), 1);
        drop(release);
        let answer = thread.join().expect("no panic");
        assert_eq!(answer.unwrap_err().kind, NvmlErrorKind::TimedOut);
        assert_eq!(returned.recv(), Ok(Subject::Gpu(3)));
        assert_eq!(ask(&other, Subject::Gpu(3)), Ok(7));
        assert!(
            ask(&job, Subject::Gpu(3)).is_err(),
            "the job stays replaced"
        );
        assert!(guard.overdue().is_empty());
        drop(job);
        assert!(guard.lock().replaced.is_empty());
    }

    #[test]
    fn call_that_returns_in_time_is_not_reported() {
        let (guard, returned) = guard();
        let (_, release, thread) = hang(&guard, Subject::Driver);
        drop(release);
        assert_eq!(thread.join().expect("no panic"), Ok(()));
        thread::sleep(LIMIT * 2);
        assert_eq!(guard.take_overdue(), []);
        assert!(returned.try_recv().is_err());
    }

    #[test]
    fn panic_of_a_call_does_not_block_its_subject() {
        let (guard, _returned) = guard();
        let job = guard.start_job();
        let thread = thread::spawn(move || {
            job.call(Subject::Driver, "test", || -> Result<(), NvmlError> {
                panic!("a bug")
            })
        });
        assert!(thread.join().is_err());
        assert_eq!(guard.next_check(), None);
    }
}
