//! Judges the reports of all nodes.

use std::collections::BTreeSet;

use gpuc_syntax::diag::phrases::pluralize;

use super::{Report, Status, Test, reports};
use crate::judgement::{Judgement, Measured, Reason};

/// The expected diagnostics.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// The level: 1 is a check of the software, 2 takes about two minutes, 3 a quarter of an hour, and 4 one to two
    /// hours.
    pub level: u8,
    /// The number of nodes.
    pub nodes: u32,
    /// The number of GPUs of each node.
    pub gpus_per_node: u32,
}

/// The tests that a level must contain, each with its names in DCGM 4 and 3.
///
/// Source: docs.nvidia.com/datacenter/dcgm, "DCGM Diagnostics", the table of run levels (from memory).
const REQUIRED: &[(u8, &[&str])] = &[
    (2, &["memory", "gpu memory"]),
    (2, &["pcie"]),
    (3, &["diagnostic"]),
    (4, &["memtest", "pulse test"]),
];

/// Further tests of a level. DCGM leaves them out on some GPUs, and with some releases.
///
/// Source: docs.nvidia.com/datacenter/dcgm, "DCGM Diagnostics", the table of run levels (from memory).
const EXPECTED: &[(u8, &[&str])] = &[
    (3, &["memory bandwidth"]),
    (3, &["targeted power"]),
    (3, &["targeted stress"]),
    (4, &["memtest"]),
    (4, &["pulse test"]),
];

/// The category of level 1.
const DEPLOYMENT: &str = "Deployment";

/// Judges the logs of `dcgmi diag` on all nodes.
///
/// A test that is skipped on all GPUs is a warning, if the level does not require it.
pub fn judge(expected: &Expectation, log: &str) -> Judgement {
    let reports = reports(log);
    let mut reasons = Vec::new();
    let mut warnings = Vec::new();
    if reports.is_empty() {
        let (id, text) = if log.trim().is_empty() {
            ("empty-log", "the log is empty")
        } else {
            (
                "diagnostics-missing",
                "the log contains no complete result of `dcgmi diag`",
            )
        };
        let help = "wait until the diagnostics end, and pass the complete logs of all pods";
        reasons.push(Reason::new(id, text).help(help));
    } else if reports.len() != expected.nodes as usize {
        let text = format!(
            "the log contains the diagnostics of {}, not of {}",
            pluralize(reports.len(), "node"),
            expected.nodes
        );
        reasons
            .push(Reason::new("nodes-missing", text).help("pass the logs of all pods of one run"));
    }
    reasons.extend(same_pods(expected, &reports));
    for (index, report) in reports.iter().enumerate() {
        let node = NodeReport {
            report,
            name: node_name(report, index, reports.len()),
        };
        node.check(expected, &mut reasons, &mut warnings);
    }
    let gpus = pluralize(expected.gpus_per_node, "GPU");
    let nodes = pluralize(expected.nodes, "node");
    let level = expected.level;
    let mut judgement = Judgement::new(
        format!("diagnostics of level {level} on {nodes} with {gpus} each"),
        reasons,
    );
    judgement.warnings = warnings;
    judgement.measured = measured(&reports);
    judgement
}

/// Results that are not those of different nodes.
fn same_pods(expected: &Expectation, reports: &[Report]) -> Option<Reason> {
    if expected.nodes < 2 || reports.len() != expected.nodes as usize {
        return None;
    }
    let pods: BTreeSet<&str> = reports.iter().map(|it| it.pod.as_str()).collect();
    let text = if pods.contains("") {
        "the log does not show which pod wrote which result"
    } else if pods.len() < reports.len() {
        "several results are of one pod"
    } else {
        return None;
    };
    let help = "pass the logs of all pods of one run: `kubectl logs --selector job-name --prefix --tail=-1`";
    Some(Reason::new("pods-not-distinct", text).help(help))
}

fn node_name(report: &Report, index: usize, count: usize) -> String {
    match (report.pod.as_str(), count) {
        ("", 1) => "the node".to_owned(),
        ("", _) => format!("node {}", index + 1),
        (pod, _) => format!("pod `{pod}`"),
    }
}

fn measured(reports: &[Report]) -> Vec<Measured> {
    let distinct = |value: fn(&Report) -> Option<&String>| -> String {
        let values: BTreeSet<&String> = reports.iter().filter_map(value).collect();
        let values: Vec<&str> = values.iter().map(|it| it.as_str()).collect();
        values.join(", ")
    };
    let results = reports
        .iter()
        .flat_map(|it| &it.tests)
        .flat_map(|it| &it.results);
    let with = |status| results.clone().filter(|it| it.status == status).count();
    let counts = format!(
        "{} passed, {} failed, {} skipped, {} with warnings",
        with(Status::Pass),
        with(Status::Fail),
        with(Status::Skip),
        with(Status::Warn)
    );
    let values = [
        ("DCGM", distinct(|it| it.version.as_ref())),
        ("driver", distinct(|it| it.driver.as_ref())),
        ("results", counts),
    ];
    let known = values.into_iter().filter(|(_, value)| !value.is_empty());
    known
        .map(|(name, value)| Measured { name, value })
        .collect()
}

/// A report with the name of its node.
struct NodeReport<'r> {
    report: &'r Report,
    name: String,
}

