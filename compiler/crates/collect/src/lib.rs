//! Reads the state of a running cluster through its API server.
//!
//! Every request has a deadline, and so has the whole run: what was not read until then is reported as incomplete. At
//! most [`Limits::concurrent`] requests run at once. [`collect()`] and [`dry_run()`] write nothing to the cluster, and
//! never read Secrets. Only [`run_job()`] creates objects, in a namespace of its own.

mod client;
mod collect;
mod dry_run;
mod job_run;
mod labeled;
mod request;

pub use client::{ConnectError, connect, current_context, server};
pub use collect::{Collection, Page, collect};
pub use dry_run::{Applier, Conflict, DryRun, Refusal, dry_run};
pub use job_run::{JobEnd, JobRequest, JobRun, run_job};
pub use labeled::{Labeled, labeled};

use std::time::Duration;

/// The limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time for one request, including the time in which its response is read.
    pub request: Duration,
    /// The time for all requests.
    pub run: Duration,
    /// The number of requests that run at once.
    pub concurrent: usize,
    /// The number of objects in a response.
    pub page: usize,
    /// The number of objects of one kind.
    pub objects: usize,
    /// The number of lines at the end of a log.
    pub log_lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(15),
            run: Duration::from_mins(1),
            concurrent: 8,
            page: 500,
            objects: 200_000,
            log_lines: 200,
        }
    }
}
