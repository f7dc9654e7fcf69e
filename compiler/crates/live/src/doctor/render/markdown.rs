//! The diagnosis as Markdown, for an issue, a ticket or a chat.

use gpuc_syntax::diag::Severity;
use gpuc_syntax::diag::phrases::pluralize;
use gpuc_syntax::diag::render::{inline_code, table_cell};
use gpuc_syntax::source::Sources;

use super::text::summary;
use super::{describe_objects, place, split_pods};
use crate::doctor::{Cause, Diagnosis, Step};
use crate::state::ClusterState;

/// The maximum length in characters: a comment or an issue on GitHub may have 65,536, by the error message of its API,
/// "Body is too long (maximum is 65536 characters)".
pub const MAX_LENGTH: usize = 65_000;

/// The maximum number of lines of evidence for a cause.
const MAX_EVIDENCE: usize = 10;

/// Length reserved for the lines about omitted parts and the summary.
const RESERVE: usize = 1_000;

/// The diagnosis as Markdown. `steps` is the story of a pod, if one was selected.
pub fn markdown(
    diagnosis: &Diagnosis,
    steps: &[Step],
    state: &ClusterState,
    sources: &Sources,
) -> String {
    let mut out = format!("### gpuc doctor: {}\n", table_cell(&summary(diagnosis)));
    if !steps.is_empty() {
        out.push_str("\n| Step | Result | |\n| --- | --- | --- |\n");
    }
    for step in steps {
        out.push_str(&format!(
            "| {} | {} | {} |\n",
            step.name,
            step.outcome.as_str(),
            table_cell(&step.text)
        ));
    }
    let mut length = out.chars().count();
    for (index, cause) in diagnosis.causes.iter().enumerate() {
        let section = cause_section(cause, state, sources);
        length += section.chars().count();
        if length + RESERVE > MAX_LENGTH {
            let more = pluralize(diagnosis.causes.len() - index, "more cause");
            out.push_str(&format!("\n{more} omitted.\n"));
            break;
        }
        out.push_str(&section);
    }
    out.push_str(&skipped_section(
        diagnosis,
        MAX_LENGTH.saturating_sub(length),
    ));
    out
}

fn cause_section(cause: &Cause, state: &ClusterState, sources: &Sources) -> String {
    let finding = &cause.finding;
    let mark = match finding.code.severity {
        Severity::Error => "🔴",
        Severity::Warning => "🟡",
    };
    let mut out = format!(
        "\n#### {mark} {}\n\n{} · {} `{}`\n\n",
        table_cell(&finding.message),
        table_cell(&describe_objects(&finding.subjects, state)),
        finding.code.id,
        finding.code.name,
    );
    for evidence in finding.evidence.iter().take(MAX_EVIDENCE) {
        out.push_str(&format!("- {}\n", inline_code(&evidence.to_string())));
    }
    if let Some(span) = finding.input {
        out.push_str(&format!(
            "- input: {}\n",
            inline_code(&place(sources, span))
        ));
    }
    let (pods, others) = split_pods(&cause.consequences);
    for other in others {
        let objects = describe_objects(&other.subjects, state);
        let line = format!("{} ({objects})", other.message);
        out.push_str(&format!("- explains: {}\n", table_cell(&line)));
    }
    if !pods.is_empty() {
        let waiting: Vec<_> = cause.waiting_pods().into_iter().cloned().collect();
        let objects = table_cell(&describe_objects(&waiting, state));
        out.push_str(&format!("- explains waiting pods: {objects}\n"));
    }
    out.push_str(&format!("\n**Help:** {}\n", table_cell(&finding.help)));
    if let Some(command) = &finding.command {
        out.push_str(&format!("\n**Next:** {}\n", inline_code(command)));
    }
    out
}

/// The checks that were not possible, as far as they fit.
fn skipped_section(diagnosis: &Diagnosis, room: usize) -> String {
    if diagnosis.skipped.is_empty() {
        return String::new();
    }
    let title = pluralize(diagnosis.skipped.len(), "check");
    let head = format!("\n<details><summary>{title} could not run completely</summary>\n\n");
    let (end, mut out) = ("\n</details>\n", head);
    for (index, skipped) in diagnosis.skipped.iter().enumerate() {
        let reasons = table_cell(&skipped.reasons.join("; "));
        let line = format!("- `{}`: {reasons}\n", skipped.check.code.name);
        if out.chars().count() + line.chars().count() + RESERVE / 2 > room {
            let more = diagnosis.skipped.len() - index;
            out.push_str(&format!("- and {more} more\n"));
            break;
        }
        out.push_str(&line);
    }
    out + end
}
