//! One pass over a document: what was found in it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::MOST_PROBLEMS;
use super::codes;
use super::learned::Learned;
use super::made_up::MadeUp;
use crate::diag::{Code, Draft, Report};
use crate::node::Node;
use crate::source::Span;

/// One pass.
pub(super) struct Run<'l> {
    pub(super) learned: &'l Learned,
    /// What takes the place of what does not fit.
    pub(super) made_up: MadeUp<'l>,
    noted: RefCell<Noted>,
}

/// What a pass has found.
#[derive(Default)]
pub(super) struct Noted {
    report: Report,
    /// What has been said of which place, so that a value that many aliases bring is reported once.
    said: BTreeSet<(&'static str, Span, String)>,
    more: usize,
    poisoned: BTreeSet<Span>,
}

/// What is wrong and where.
pub(super) struct Finding {
    pub(super) code: &'static Code,
    /// Where it shows.
    pub(super) span: Span,
    /// Where it was written, when an alias brought it.
    pub(super) written: Span,
    pub(super) message: String,
    pub(super) here: String,
}

impl<'l> Run<'l> {
    pub(super) fn new(learned: &'l Learned, made_up: MadeUp<'l>) -> Self {
        Self {
            learned,
            made_up,
            noted: RefCell::default(),
        }
    }

    /// Notes a finding, once.
    pub(super) fn note(&self, finding: Finding, more: impl FnOnce(Draft<'_>) -> Draft<'_>) {
        let noted = &mut *self.noted.borrow_mut();
        let key = (finding.code.id, finding.written, finding.here.clone());
        if finding.written.is_written() && !noted.said.insert(key) {
            return;
        }
        if noted.report.diagnostics().len() >= MOST_PROBLEMS {
            noted.more += 1;
            return;
        }
        let draft = noted
            .report
            .draft(finding.code, finding.span, finding.message)
            .here(finding.here);
        let draft = if finding.written == finding.span {
            draft
        } else {
            draft.label(finding.written, "the value comes from here")
        };
        more(draft).emit();
    }

    /// Remembers that a made-up value stands for what is written here.
    pub(super) fn poison(&self, span: Span) {
        self.noted.borrow_mut().poisoned.insert(span);
    }

    /// Hands over what was found; whether the value is worth anything.
    pub(super) fn finish(self, report: &mut Report) -> bool {
        self.into_noted().finish(report)
    }

    pub(super) fn into_noted(self) -> Noted {
        self.noted.into_inner()
    }
}

impl Noted {
    /// Hands over what was found before a type refused even what was made up for it.
    pub(super) fn give_up(self, root: &Node, why: &str, report: &mut Report) {
        if self.report.diagnostics().is_empty() {
            let message = format!("the document cannot be used: {}", short(why));
            report
                .draft(&codes::WRONG_TYPE, root.span(), message)
                .emit();
        }
        self.finish(report);
    }

    pub(super) fn finish(mut self, report: &mut Report) -> bool {
        let complete = self.more == 0;
        let found = std::mem::take(self.report.diagnostics_mut());
        let last = found.len();
        for (number, mut diagnostic) in found.into_iter().enumerate() {
            if !complete && number + 1 == last {
                let note = format!("{} more problems of this document are not shown", self.more);
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

/// Text for a message: one short line.
pub(super) fn short(text: &str) -> String {
    const LONGEST: usize = 60;
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut short: String = text.chars().take(LONGEST).map(clean).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}
