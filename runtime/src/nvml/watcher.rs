//! Watches the driver: one thread that waits for events, passes them on, and starts over where that fails.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::{Nvml, NvmlError, Watch};
use crate::health::WatchReport;

/// How long one wait for an event lasts: the only thing that wakes an idle daemon, and the longest that a watcher lives
/// on after its handle is gone. NVIDIA's plugin waits as long.
pub const WAIT: Duration = Duration::from_secs(5);

/// How long the first try after a failure is put off. Each further one waits twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// How long a try is put off at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A watcher at work. Dropping it tells the thread to end and does not wait for that: the thread ends when the wait it
/// is in does, after [`WAIT`] at the latest, and at once while it pauses after a failure.
#[derive(Debug)]
pub struct Handle {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// A flag that a thread can sleep on.
#[derive(Debug, Default)]
struct Stop {
    wanted: Mutex<bool>,
    told: Condvar,
}

/// Starts a thread that subscribes to the driver's events and reports what it sees until the handle is dropped or
/// nobody listens any more.
///
/// # Errors
///
/// The system has no room for a thread.
pub fn spawn(nvml: Arc<dyn Nvml>, sender: UnboundedSender<WatchReport>) -> io::Result<Handle> {
    spawn_with(nvml, sender, WAIT)
}

/// [`spawn`] with another time than [`WAIT`].
///
/// # Errors
///
/// The system has no room for a thread.
pub fn spawn_with(
    nvml: Arc<dyn Nvml>,
    sender: UnboundedSender<WatchReport>,
    wait: Duration,
) -> io::Result<Handle> {
    let stop = Arc::new(Stop::default());
    let told = Arc::clone(&stop);
    let thread = thread::Builder::new()
        .name("nvml-watcher".to_owned())
        .spawn(move || run(&*nvml, &sender, &told, wait))?;
    Ok(Handle {
        stop,
        thread: Some(thread),
    })
}

impl Handle {
    /// Tells the thread to end and waits until it has, [`WAIT`] at the longest unless the driver hangs.
    pub fn join(mut self) {
        self.stop.tell();
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the hook when it happened.
            drop(thread.join());
        }
    }

    /// Whether the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop.tell();
    }
}

impl Stop {
    fn tell(&self) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }

    fn is_wanted(&self) -> bool {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps; less long where the end is wanted.
    fn sleep(&self, time: Duration) {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.told
                .wait_timeout_while(wanted, time, |wanted| !*wanted),
        );
    }
}

/// Subscribes, passes on, and starts over after failures. A subscription that worked for a while is a success: the
/// pause after it is short again.
fn run(nvml: &dyn Nvml, sender: &UnboundedSender<WatchReport>, stop: &Stop, wait: Duration) {
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match nvml.watch() {
            Ok(mut watch) => match follow(&mut *watch, sender, stop, wait, &mut pause) {
                Some(error) => error,
                None => return,
            },
            Err(error) => error,
        };
        // Another watcher may be at work by now, which does not fail.
        if stop.is_wanted() {
            return;
        }
        if sender.send(WatchReport::Failed(error)).is_err() {
            return;
        }
        stop.sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
        if stop.is_wanted() || sender.is_closed() {
            return;
        }
    }
}

/// Passes events on until waiting fails; nothing when the end is wanted.
fn follow(
    watch: &mut dyn Watch,
    sender: &UnboundedSender<WatchReport>,
    stop: &Stop,
    wait: Duration,
    pause: &mut Duration,
) -> Option<NvmlError> {
    let unwatched = watch.unwatched().to_vec();
    sender.send(WatchReport::Started { unwatched }).ok()?;
    loop {
        if stop.is_wanted() || sender.is_closed() {
            return None;
        }
        match watch.next(wait) {
            Ok(event) => {
                *pause = FIRST_PAUSE;
                if let Some(event) = event {
                    sender.send(WatchReport::Event(event)).ok()?;
                }
            }
            Err(error) => return Some(error),
        }
    }
}
