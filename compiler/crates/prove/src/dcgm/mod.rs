//! The diagnostics of DCGM: `dcgmi diag --run 2 --json`, and its table.
//!
//! - `json` reads the documents of DCGM 3 and 4;
//! - `table` reads the table that `dcgmi` prints without `--json`;
//! - `verdict` judges the reports of all nodes.
//!
//! Formats: NVIDIA/DCGM @1f7a418e `dcgmi/Diag.cpp` and `nvvs/include/NvvsCommon.h` (DCGM 3); a document of DCGM 4.2.3
//! of a user and the tables of NVIDIA/DCGM issues of 4.2.3 and 4.4.2 (DCGM 4), 2026-11-28.

mod json;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::BTreeMap;

pub use verdict::{Expectation, judge};

use crate::judgement::Evidence;
use crate::log_line::{self, LogLine};

/// The diagnostics of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The pod, from the prefix of `kubectl logs --prefix`; empty without it.
    pub pod: String,
    /// The version of DCGM.
    pub version: Option<String>,
    /// The version of the driver.
    pub driver: Option<String>,
    /// The number of GPUs that DCGM detected, if it is printed.
    pub detected_gpus: Option<u32>,
    /// The tests, in order.
    pub tests: Vec<Test>,
    /// An error of the whole run.
    pub error: Option<String>,
    /// The first line.
    pub evidence: Evidence,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The category: `Deployment`.
    pub category: String,
    /// The name: `memory`.
    pub name: String,
    /// The results.
    pub results: Vec<TestResult>,
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// The GPU; `None` for all of them.
    pub gpu: Option<u32>,
    /// The status.
    pub status: Status,
    /// Messages of DCGM.
    pub messages: Vec<String>,
}

/// The status of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It passed.
    Pass,
    /// It passed with a warning.
    Warn,
    /// It was skipped.
    Skip,
    /// It failed.
    Fail,
    /// It has a status that gpuc does not know, or did not run.
    Unknown,
}

impl Status {
    /// The status with this name, in any case.
    fn from_name(name: &str) -> Self {
        match name.trim().to_ascii_lowercase().as_str() {
            "pass" | "passed" => Self::Pass,
            "warn" | "warning" => Self::Warn,
            "skip" | "skipped" => Self::Skip,
            "fail" | "failed" => Self::Fail,
            _ => Self::Unknown,
        }
    }
}

/// The maximum number of reports, tests of a report, and GPUs of a test.
const MAX: usize = 16_384;

/// The reports in the logs of one or several pods, with or without the prefixes of `kubectl logs`.
pub fn reports(log: &str) -> Vec<Report> {
    let mut pods: BTreeMap<String, Vec<LogLine<'_>>> = BTreeMap::new();
    for line in log_line::lines(log) {
        pods.entry(line.pod.to_string()).or_default().push(line);
    }
    let mut found = Vec::new();
    for (pod, lines) in &pods {
        let mut reports = json::reports(lines);
        reports.extend(table::reports(lines));
        for report in &mut reports {
            report.pod.clone_from(pod);
        }
        found.extend(reports);
    }
    found.truncate(MAX);
    found
}
