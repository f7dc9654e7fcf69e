//! The diagnosis as diagnostics of gpu-cluster.yaml, for formats that need a place in a file.

use gpuc_syntax::diag::{Diagnostic, Report};
use gpuc_syntax::source::Span;

use super::describe_objects;
use crate::doctor::Diagnosis;
use crate::state::ClusterState;

/// The root causes as diagnostics, each at its place in the input if it has one.
pub fn diagnostics(diagnosis: &Diagnosis, state: &ClusterState) -> Vec<Diagnostic> {
    let mut report = Report::default();
    for cause in &diagnosis.causes {
        let finding = &cause.finding;
        let objects = describe_objects(&finding.subjects, state);
        let mut message = format!("{} ({objects})", finding.message);
        for evidence in &finding.evidence {
            message.push_str(&format!("\n{evidence}"));
        }
        let help = match &finding.command {
            Some(command) => format!("{}\nnext: {command}", finding.help),
            None => finding.help.clone(),
        };
        let span = finding.input.unwrap_or(Span::NONE);
        report
            .diagnostic(finding.code, span, message)
            .help(help)
            .emit();
    }
    report.diagnostics().to_vec()
}
