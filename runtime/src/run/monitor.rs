//! The monitoring of driver events: one subscription, renewed when it does not cover the GPUs, and replaced when the
//! driver hangs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::device::{Gpu, Inventory};
use crate::health::WatchReport;
use crate::nvml::reports::{CountedReport, ReportReceiver, report_queue};
use crate::nvml::watcher::{self, EVENT_TIMEOUT, WatcherHandle};
use crate::nvml::{Nvml, NvmlError, NvmlErrorKind};

/// Delay before a subscription that does not cover all GPUs is renewed: initial and maximum. It doubles with each
/// renewal until one covers them.
const RENEWAL_DELAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_mins(10));

/// Maximum number of watchers that do not return from the driver. Beyond it, no other is started.
const MAX_HUNG_WATCHERS: usize = 2;

/// The subscription to driver events.
pub(super) struct Monitor {
    current: Option<Subscription>,
    /// The subscription that `current` renews, until that one receives events: no event is missed in between.
    previous: Option<Subscription>,
    hung: Vec<WatcherHandle>,
    is_wanted: bool,
    renew_at: Option<Instant>,
    renewal_delay: Duration,
}

/// A report of the monitoring.
pub(super) struct MonitorReport {
    /// The report. The index in an event is that of the time of the subscription.
    pub(super) counted: CountedReport,
    /// The UUID of the GPU that an event refers to.
    pub(super) uuid: Option<String>,
}

/// A running watcher.
struct Subscription {
    handle: WatcherHandle,
    reports: ReportReceiver,
    is_started: bool,
    /// The UUIDs of the monitored GPUs, by index at the time of the subscription.
    watched: BTreeMap<u32, String>,
    /// The GPUs without support for events, by index. Renewing the subscription does not help them.
    unsupported: BTreeSet<u32>,
}

impl Monitor {
    pub(super) fn new() -> Self {
        Self {
            current: None,
            previous: None,
            hung: Vec::new(),
            is_wanted: false,
            renew_at: None,
            renewal_delay: RENEWAL_DELAY.0,
        }
    }

    /// Starts the monitoring, or renews it.
    pub(super) fn start(&mut self, nvml: &Arc<dyn Nvml>) -> io::Result<()> {
        self.is_wanted = true;
        self.renew_at = None;
        let (sender, reports) = report_queue();
        let handle = watcher::spawn(Arc::clone(nvml), sender)?;
        let replaced = self.current.replace(Subscription {
            handle,
            reports,
            is_started: false,
            watched: BTreeMap::new(),
            unsupported: BTreeSet::new(),
        });
        if let Some(replaced) = replaced.filter(|replaced| replaced.is_started) {
            self.previous = Some(replaced);
        }
        Ok(())
    }

    /// Ends the monitoring. Returns whether it was running.
    pub(super) fn stop(&mut self) -> bool {
        self.is_wanted = false;
        self.previous = None;
        self.renew_at = None;
        self.renewal_delay = RENEWAL_DELAY.0;
        self.current.take().is_some()
    }

    /// Waits for the next report, indefinitely while the monitoring is off.
    pub(super) async fn next_report(&mut self) -> MonitorReport {
        loop {
            let Self {
                current, previous, ..
            } = self;
            tokio::select! {
                counted = receive(previous) => match counted {
                    Some(counted) if is_event(&counted.report) => {
                        return report(previous.as_ref(), counted);
                    }
                    // It ended or failed, which its successor makes irrelevant.
                    _ => *previous = None,
                },
                counted = receive(current) => match counted {
                    Some(counted) => {
                        if let WatchReport::Started { watched, unwatched } = &counted.report {
                            *previous = None;
                            if let Some(current) = current {
                                current.record_start(watched, unwatched);
                            }
                        }
                        return report(current.as_ref(), counted);
                    }
                    None => *current = None,
                },
            }
        }
    }

    /// Schedules a renewal if the subscription does not cover the GPUs: one that was not ready, was added, or has
    /// another index now.
    pub(super) fn compare(&mut self, inventory: &Inventory) {
        let Some(current) = self.current.as_ref().filter(|it| it.is_started) else {
            return;
        };
        if current.covers(inventory) {
            self.renew_at = None;
            self.renewal_delay = RENEWAL_DELAY.0;
        } else if self.renew_at.is_none() {
            self.schedule_renewal();
        }
    }

    /// Returns when to start the next subscription, if a renewal is scheduled.
    pub(super) fn renew_at(&self) -> Option<Instant> {
        self.renew_at
    }

    /// Abandons a watcher whose driver call has taken `limit` longer than it should, and schedules another one. Returns
    /// the error.
    pub(super) fn abandon_hung_watcher(&mut self, limit: Duration) -> Option<NvmlError> {
        self.hung.retain(|handle| !handle.is_finished());
        let limit = EVENT_TIMEOUT + limit;
        let is_hung = |it: &mut Subscription| it.reports.time_in_driver() >= Some(limit);
        let hung = self.current.take_if(is_hung);
        let error = hung.is_some().then(|| NvmlError {
            kind: NvmlErrorKind::TimedOut,
            message: format!("waiting for events: the driver has not answered within {limit:?}"),
        });
        if let Some(hung) = hung {
            self.previous = None;
            self.hung.push(hung.handle);
        }
        let can_start = self.is_wanted && self.hung.len() < MAX_HUNG_WATCHERS;
        if can_start && self.current.is_none() && self.renew_at.is_none() {
            self.schedule_renewal();
        }
        error
    }

    fn schedule_renewal(&mut self) {
        self.renew_at = Some(Instant::now() + self.renewal_delay);
        self.renewal_delay = (self.renewal_delay * 2).min(RENEWAL_DELAY.1);
    }
}

impl Subscription {
    fn record_start(&mut self, watched: &[(u32, String)], unwatched: &[(u32, NvmlError)]) {
        self.is_started = true;
        self.watched = watched.iter().cloned().collect();
        self.unsupported = unwatched
            .iter()
            .filter(|(_, error)| error.kind == NvmlErrorKind::NotSupported)
            .map(|(gpu, _)| *gpu)
            .collect();
    }

    /// Whether every GPU that responds is monitored under its current index. A GPU that does not respond cannot be
    /// monitored; one that was removed needs no monitoring.
    fn covers(&self, inventory: &Inventory) -> bool {
        inventory.gpus.iter().all(|gpu| match gpu {
            Gpu::Unresponsive { .. } => true,
            Gpu::Responding { info, .. } => {
                self.watched.get(&info.index) == Some(&info.uuid)
                    || self.unsupported.contains(&info.index)
            }
        })
    }
}

fn is_event(report: &WatchReport) -> bool {
    matches!(report, WatchReport::Event(_) | WatchReport::Dropped)
}

fn report(from: Option<&Subscription>, counted: CountedReport) -> MonitorReport {
    let uuid = match &counted.report {
        WatchReport::Event(event) => event.gpu.and_then(|index| from?.watched.get(&index)),
        _ => None,
    };
    MonitorReport {
        uuid: uuid.cloned(),
        counted,
    }
}

async fn receive(subscription: &mut Option<Subscription>) -> Option<CountedReport> {
    match subscription {
        Some(subscription) => subscription.reports.recv().await,
        None => std::future::pending().await,
    }
}
