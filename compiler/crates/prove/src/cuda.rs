//! The logs of a CUDA sample, such as NVIDIA's `vectorAdd`, one for each pod.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_syntax::diag::phrases::pluralize;

use crate::causes;
use crate::judgement::{Evidence, Judgement, Measured, Reason};
use crate::log_line;

/// The line of a sample that succeeded. Source: NVIDIA/cuda-samples `Samples/0_Introduction/vectorAdd/vectorAdd.cu`,
/// 2026-11-28 (from memory).
const PASSED: &str = "Test PASSED";

/// Lines of a sample that failed, from the same file.
const FAILED: [&str; 3] = ["Failed to ", "Result verification failed", "Test FAILED"];

/// Judges the logs of a sample that runs in a number of pods.
///
/// Without the prefixes of `kubectl logs --prefix`, each line of success is that of another pod.
pub fn judge(pods: u32, log: &str) -> Judgement {
    let mut passed: BTreeMap<String, u32> = BTreeMap::new();
    let mut all: BTreeSet<String> = BTreeSet::new();
    let mut failures: Vec<(String, Evidence)> = Vec::new();
    let mut found_causes: BTreeMap<usize, Evidence> = BTreeMap::new();
    for line in log_line::lines(log).filter(|line| !line.text.is_empty()) {
        all.insert(line.pod.to_string());
        if line.text.trim() == PASSED {
            *passed.entry(line.pod.to_string()).or_default() += 1;
        } else if FAILED.iter().any(|text| line.text.starts_with(text)) {
            failures.push((line.pod.to_string(), line.evidence()));
        }
        for index in causes::matching(&line.text) {
            found_causes.entry(index).or_insert_with(|| line.evidence());
        }
    }
    let anonymous = passed.remove("").unwrap_or(0);
    let count = u32::try_from(passed.len())
        .unwrap_or(u32::MAX)
        .saturating_add(anonymous);
    let mut reasons = Vec::new();
    if all.is_empty() {
        reasons
            .push(Reason::new("empty-log", "the log is empty").help("pass the logs of all pods"));
    }
    if let Some((pod, evidence)) = failures.first() {
        let text = match pod.as_str() {
            "" => "the sample failed".to_owned(),
            pod => format!("the sample failed in pod `{pod}`"),
        };
        reasons.push(Reason::new("sample-failed", text).evidence(evidence));
    }
    if count < pods && !all.is_empty() {
        let silent = all
            .iter()
            .find(|pod| !pod.is_empty() && !passed.contains_key(*pod));
        let silent = silent.map_or_else(String::new, |pod| format!("; not in pod `{pod}`"));
        let text = format!(
            "the sample passed in {count} of {}{silent}",
            pluralize(pods, "pod")
        );
        let help = "the line is `Test PASSED`; pass the complete logs of all pods";
        reasons.push(Reason::new("pods-missing", text).help(help));
    }
    if pods > 1 && anonymous > 0 {
        let text = "the log does not show which pod wrote which line";
        let help = "pass the logs of all pods of one run: `kubectl logs --selector job-name --prefix --tail=-1`";
        reasons.push(Reason::new("pods-not-distinct", text).help(help));
    }
    let subject = format!("a CUDA sample in {}", pluralize(pods, "pod"));
    let mut judgement = Judgement::new(subject, reasons);
    if !judgement.is_proven() {
        let causes = found_causes.iter();
        judgement.causes = causes
            .filter_map(|(index, line)| causes::reason(*index, line))
            .collect();
    }
    judgement.measured = vec![Measured {
        name: "passed",
        value: format!("{count} of {}", pluralize(pods, "pod")),
    }];
    judgement
}

#[cfg(test)]
mod tests {
    use super::judge;

    fn ids(pods: u32, log: &str) -> Vec<&'static str> {
        judge(pods, log).reasons.iter().map(|it| it.id).collect()
    }

    #[test]
    fn every_pod_must_pass() {
        let log = "[pod/a/main] [Vector addition]\n[pod/a/main] Test PASSED\r\n[pod/b/main] Done\n";
        assert_eq!(ids(1, log), [] as [&str; 0]);
        assert_eq!(ids(2, log), ["pods-missing"]);
        assert!(judge(2, log).reasons[0].text.contains("pod `b`"));
        // The same pod does not count twice.
        assert_eq!(ids(2, &log.repeat(2)), ["pods-missing"]);
        assert_eq!(
            ids(2, "Test PASSED\nDone\nTest PASSED\nDone\n"),
            ["pods-not-distinct"]
        );
    }

    #[test]
    fn failures_and_other_logs_prove_nothing() {
        let failed = "Failed to allocate device vector A (error code CUDA driver version is insufficient \
for CUDA runtime version)!\n";
        let judgement = judge(1, failed);
        assert_eq!(judgement.reasons[0].id, "sample-failed");
        assert_eq!(judgement.causes[0].id, "driver-too-old");
        assert_eq!(ids(1, &format!("{failed}Test PASSED\n")), ["sample-failed"]);
        assert_eq!(ids(1, ""), ["empty-log"]);
        assert_eq!(ids(1, "not Test PASSED"), ["pods-missing"]);
        assert_eq!(ids(1, "Test PASSE"), ["pods-missing"]);
    }
}
