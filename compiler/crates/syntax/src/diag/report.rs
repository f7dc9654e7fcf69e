//! Collects the diagnostics of a run.

use super::{Applicability, Code, Diagnostic, Edit, Fix, Label, Severity};
use crate::source::Span;

/// Proof that an error was reported. An unresolved value can only be created from it. Rules skip unresolved values, so
/// that each mistake is reported once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported(());

/// The diagnostics of a run, in the order in which they were emitted.
#[derive(Clone, Debug, Default)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
    poisoned: Vec<Span>,
}

impl Report {
    /// Starts a diagnostic. It is reported by [`DiagnosticBuilder::emit`].
    pub fn diagnostic(
        &mut self,
        code: &'static Code,
        span: Span,
        message: impl Into<String>,
    ) -> DiagnosticBuilder<'_> {
        let diagnostic = Diagnostic {
            code,
            severity: code.severity,
            message: message.into(),
            primary: Label {
                span,
                text: String::new(),
            },
            labels: Vec::new(),
            help: None,
            fix: None,
            is_allowed: false,
        };
        DiagnosticBuilder {
            report: self,
            diagnostic,
        }
    }

    /// Marks a span whose value could not be read and was replaced by a placeholder. Diagnostics of later phases at
    /// this span, or without a span, would be about the placeholder and are dropped. The problem itself is already
    /// reported.
    pub fn poison(&mut self, span: Span) {
        self.poisoned.push(span);
    }

    /// The spans of placeholders.
    pub fn poisoned(&self) -> &[Span] {
        &self.poisoned
    }

    /// Whether a span contains a placeholder.
    pub fn is_poisoned_at(&self, span: Span) -> bool {
        self.poisoned.contains(&span)
    }

    /// Whether a diagnostic is about a placeholder.
    fn is_poisoned(&self, found: &Diagnostic) -> bool {
        let primary = found.primary.span;
        let spans = found.labels.iter().map(|label| label.span);
        let inside = |span: Span| {
            self.poisoned.iter().any(|bad| {
                bad.source == span.source && bad.start <= span.start && span.end <= bad.end
            })
        };
        !self.poisoned.is_empty()
            && (!primary.is_written() || std::iter::once(primary).chain(spans).any(inside))
    }

    /// Adds a diagnostic, unless it is about a placeholder.
    pub fn push(&mut self, diagnostic: Diagnostic) -> Reported {
        if !self.is_poisoned(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        Reported(())
    }

    /// All diagnostics.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Renumbers the sources, for a run with other files before these.
    pub fn renumber(&mut self, by: u32) {
        let shift = |span: &mut Span| {
            if span.is_written() {
                span.source += by;
            }
        };
        for found in &mut self.diagnostics {
            shift(&mut found.primary.span);
            found
                .labels
                .iter_mut()
                .for_each(|label| shift(&mut label.span));
            // A fix cannot be applied without a file.
            found.fix = None;
        }
        self.poisoned.iter_mut().for_each(shift);
    }

    /// The diagnostics, mutable.
    pub fn diagnostics_mut(&mut self) -> &mut Vec<Diagnostic> {
        &mut self.diagnostics
    }

    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// Proof that an error was reported for a span or a part of it.
    pub fn error_inside(&self, area: Span) -> Option<Reported> {
        let is_inside = |span: Span| {
            span.source == area.source && area.start <= span.start && span.end <= area.end
        };
        let errors = self.diagnostics.iter();
        let mut errors = errors.filter(|found| found.severity == Severity::Error);
        errors
            .any(|found| area.is_written() && is_inside(found.primary.span))
            .then_some(Reported(()))
    }

    /// The number of diagnostics of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let severities = self.diagnostics.iter().map(|found| found.severity);
        severities.filter(|found| *found == severity).count()
    }

    /// Appends another report's diagnostics.
    pub fn append(&mut self, mut other: Report) {
        self.diagnostics.append(&mut other.diagnostics);
        self.poisoned.append(&mut other.poisoned);
    }
}

/// A diagnostic builder.
#[must_use = "a diagnostic is reported by `emit`"]
pub struct DiagnosticBuilder<'r> {
    report: &'r mut Report,
    diagnostic: Diagnostic,
}

impl DiagnosticBuilder<'_> {
    /// Sets the text of the primary label.
    pub fn primary_label(mut self, text: impl Into<String>) -> Self {
        self.diagnostic.primary.text = text.into();
        self
    }

    /// Adds a secondary label. A span without a location is skipped.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        if span.is_written() {
            let text = text.into();
            self.diagnostic.labels.push(Label { span, text });
        }
        self
    }

    /// Sets the help.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.diagnostic.help = Some(text.into());
        self
    }

    /// Adds an unsafe fix with one replacement.
    pub fn replace(self, span: Span, text: impl Into<String>) -> Self {
        let text = text.into();
        self.suggest(vec![Edit { span, text }])
    }

    /// Adds a safe fix with several replacements.
    pub fn fix(self, edits: Vec<Edit>) -> Self {
        self.fix_as(Applicability::Safe, edits)
    }

    /// Adds an unsafe fix with several replacements.
    pub fn suggest(self, edits: Vec<Edit>) -> Self {
        self.fix_as(Applicability::Unsafe, edits)
    }

    /// Adds a fix with several replacements.
    pub fn fix_as(mut self, applicability: Applicability, edits: Vec<Edit>) -> Self {
        if edits.iter().all(|edit| edit.span.is_written()) {
            self.diagnostic.fix = Some(Fix {
                edits,
                applicability,
            });
        }
        self
    }

    /// Reports the diagnostic and returns the proof.
    pub fn emit(self) -> Reported {
        self.report.push(self.diagnostic)
    }
}
