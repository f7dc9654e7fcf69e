//! The thread that receives the driver's events, with a driver that returns scripted results.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use gpuc_runtime::health::WatchReport;
use gpuc_runtime::nvml::reports::{ReportReceiver, report_queue};
use gpuc_runtime::nvml::watcher::{WatcherHandle, spawn_with};
use gpuc_runtime::nvml::{
    Condition, DriverInfo, GpuInfo, Link, Nvml, NvmlError, NvmlErrorKind, NvmlEvent, NvmlEventKind,
    Sample, Watch,
};

use crate::machine::nvml_error;

/// Ends a test that hangs. Every operation here takes less time.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of one subscription: the GPUs that it does not watch, and the result of each wait. After the last result,
/// waits time out.
type Script = Result<(Vec<u32>, Vec<Result<NvmlEvent, NvmlError>>), NvmlError>;

#[derive(Default)]
struct ScriptedDriver {
    scripts: Mutex<VecDeque<Script>>,
    subscriptions: AtomicUsize,
    /// Whether a wait without an event fails instead of timing out.
    late_failure: bool,
}

struct ScriptedSubscription {
    unwatched: Vec<(u32, NvmlError)>,
    answers: VecDeque<Result<NvmlEvent, NvmlError>>,
    late_failure: bool,
}

fn failure() -> NvmlError {
    nvml_error(NvmlErrorKind::Other, "nvmlEventSetWait: unknown error")
}

fn event(gpu: u32) -> NvmlEvent {
    NvmlEvent {
        gpu: Some(gpu),
        kind: NvmlEventKind::SingleBitEcc,
    }
}

impl Nvml for ScriptedDriver {
    fn driver(&self) -> Result<DriverInfo, NvmlError> {
        Err(failure())
    }
    fn gpu_count(&self) -> Result<u32, NvmlError> {
        Err(failure())
    }
    fn gpu(&self, _: u32) -> Result<GpuInfo, NvmlError> {
        Err(failure())
    }
    fn link(&self, _: u32, _: u32) -> Result<Link, NvmlError> {
        Err(failure())
    }
    fn condition(&self, _: u32) -> Result<Condition, NvmlError> {
        Err(failure())
    }
    fn sample(&self, _: u32) -> Result<Sample, NvmlError> {
        Err(failure())
    }
    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError> {
        self.subscriptions.fetch_add(1, Ordering::SeqCst);
        let script = self.scripts.lock().expect("no test panicked").pop_front();
        let (unwatched, answers) = script.unwrap_or(Ok((Vec::new(), Vec::new())))?;
        let unwatched = unwatched.into_iter().map(|gpu| (gpu, failure()));
        Ok(Box::new(ScriptedSubscription {
            unwatched: unwatched.collect(),
            answers: answers.into(),
            late_failure: self.late_failure,
        }))
    }
}

impl Watch for ScriptedSubscription {
    fn watched(&self) -> &[(u32, String)] {
        &[]
    }
    fn unwatched(&self) -> &[(u32, NvmlError)] {
        &self.unwatched
    }
    fn next(&mut self, timeout: Duration) -> Result<Option<NvmlEvent>, NvmlError> {
        if let Some(answer) = self.answers.pop_front() {
            return answer.map(Some);
        }
        thread::sleep(timeout);
        if self.late_failure {
            return Err(failure());
        }
        Ok(None)
    }
}

fn start_watcher(scripts: Vec<Script>) -> (WatcherHandle, ReportReceiver, Arc<ScriptedDriver>) {
    let driver = Arc::new(ScriptedDriver {
        scripts: Mutex::new(scripts.into()),
        ..ScriptedDriver::default()
    });
    let (sender, receiver) = report_queue();
    let nvml: Arc<dyn Nvml> = driver.clone();
    let handle = spawn_with(nvml, sender, Duration::from_millis(50)).expect("the thread starts");
    (handle, receiver, driver)
}

