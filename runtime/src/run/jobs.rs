//! The driver calls in progress, each on a blocking thread. A call that does not return is abandoned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use tracing::{error, info};

use super::driver::query_conditions;
use super::{Daemon, DriverLoader, Event};
use crate::nvml::guard::{CallGuard, JobId, OverdueCall, Subject};
use crate::nvml::{Condition, Nvml, NvmlError};

/// The jobs in progress.
pub(super) struct Jobs {
    guard: CallGuard,
    opening: Option<JobId>,
    scanning: Option<JobId>,
    /// The GPUs whose conditions are queried, without those that have answered.
    querying: BTreeMap<JobId, BTreeSet<u32>>,
}

impl Jobs {
    pub(super) fn new(loader: &DriverLoader, events: &UnboundedSender<Event>) -> Self {
        Self {
            guard: loader.guard(events),
            opening: None,
            scanning: None,
            querying: BTreeMap::new(),
        }
    }

    pub(super) fn is_scanning(&self) -> bool {
        self.scanning.is_some()
    }

    /// Returns when to check for overdue calls. A job starts its next call at any time, so there is a check after each
    /// time limit while jobs are in progress.
    fn next_check(&self) -> Option<Instant> {
        let is_idle = self.opening.is_none() && self.scanning.is_none() && self.querying.is_empty();
        let after_limit = || Instant::now() + self.guard.limit();
        (!is_idle).then(|| self.guard.next_check().unwrap_or_else(after_limit))
    }

    /// Ends a job of the opening of the driver. Returns whether it was the current one.
    pub(super) fn end_opening(&mut self, job: JobId) -> bool {
        self.opening.take_if(|current| *current == job).is_some()
    }

    /// Ends a discovery. Returns whether it was the current one.
    pub(super) fn end_scan(&mut self, job: JobId) -> bool {
        self.scanning.take_if(|current| *current == job).is_some()
    }

    /// Ends the query of a GPU. Returns whether its job was not abandoned.
    pub(super) fn end_query(&mut self, job: JobId, gpu: u32) -> bool {
        let Some(gpus) = self.querying.get_mut(&job) else {
            return false;
        };
        let was_waiting = gpus.remove(&gpu);
        if gpus.is_empty() {
            self.querying.remove(&job);
        }
        was_waiting
    }
}

impl Daemon {
    /// Returns when to check for overdue calls.
    pub(super) fn next_call_check(&self) -> Option<Instant> {
        self.jobs.next_check()
    }

    pub(super) fn start_opening(&mut self) {
        let job = self.jobs.guard.start_job();
        self.jobs.opening = Some(self.loader.open(job, &self.events));
    }

    pub(super) fn start_scan(&mut self, nvml: &Arc<dyn Nvml>) {
        let job = self.jobs.guard.start_job();
        let before = Arc::clone(&self.inventory);
        let host_root = &self.config.driver.host_root;
        let id = self.loader.scan(nvml, job, before, host_root, &self.events);
        self.jobs.scanning = Some(id);
    }

    /// Queries the conditions of GPUs, one after the other. While a call is overdue, each GPU has a job of its own:
    /// GPUs that hang together are then noticed together, not one per time limit.
    pub(super) fn start_queries(&mut self, gpus: &[u32]) {
        let Some(nvml) = self.nvml.as_ref().filter(|_| !gpus.is_empty()) else {
            return;
        };
        let gpus_per_job = if self.jobs.guard.overdue().is_empty() {
            gpus.len()
        } else {
            1
        };
        for gpus in gpus.chunks(gpus_per_job) {
            let job = self.jobs.guard.start_job();
            let id = query_conditions(nvml, job, gpus.to_vec(), &self.events);
            let waiting = gpus.iter().copied().collect();
            self.jobs.querying.insert(id, waiting);
        }
    }

    pub(super) fn handle_condition(&mut self, gpu: u32, result: Result<Condition, NvmlError>) {
        let now = self.health_store.now();
        let reaction = self
            .health
            .handle_response(&self.inventory, gpu, result, now);
        self.apply_reaction(&reaction);
    }

    /// Continues without the answers of calls that do not return.
    pub(super) fn abandon_overdue_calls(&mut self) {
        for call in self.jobs.guard.take_overdue() {
            self.abandon(call);
        }
        self.update_overdue();
    }

    fn abandon(&mut self, call: OverdueCall) {
        let OverdueCall {
            job,
            subject,
            error,
        } = call;
        error!("{error}; continuing without the answer");
        self.outputs.metrics.count_nvml_error(error.kind);
        if self.jobs.end_opening(job) {
            self.handle_open_failure(&error);
        } else if self.jobs.end_scan(job) {
            if subject == Subject::Driver {
                self.handle_discovery_failure(&error);
            } else {
                // The next discovery does not wait for this answer.
                self.scan_at = Some(Instant::now());
            }
        } else if let Some(mut waiting) = self.jobs.querying.remove(&job) {
            if let Subject::Gpu(gpu) = subject
                && waiting.remove(&gpu)
            {
                self.handle_condition(gpu, Err(error));
            }
            // If the driver has been unloaded, the remaining queries are due again once it is loaded.
            let now = self.health_store.now();
            for gpu in waiting {
                self.health.cancel_query(&self.inventory, gpu, now);
            }
        }
    }

    /// An overdue call has returned: the driver may work again.
    pub(super) fn handle_return(&mut self, subject: Subject) {
        info!("{subject}: the driver has answered a call that was overdue");
        let now = Instant::now();
        if self.nvml.is_none() {
            self.open_at = self.open_at.map(|at| at.min(now));
        } else {
            self.scan_at = Some(now);
        }
        if let Subject::Gpu(gpu) = subject {
            let now = self.health_store.now();
            self.health.query_soon(&self.inventory, gpu, now);
        }
        self.update_overdue();
    }

    fn update_overdue(&mut self) {
        let overdue = self.jobs.guard.overdue();
        if self.status.overdue_calls != overdue {
            self.status.overdue_calls = overdue;
            self.publish_status();
        }
    }
}
