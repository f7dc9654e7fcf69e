//! The diagnosis as text for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use gpuc_syntax::diag::Severity;
use gpuc_syntax::diag::phrases::pluralize;
use gpuc_syntax::diag::render::replace_control_chars;
use gpuc_syntax::source::Sources;

use super::{describe_objects, place, split_pods};
use crate::doctor::{Cause, Diagnosis, Step};
use crate::state::ClusterState;

/// The maximum number of lines of evidence for a cause.
const MAX_EVIDENCE: usize = 6;

/// Text of the cluster for a terminal and on one line.
fn clean(text: &str) -> String {
    replace_control_chars(text)
}

/// The diagnosis as text.
pub fn text(diagnosis: &Diagnosis, state: &ClusterState, sources: &Sources) -> String {
    let mut out = String::new();
    for cause in &diagnosis.causes {
        write_cause(&mut out, cause, state, sources);
        out.push('\n');
    }
    write_skipped(&mut out, diagnosis);
    out.push_str(&summary(diagnosis));
    out.push('\n');
    out
}

/// What prevented checks, the most frequent reason first.
fn write_skipped(out: &mut String, diagnosis: &Diagnosis) {
    const MAX_REASONS: usize = 5;
    if diagnosis.skipped.is_empty() {
        return;
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let all = diagnosis.skipped.iter().flat_map(|it| &it.reasons);
    for reason in all {
        *reasons.entry(reason).or_default() += 1;
    }
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let checks = pluralize(diagnosis.skipped.len(), "check");
    let _ = writeln!(out, "{checks} could not run completely:");
    for (reason, count) in reasons.iter().take(MAX_REASONS) {
        let _ = writeln!(out, "  {} ({})", clean(reason), pluralize(*count, "check"));
    }
    if let Some(more) = reasons.len().checked_sub(MAX_REASONS).filter(|it| *it > 0) {
        let reasons = pluralize(more, "more reason");
        let _ = writeln!(out, "  and {reasons}; `--format json` lists all");
    }
    out.push('\n');
}

/// The story of a pod as text: one line for each step.
pub fn steps(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        let text = clean(&step.text);
        let line = format!("{:9} {:7} {text}", step.name, step.outcome.as_str());
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if !steps.is_empty() {
        out.push('\n');
    }
    out
}

/// A root cause and what it explains as text.
pub fn cause_text(cause: &Cause, state: &ClusterState, sources: &Sources) -> String {
    let mut out = String::new();
    write_cause(&mut out, cause, state, sources);
    out
}

fn write_cause(out: &mut String, cause: &Cause, state: &ClusterState, sources: &Sources) {
    let finding = &cause.finding;
    let code = finding.code;
    let _ = writeln!(
        out,
        "{}[{} {}]: {}",
        code.severity.as_str(),
        code.id,
        code.name,
        clean(&finding.message)
    );
    let _ = writeln!(
        out,
        "  --> {}",
        clean(&describe_objects(&finding.subjects, state))
    );
    for evidence in finding.evidence.iter().take(MAX_EVIDENCE) {
        let _ = writeln!(out, "  = {}", clean(&evidence.to_string()));
    }
    if let Some(span) = finding.input {
        let _ = writeln!(out, "  = input: {}", place(sources, span));
    }
    let (pods, others) = split_pods(&cause.consequences);
    for other in others {
        let objects = describe_objects(&other.subjects, state);
        let line = format!("{} ({objects})", other.message);
        let _ = writeln!(out, "  explains: {}", clean(&line));
    }
    if !pods.is_empty() {
        let waiting: Vec<_> = cause.waiting_pods().into_iter().cloned().collect();
        let verb = if waiting.len() == 1 { "waits" } else { "wait" };
        let _ = writeln!(
            out,
            "  explains: {} {verb} for it",
            clean(&describe_objects(&waiting, state))
        );
    }
    let _ = writeln!(out, "help: {}", clean(&finding.help));
    if let Some(command) = &finding.command {
        let _ = writeln!(out, "next: {}", clean(command));
    }
}

/// The last line: what was found, and what could not be checked.
pub(super) fn summary(diagnosis: &Diagnosis) -> String {
    let with = |severity| {
        let causes = diagnosis.causes.iter();
        causes
            .filter(|it| it.finding.code.severity == severity)
            .count()
    };
    let (errors, warnings) = (with(Severity::Error), with(Severity::Warning));
    let totals = diagnosis.totals;
    let scope = format!(
        "{}, {} with GPUs, {}",
        pluralize(totals.nodes, "node"),
        totals.gpu_nodes,
        pluralize(totals.pods, "pod")
    );
    let skipped = match diagnosis.skipped.len() {
        0 => String::new(),
        number => format!("; {} could not run completely", pluralize(number, "check")),
    };
    match (errors, warnings, skipped.is_empty()) {
        (0, 0, true) => format!(
            "{scope}: no problems found by {} checks",
            diagnosis.completed
        ),
        (0, 0, false) if diagnosis.is_inconclusive() => {
            format!(
                "{scope}: nothing could be checked, because no check had all objects that it needs"
            )
        }
        (0, 0, false) => format!("{scope}: no problems found in what could be read{skipped}"),
        _ => format!(
            "{scope}: {}, {}{skipped}",
            pluralize(errors, "error"),
            pluralize(warnings, "warning")
        ),
    }
}