/// Waits for the next report.
fn next_report(receiver: &mut ReportReceiver) -> WatchReport {
    let start = Instant::now();
    loop {
        match receiver.try_recv() {
            Some(counted) => return counted.report,
            None if start.elapsed() < TEST_TIMEOUT => thread::sleep(Duration::from_millis(2)),
            None => panic!("no report"),
        }
    }
}

fn started_report() -> WatchReport {
    WatchReport::Started {
        watched: Vec::new(),
        unwatched: Vec::new(),
    }
}

#[test]
fn events_are_passed_on_in_order() {
    let (_handle, mut receiver, driver) =
        start_watcher(vec![Ok((vec![], vec![Ok(event(1)), Ok(event(2))]))]);
    assert_eq!(next_report(&mut receiver), started_report());
    assert_eq!(next_report(&mut receiver), WatchReport::Event(event(1)));
    assert_eq!(next_report(&mut receiver), WatchReport::Event(event(2)));
    assert_eq!(driver.subscriptions.load(Ordering::SeqCst), 1);
}

#[test]
fn unmonitored_gpus_are_reported() {
    let (_handle, mut receiver, _) = start_watcher(vec![Ok((vec![6], vec![]))]);
    let unwatched = vec![(6, failure())];
    assert_eq!(
        next_report(&mut receiver),
        WatchReport::Started {
            watched: Vec::new(),
            unwatched
        }
    );
}

#[test]
fn failed_wait_restarts_the_subscription() {
    let (_handle, mut receiver, driver) = start_watcher(vec![
        Ok((vec![], vec![Ok(event(1)), Err(failure())])),
        Err(failure()),
        Ok((vec![], vec![Ok(event(2))])),
    ]);
    assert_eq!(next_report(&mut receiver), started_report());
    assert_eq!(next_report(&mut receiver), WatchReport::Event(event(1)));
    assert_eq!(next_report(&mut receiver), WatchReport::Failed(failure()));
    assert_eq!(next_report(&mut receiver), WatchReport::Failed(failure()));
    assert_eq!(next_report(&mut receiver), started_report());
    assert_eq!(next_report(&mut receiver), WatchReport::Event(event(2)));
    assert_eq!(driver.subscriptions.load(Ordering::SeqCst), 3);
}

/// A driver that fails immediately must not keep a processor busy. Within 1.6 s, the watcher retries after 0.1, 0.3,
/// 0.7 and 1.5 s. The next delay is 1.6 s, and the watcher ends without waiting for it.
#[test]
fn retries_back_off() {
    let scripts = (0..1_000).map(|_| Err(failure())).collect();
    let (handle, _receiver, driver) = start_watcher(scripts);
    thread::sleep(Duration::from_millis(1_600));
    let attempts = driver.subscriptions.load(Ordering::SeqCst);
    assert!((2..=5).contains(&attempts), "{attempts}");
    let start = Instant::now();
    handle.join();
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "the end waits for the delay"
    );
}

#[test]
fn dropped_handle_ends_the_thread() {
    let (handle, mut receiver, _) = start_watcher(vec![]);
    assert_eq!(next_report(&mut receiver), started_report());
    drop(handle);
    let start = Instant::now();
    while !receiver.is_closed() {
        assert!(
            start.elapsed() < TEST_TIMEOUT,
            "the thread is still running"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn thread_ends_without_receiver() {
    let (handle, receiver, _) = start_watcher(vec![]);
    drop(receiver);
    let start = Instant::now();
    while !handle.is_finished() {
        assert!(
            start.elapsed() < TEST_TIMEOUT,
            "the thread is still running"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// A stopped watcher must not report a failure, because its successor is already running.
#[test]
fn dropped_watcher_reports_no_failure() {
    let driver = Arc::new(ScriptedDriver {
        late_failure: true,
        ..ScriptedDriver::default()
    });
    let (sender, mut receiver) = report_queue();
    let nvml: Arc<dyn Nvml> = driver;
    let handle = spawn_with(nvml, sender, Duration::from_millis(200)).expect("the thread starts");
    assert_eq!(next_report(&mut receiver), started_report());
    handle.join();
    assert_eq!(receiver.try_recv(), None);
}
