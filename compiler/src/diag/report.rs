//! The findings of a run, gathered.

use super::{Code, Diagnostic, Edit, Fix, Label, Severity};
use crate::source::Span;

/// Proof that an error was reported: the only thing a hole in a half-understood configuration can be made of.
///
/// A rule that meets one stays quiet, so that a mistake is reported once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported(());

/// The findings of a run, in the order they were made.
#[derive(Clone, Debug, Default)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
    poisoned: Vec<Span>,
}

impl Report {
    /// Starts a finding. Nothing is reported until [`Draft::emit`].
    pub fn draft(
        &mut self,
        code: &'static Code,
        span: Span,
        message: impl Into<String>,
    ) -> Draft<'_> {
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
            allowed: false,
        };
        Draft {
            report: self,
            diagnostic,
        }
    }

    /// Says that what stands here could not be read and that a made-up value has taken its place.
    ///
    /// Findings of later phases that point there, or nowhere, would speak of the made-up value; they are dropped. What
    /// is wrong there has been reported.
    pub fn poison(&mut self, span: Span) {
        self.poisoned.push(span);
    }

    /// Where made-up values stand.
    pub fn poisoned(&self) -> &[Span] {
        &self.poisoned
    }

    /// Whether a made-up value stands here.
    pub fn is_poisoned_at(&self, span: Span) -> bool {
        self.poisoned.contains(&span)
    }

    /// Whether a finding speaks of a made-up value.
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

    /// Adds a finished finding, unless it speaks of a made-up value.
    pub fn push(&mut self, diagnostic: Diagnostic) -> Reported {
        if !self.is_poisoned(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        Reported(())
    }

    /// All findings.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The same findings as part of a run that has so many files before those that these are about.
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
            // What would be mended is no file.
            found.fix = None;
        }
        self.poisoned.iter_mut().for_each(shift);
    }

    /// The findings, to be changed in place or taken.
    pub fn diagnostics_mut(&mut self) -> &mut Vec<Diagnostic> {
        &mut self.diagnostics
    }

    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// Proof that an error was reported of a place, or of a part of it.
    pub fn error_inside(&self, place: Span) -> Option<Reported> {
        let is_inside = |span: Span| {
            span.source == place.source && place.start <= span.start && span.end <= place.end
        };
        let errors = self.diagnostics.iter();
        let mut errors = errors.filter(|found| found.severity == Severity::Error);
        errors
            .any(|found| place.is_written() && is_inside(found.primary.span))
            .then_some(Reported(()))
    }

    /// How many findings there are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let severities = self.diagnostics.iter().map(|found| found.severity);
        severities.filter(|found| *found == severity).count()
    }

    /// Adds another report's findings.
    pub fn append(&mut self, mut other: Report) {
        self.diagnostics.append(&mut other.diagnostics);
        self.poisoned.append(&mut other.poisoned);
    }
}

/// A finding that is being written.
#[must_use = "a finding is reported by `emit`"]
pub struct Draft<'r> {
    report: &'r mut Report,
    diagnostic: Diagnostic,
}

impl Draft<'_> {
    /// Says what is wrong at the primary place.
    pub fn here(mut self, text: impl Into<String>) -> Self {
        self.diagnostic.primary.text = text.into();
        self
    }

    /// Points at another place. A place that nobody wrote is passed over.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        if span.is_written() {
            let text = text.into();
            self.diagnostic.labels.push(Label { span, text });
        }
        self
    }

    /// Says what to type.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.diagnostic.help = Some(text.into());
        self
    }

    /// Gives the help as one replacement.
    pub fn replace(self, span: Span, text: impl Into<String>) -> Self {
        let text = text.into();
        self.fix(vec![Edit { span, text }])
    }

    /// Gives the help as replacements.
    pub fn fix(mut self, edits: Vec<Edit>) -> Self {
        if edits.iter().all(|edit| edit.span.is_written()) {
            self.diagnostic.fix = Some(Fix { edits });
        }
        self
    }

    /// Reports it, and answers the proof.
    pub fn emit(self) -> Reported {
        self.report.push(self.diagnostic)
    }
}
