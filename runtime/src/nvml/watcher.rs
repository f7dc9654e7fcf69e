//! Monitors the driver: one thread that waits for events, forwards them, and restarts after failures.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::Handle;

use super::reports::ReportSender;
use super::{Nvml, NvmlError, Watch};
use crate::health::WatchReport;

/// Timeout of one wait for an event: the only wake-up of an idle daemon, and the maximum lifetime of a watcher
/// after its handle is dropped. NVIDIA's plugin uses the same value.
pub const EVENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Delay before the first retry. Each further retry doubles it.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Maximum delay before a retry.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// A running watcher. Dropping it signals the thread to end without waiting: the thread ends with its current
/// wait, after [`EVENT_TIMEOUT`] at the latest, or at once while it pauses after a failure.
#[derive(Debug)]
pub struct WatcherHandle {
    stop: Arc<StopFlag>,
    thread: Option<JoinHandle<()>>,
}

/// A flag with which a thread can sleep interruptibly.
#[derive(Debug, Default)]
struct StopFlag {
    requested: Mutex<bool>,
    changed: Condvar,
}

/// Starts a thread that subscribes to driver events and reports them until the handle or the receiver is dropped.
///
/// # Errors
///
/// The system cannot create a thread.
pub fn spawn(nvml: Arc<dyn Nvml>, sender: ReportSender) -> io::Result<WatcherHandle> {
    spawn_with(nvml, sender, EVENT_TIMEOUT)
}

/// [`spawn`] with another timeout than [`EVENT_TIMEOUT`].
///
/// # Errors
///
/// The system cannot create a thread.
pub fn spawn_with(
    nvml: Arc<dyn Nvml>,
    sender: ReportSender,
    wait: Duration,
) -> io::Result<WatcherHandle> {
    let stop = Arc::new(StopFlag::default());
    let changed = Arc::clone(&stop);
    let runtime = Handle::try_current().ok();
    let thread = thread::Builder::new()
        .name("nvml-watcher".to_owned())
        .spawn(move || {
            // The clock of tests belongs to the runtime.
            let _context = runtime.as_ref().map(Handle::enter);
            run(&*nvml, &sender, &changed, wait);
        })?;
    Ok(WatcherHandle {
        stop,
        thread: Some(thread),
    })
}

impl WatcherHandle {
    /// Signals the thread to end and waits for it, at most [`EVENT_TIMEOUT`] unless the driver hangs.
    pub fn join(mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a panic.
            drop(thread.join());
        }
    }

    /// Whether the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for WatcherHandle {
    fn drop(&mut self) {
        self.stop.request();
    }
}

impl StopFlag {
    fn request(&self) {
        *self
            .requested
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn is_requested(&self) -> bool {
        *self
            .requested
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps for `time`, or until the thread must end.
    fn sleep(&self, time: Duration) {
        let wanted = self
            .requested
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        drop(
            self.changed
                .wait_timeout_while(wanted, time, |wanted| !*wanted),
        );
    }
}

/// Subscribes, forwards events, and restarts after failures. A subscription that worked for a while resets the
/// delay.
fn run(nvml: &dyn Nvml, sender: &ReportSender, stop: &StopFlag, wait: Duration) {
    let mut pause = MIN_RETRY_DELAY;
    loop {
        let error = match sender.while_in_driver(|| nvml.watch()) {
            Ok(mut watch) => match forward_events(&mut *watch, sender, stop, wait, &mut pause) {
                Some(error) => error,
                None => return,
            },
            Err(error) => error,
        };
        // Another watcher may be running by now without a failure.
        if stop.is_requested() {
            return;
        }
        if sender.send(WatchReport::Failed(error)).is_err() {
            return;
        }
        stop.sleep(pause);
        pause = (pause * 2).min(MAX_RETRY_DELAY);
        if stop.is_requested() || sender.is_closed() {
            return;
        }
    }
}

/// Forwards events until a wait fails; returns `None` if the thread must end.
fn forward_events(
    watch: &mut dyn Watch,
    sender: &ReportSender,
    stop: &StopFlag,
    wait: Duration,
    pause: &mut Duration,
) -> Option<NvmlError> {
    let started = WatchReport::Started {
        watched: watch.watched().to_vec(),
        unwatched: watch.unwatched().to_vec(),
    };
    sender.send(started).ok()?;
    loop {
        if stop.is_requested() || sender.is_closed() {
            return None;
        }
        match sender.while_in_driver(|| watch.next(wait)) {
            Ok(event) => {
                *pause = MIN_RETRY_DELAY;
                if let Some(event) = event {
                    sender.send(WatchReport::Event(event)).ok()?;
                }
            }
            Err(error) => return Some(error),
        }
    }
}