impl NodeReport<'_> {
    fn check(&self, expected: &Expectation, reasons: &mut Vec<Reason>, warnings: &mut Vec<Reason>) {
        let Self { report, name } = self;
        if let Some(error) = &report.error {
            let text = format!("the diagnostics of {name} stopped: {error}");
            let help =
                "check that no other process uses the GPUs, and that the pod requests all of them";
            reasons.push(self.reason("diagnostics-stopped", text).help(help));
        }
        if let Some(gpus) = self.gpus()
            && gpus != expected.gpus_per_node
        {
            let text = format!(
                "the diagnostics of {name} covered {}, not {}",
                pluralize(gpus, "GPU"),
                expected.gpus_per_node
            );
            let help =
                "request all GPUs of the node in the pod; a GPU that is missing there has failed";
            reasons.push(self.reason("gpus-missing", text).help(help));
        }
        for test in &report.tests {
            self.check_test(expected, test, reasons, warnings);
        }
        self.check_required(expected, reasons);
        for (level, names) in EXPECTED {
            let mut tests = report.tests.iter();
            let has_run = tests.any(|test| is_named(test, names) && !test.results.is_empty());
            if *level <= expected.level && !has_run {
                let text = format!("the test `{}` did not run on {name}", names[0]);
                warnings.push(self.reason("test-not-run", text));
            }
        }
    }

    /// The number of GPUs that were tested or detected.
    fn gpus(&self) -> Option<u32> {
        let results = self.report.tests.iter().flat_map(|it| &it.results);
        let tested: BTreeSet<u32> = results.filter_map(|it| it.gpu).collect();
        match u32::try_from(tested.len()) {
            Ok(0) | Err(_) => self.report.detected_gpus,
            Ok(tested) => Some(tested),
        }
    }

    fn check_test(
        &self,
        expected: &Expectation,
        test: &Test,
        reasons: &mut Vec<Reason>,
        warnings: &mut Vec<Reason>,
    ) {
        let with = |status| test.results.iter().filter(move |it| it.status == status);
        for (status, id, verb) in [
            (Status::Fail, "test-failed", "failed"),
            (Status::Warn, "test-warned", "has a warning"),
            (Status::Unknown, "test-not-run", "has no known status"),
        ] {
            let gpus: BTreeSet<u32> = with(status).filter_map(|it| it.gpu).collect();
            let gpus: Vec<String> = gpus.iter().take(16).map(ToString::to_string).collect();
            let Some(first) = with(status).next() else {
                continue;
            };
            let place = match gpus.as_slice() {
                [] => self.name.clone(),
                [gpu] => format!("GPU {gpu} of {}", self.name),
                gpus => format!("GPUs {} of {}", gpus.join(", "), self.name),
            };
            let message = first.messages.first();
            let message = message.map_or_else(String::new, |text| format!(": {text}"));
            let text = format!("the test `{}` {verb} on {place}{message}", test.name);
            let help = "correct what the test names; if it is the GPU, cordon the node, and repeat the diagnostics with a \
                        higher level before you replace it";
            reasons.push(self.reason(id, text).help(help));
        }
        let skipped = with(Status::Skip).count();
        if skipped == 0 {
            return;
        }
        let reason = self.reason(
            "test-skipped",
            format!("the test `{}` was skipped on {}", test.name, self.name),
        );
        let is_required = REQUIRED
            .iter()
            .any(|(level, names)| *level <= expected.level && is_named(test, names));
        let is_partial = skipped < test.results.len();
        if is_required || is_partial || test.category == DEPLOYMENT {
            let help = "DCGM supports levels above 1 on data center GPUs only; the pod needs all GPUs of the node";
            reasons.push(reason.help(help));
        } else {
            warnings.push(reason);
        }
    }

    /// Checks that the tests of the level ran on all GPUs.
    fn check_required(&self, expected: &Expectation, reasons: &mut Vec<Reason>) {
        let tests = &self.report.tests;
        let has_results = |test: &&Test| !test.results.is_empty();
        let deployment = |test: &Test| test.category.eq_ignore_ascii_case(DEPLOYMENT);
        if !tests.iter().filter(has_results).any(deployment) {
            let text = format!("the checks of the software did not run on {}", self.name);
            reasons.push(self.reason("tests-missing", text));
        }
        for (level, names) in REQUIRED {
            if *level > expected.level {
                continue;
            }
            let mut found = tests.iter().filter(|test| is_named(test, names)).peekable();
            if found.peek().is_none() {
                let text = format!("the test `{}` did not run on {}", names[0], self.name);
                let help = format!("run `dcgmi diag --run {}`", expected.level);
                reasons.push(self.reason("tests-missing", text).help(help));
            } else if !found.any(|test| self.covers_all(expected, test)) {
                let text = format!(
                    "the test `{}` did not run on all GPUs of {}",
                    names[0], self.name
                );
                reasons.push(self.reason("gpus-missing", text));
            }
        }
    }

    /// Whether a test has a result for each GPU, or one for all of them, whose number is known.
    fn covers_all(&self, expected: &Expectation, test: &Test) -> bool {
        let tested: BTreeSet<u32> = test.results.iter().filter_map(|it| it.gpu).collect();
        let for_all = test.results.iter().any(|it| it.gpu.is_none());
        let is_detected = self.report.detected_gpus == Some(expected.gpus_per_node);
        tested.len() == expected.gpus_per_node as usize || (for_all && is_detected)
    }

    fn reason(&self, id: &'static str, text: String) -> Reason {
        Reason::new(id, text).evidence(&self.report.evidence)
    }
}

/// Whether a test has one of these names. DCGM 4 uses `_` instead of spaces.
fn is_named(test: &Test, names: &[&str]) -> bool {
    let name = test.name.to_ascii_lowercase().replace('_', " ");
    names.contains(&name.as_str())
}
