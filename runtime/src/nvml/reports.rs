//! A bounded queue of the reports of a watcher. Equal reports are merged, so that a GPU that reports thousands of
//! errors per second neither fills the memory nor delays the errors of other GPUs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::health::WatchReport;

/// Maximum number of different reports in the queue. An HGX machine has eight GPUs, and NVIDIA's catalog has some 150
/// Xids; a GPU in trouble reports a handful of them.
pub const CAPACITY: usize = 256;

/// A report, and how often it occurred.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedReport {
    /// The report.
    pub report: WatchReport,
    /// The number of occurrences; 1 except for events.
    pub count: u64,
}

/// The sender: the thread of a watcher.
#[derive(Debug)]
pub struct ReportSender(Arc<Shared>);

/// The receiver. Dropping it ends the watcher.
#[derive(Debug)]
pub struct ReportReceiver(Arc<Shared>);

/// The receiver was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverDropped;

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Debug)]
struct Queue {
    reports: VecDeque<CountedReport>,
    /// Events that did not fit.
    dropped: u64,
    /// Since when the sender has been waiting for the driver; `None` while it does not call the driver.
    in_driver_since: Option<Instant>,
    is_sender_gone: bool,
    is_receiver_gone: bool,
}

/// Creates a queue.
pub fn report_queue() -> (ReportSender, ReportReceiver) {
    let shared = Arc::new(Shared {
        queue: Mutex::new(Queue {
            reports: VecDeque::new(),
            dropped: 0,
            in_driver_since: None,
            is_sender_gone: false,
            is_receiver_gone: false,
        }),
        changed: Notify::new(),
    });
    (ReportSender(Arc::clone(&shared)), ReportReceiver(shared))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReportSender {
    /// Adds a report, or increases the count of an equal event.
    ///
    /// # Errors
    ///
    /// The receiver was dropped.
    pub fn send(&self, report: WatchReport) -> Result<(), ReceiverDropped> {
        {
            let mut queue = self.0.lock();
            if queue.is_receiver_gone {
                return Err(ReceiverDropped);
            }
            queue.add(report);
        }
        self.0.changed.notify_one();
        Ok(())
    }

    /// Whether the receiver was dropped.
    pub fn is_closed(&self) -> bool {
        self.0.lock().is_receiver_gone
    }

    /// Makes a driver call, so that the receiver can see how long it takes.
    pub fn while_in_driver<T>(&self, call: impl FnOnce() -> T) -> T {
        self.0.lock().in_driver_since = Some(Instant::now());
        let answer = call();
        self.0.lock().in_driver_since = None;
        answer
    }
}

impl Drop for ReportSender {
    fn drop(&mut self) {
        self.0.lock().is_sender_gone = true;
        self.0.changed.notify_one();
    }
}

impl ReportReceiver {
    /// Waits for the next report; `None` after the watcher has ended.
    pub async fn recv(&mut self) -> Option<CountedReport> {
        loop {
            // Registered before the queue is read, so that no report is missed.
            let changed = self.0.changed.notified();
            {
                let mut queue = self.0.lock();
                if let Some(report) = queue.take() {
                    return Some(report);
                }
                if queue.is_sender_gone {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Returns the next report, if there is one.
    pub fn try_recv(&mut self) -> Option<CountedReport> {
        self.0.lock().take()
    }

    /// Whether the watcher has ended.
    pub fn is_closed(&self) -> bool {
        self.0.lock().is_sender_gone
    }

    /// Returns how long the current driver call of the watcher has been taking.
    pub fn time_in_driver(&self) -> Option<Duration> {
        let since = self.0.lock().in_driver_since?;
        Some(since.elapsed())
    }
}

impl Drop for ReportReceiver {
    fn drop(&mut self) {
        self.0.lock().is_receiver_gone = true;
    }
}

impl Queue {
    fn add(&mut self, report: WatchReport) {
        let is_event = matches!(report, WatchReport::Event(_));
        let is_full = self.reports.len() >= CAPACITY;
        // Events are merged only among those after the last change of the subscription, which remain in order.
        let mut recent = self.reports.iter_mut().rev();
        let same = if is_event {
            recent
                .take_while(|queued| matches!(queued.report, WatchReport::Event(_)))
                .find(|queued| queued.report == report)
        } else {
            recent.next().filter(|queued| queued.report == report)
        };
        match same {
            Some(queued) => queued.count = queued.count.saturating_add(1),
            None if is_event && is_full => {
                self.dropped = self.dropped.saturating_add(1);
            }
            None => self.reports.push_back(CountedReport { report, count: 1 }),
        }
    }

    fn take(&mut self) -> Option<CountedReport> {
        if let Some(report) = self.reports.pop_front() {
            return Some(report);
        }
        let count = std::mem::take(&mut self.dropped);
        (count > 0).then_some(CountedReport {
            report: WatchReport::Dropped,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvml::{NvmlError, NvmlErrorKind, NvmlEvent, NvmlEventKind};

    fn xid(gpu: u32, xid: u64) -> WatchReport {
        WatchReport::Event(NvmlEvent {
            gpu: Some(gpu),
            kind: NvmlEventKind::Xid {
                xid,
                instance: None,
            },
        })
    }

    fn failure() -> WatchReport {
        WatchReport::Failed(NvmlError {
            kind: NvmlErrorKind::Other,
            message: "failed".to_owned(),
        })
    }

    fn drain(receiver: &mut ReportReceiver) -> Vec<(WatchReport, u64)> {
        std::iter::from_fn(|| receiver.try_recv())
            .map(|queued| (queued.report, queued.count))
            .collect()
    }

    #[test]
    fn equal_events_are_merged() {
        let (sender, mut receiver) = report_queue();
        for _ in 0..50_000 {
            sender.send(xid(6, 94)).unwrap();
        }
        sender.send(xid(2, 79)).unwrap();
        sender.send(failure()).unwrap();
        sender.send(xid(6, 94)).unwrap();
        let expected = [
            (xid(6, 94), 50_000),
            (xid(2, 79), 1),
            (failure(), 1),
            (xid(6, 94), 1),
        ];
        assert_eq!(drain(&mut receiver), expected);
    }

    #[test]
    fn different_events_are_bounded() {
        let (sender, mut receiver) = report_queue();
        for number in 0..1_000 {
            sender.send(xid(0, number)).unwrap();
            sender.send(xid(0, 0)).unwrap();
        }
        sender.send(failure()).unwrap();
        let reports = drain(&mut receiver);
        assert_eq!(reports.len(), CAPACITY + 2);
        assert_eq!(reports[0], (xid(0, 0), 1_001));
        assert_eq!(reports[CAPACITY], (failure(), 1));
        assert_eq!(reports[CAPACITY + 1], (WatchReport::Dropped, 1_000 - 256));
        assert_eq!(drain(&mut receiver), []);
    }

    #[tokio::test]
    async fn receiver_waits_and_sees_the_end() {
        let (sender, mut receiver) = report_queue();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            sender.send(failure()).unwrap();
        });
        assert_eq!(receiver.recv().await.unwrap().report, failure());
        assert_eq!(receiver.recv().await, None);
        assert!(receiver.is_closed());
        thread.join().expect("no panic");
    }

    #[test]
    fn time_in_driver_is_measured_during_calls_only() {
        let (sender, receiver) = report_queue();
        assert_eq!(receiver.time_in_driver(), None);
        sender.while_in_driver(|| {
            std::thread::sleep(Duration::from_millis(5));
            assert!(receiver.time_in_driver() >= Some(Duration::from_millis(5)));
        });
        assert_eq!(receiver.time_in_driver(), None);
        drop(receiver);
        assert!(sender.is_closed());
        assert_eq!(sender.send(failure()), Err(ReceiverDropped));
    }
}
