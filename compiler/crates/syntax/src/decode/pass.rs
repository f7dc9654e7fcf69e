//! One pass over a document and its findings.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::abbreviation::abbreviate;
use super::codes;
use super::constraints::{Constraints, MAX_PROBLEMS};
use super::placeholder::Placeholder;
use crate::diag::{Code, DiagnosticBuilder, Report};
use crate::node::Node;
use crate::source::Span;

/// One pass.
pub(super) struct Pass<'l> {
    pub(super) constraints: &'l Constraints,
    /// The placeholders for invalid values.
    pub(super) placeholder: Placeholder<'l>,
    findings: RefCell<Findings>,
}

/// The findings of a pass.
#[derive(Default)]
pub(super) struct Findings {
    report: Report,
    /// The reported problems by location, so that a value that many aliases copy is reported once.
    reported: BTreeSet<(&'static str, Span, String)>,
    omitted_count: usize,
    poisoned: BTreeSet<Span>,
}

/// A problem and its location.
pub(super) struct Finding {
    pub(super) code: &'static Code,
    /// The location where it is used.
    pub(super) span: Span,
    /// The location where it is written, if an alias copied it.
    pub(super) source_span: Span,
    pub(super) message: String,
    pub(super) label: String,
}

impl<'l> Pass<'l> {
    pub(super) fn new(constraints: &'l Constraints, placeholder: Placeholder<'l>) -> Self {
        Self {
            constraints,
            placeholder,
            findings: RefCell::default(),
        }
    }

    /// Records a finding once.
    pub(super) fn record(
        &self,
        finding: Finding,
        customize: impl FnOnce(DiagnosticBuilder<'_>) -> DiagnosticBuilder<'_>,
    ) {
        let findings = &mut *self.findings.borrow_mut();
        let key = (finding.code.id, finding.source_span, finding.label.clone());
        if finding.source_span.is_written() && !findings.reported.insert(key) {
            return;
        }
        if findings.report.diagnostics().len() >= MAX_PROBLEMS {
            findings.omitted_count += 1;
            return;
        }
        let builder = findings
            .report
            .diagnostic(finding.code, finding.span, finding.message)
            .primary_label(finding.label);
        let builder = if finding.source_span == finding.span {
            builder
        } else {
            builder.label(finding.source_span, "the value is defined here")
        };
        customize(builder).emit();
    }

    /// Records that a placeholder replaces the value at this location.
    pub(super) fn poison(&self, span: Span) {
        self.findings.borrow_mut().poisoned.insert(span);
    }

    /// Reports the findings; returns whether the value is usable.
    pub(super) fn finish(self, report: &mut Report) -> bool {
        self.into_findings().finish(report)
    }

    pub(super) fn into_findings(self) -> Findings {
        self.findings.into_inner()
    }
}

impl Findings {
    /// Reports the findings of a pass in which a type rejected a placeholder.
    pub(super) fn finish_undecoded(self, root: &Node, reason: &str, report: &mut Report) {
        if self.report.diagnostics().is_empty() {
            let message = format!("the document cannot be decoded: {}", abbreviate(reason));
            report
                .diagnostic(&codes::WRONG_TYPE, root.span(), message)
                .emit();
        }
        self.finish(report);
    }

    pub(super) fn finish(mut self, report: &mut Report) -> bool {
        let complete = self.omitted_count == 0;
        let diagnostics = std::mem::take(self.report.diagnostics_mut());
        let last = diagnostics.len();
        for (number, mut diagnostic) in diagnostics.into_iter().enumerate() {
            if !complete && number + 1 == last {
                let note = format!(
                    "{} more problems in this document are not shown",
                    self.omitted_count
                );
                diagnostic.help = Some(match diagnostic.help {
                    Some(help) => format!("{help}; {note}"),
                    None => note,
                });
            }
            report.push(diagnostic);
        }
        if complete {
            for span in self.poisoned {
                report.poison(span);
            }
        }
        complete
    }
}
