//! Applies the edits of diagnostics to the texts of files.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::Cluster;
use gpuc_syntax::diag::{Applicability, Diagnostic, Edit, Report, Severity};
use gpuc_syntax::source::Sources;

use super::{Manifests, check};

/// The maximum number of rounds. Overlapping edits wait for the next round.
const MAX_ROUNDS: usize = 50;

/// The byte order mark at the start of some files, which is not parsed.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The result of fixing files.
#[derive(Clone, Debug, Default)]
pub struct FixedFiles {
    /// The changed files, by path, with their new texts.
    pub files: BTreeMap<String, String>,
    /// The number of fixed diagnostics, including those that appeared after other fixes.
    pub fixed_count: usize,
}

/// The state of one file.
struct FileState {
    path: String,
    text: String,
    /// The text before the last round.
    text_before: String,
    /// The number of diagnostics before the last round, for each code that it tried to fix.
    counts: BTreeMap<&'static str, usize>,
    /// The number of diagnostics whose edits are kept.
    fixed_count: usize,
    /// The maximum number of diagnostics to fix per round. It is halved after a round that did not help, to find the
    /// edits responsible.
    max_per_round: usize,
    /// The diagnostics of the last round, as code and message.
    last_round: Vec<(&'static str, String)>,
    /// Diagnostics whose edits do not help and are not tried again.
    rejected: BTreeSet<(&'static str, String)>,
    /// The number of fixed diagnostics when rejected edits were last tried again.
    fixed_before_retry: usize,
    /// Whether it may be changed.
    may_change: bool,
}

/// Applies the edits of diagnostics in rounds until none is left. `files` are paths and texts, and whether each may be
/// changed; `apply_allow` drops the diagnostics that the user allows.
///
/// Fixes of a higher `applicability` are not applied.
///
/// Edits that do not remove their diagnostics, or break the text, are reverted and tried again with fewer others: of
/// two diagnostics with the same span, one edit may only help after the other.
pub fn fix_files(
    cluster: &Cluster,
    sources: &Sources,
    files: &[(String, String, bool)],
    applicability: Applicability,
    apply_allow: &dyn Fn(&mut Vec<Diagnostic>),
) -> FixedFiles {
    let mut states: Vec<_> = files.iter().map(FileState::new).collect();
    for round in 1..=MAX_ROUNDS {
        let (sources, mut findings) = check_files(cluster, sources, &states, apply_allow);
        for found in &mut findings {
            found.fix.take_if(|it| it.applicability > applicability);
        }
        let findings = group_by_file(&findings);
        let mut has_reverted = false;
        for file in &mut states {
            has_reverted |= file.revert_if_worse(findings_in(&findings, &sources, file));
        }
        // The findings do not belong to reverted texts.
        if has_reverted {
            continue;
        }
        // No round would verify further edits.
        if round == MAX_ROUNDS {
            break;
        }
        let mut has_changed = false;
        for file in states.iter_mut().filter(|file| file.may_change) {
            has_changed |= file.apply(findings_in(&findings, &sources, file));
        }
        if !has_changed {
            let retried = states.iter_mut().map(FileState::retry_rejected);
            if retried.filter(|it| *it).count() == 0 {
                break;
            }
        }
    }
    let findings = states.iter().map(|file| file.fixed_count).sum();
    let changed = states.iter().zip(files);
    let changed = changed.filter(|(file, (_, text, _))| file.full_text(text) != *text);
    FixedFiles {
        files: changed
            .map(|(file, (_, text, _))| (file.path.clone(), file.full_text(text)))
            .collect(),
        fixed_count: findings,
    }
}

/// Reads and checks the current texts.
fn check_files(
    cluster: &Cluster,
    sources: &Sources,
    files: &[FileState],
    apply_allow: &dyn Fn(&mut Vec<Diagnostic>),
) -> (Sources, Vec<Diagnostic>) {
    let (mut sources, mut report) = (sources.clone(), Report::default());
    let mut manifests = Manifests::default();
    for file in files {
        manifests.read(&file.path, &file.text, &mut sources, &mut report);
    }
    check(cluster, &manifests, &sources, &mut report);
    let mut findings = std::mem::take(report.diagnostics_mut());
    apply_allow(&mut findings);
    (sources, findings)
}

/// The findings of each file.
fn group_by_file(findings: &[Diagnostic]) -> BTreeMap<u32, Vec<&Diagnostic>> {
    let mut by_file: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for found in findings {
        let own = by_file.entry(found.primary.span.source);
        own.or_default().push(found);
    }
    by_file
}

/// The findings in a file.
fn findings_in<'f, 'd>(
    findings: &'f BTreeMap<u32, Vec<&'d Diagnostic>>,
    sources: &Sources,
    file: &FileState,
) -> &'f [&'d Diagnostic] {
    let own = sources.find(&file.path).and_then(|id| findings.get(&id));
    own.map_or(&[], Vec::as_slice)
}

/// The number of findings with a code.
fn count_with_code(findings: &[&Diagnostic], id: &str) -> usize {
    findings.iter().filter(|found| found.code.id == id).count()
}

impl FileState {
    fn new((path, text, may_change): &(String, String, bool)) -> Self {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        Self {
            path: path.clone(),
            text: text.to_owned(),
            text_before: text.to_owned(),
            counts: BTreeMap::new(),
            fixed_count: 0,
            max_per_round: usize::MAX,
            last_round: Vec::new(),
            rejected: BTreeSet::new(),
            fixed_before_retry: 0,
            may_change: *may_change,
        }
    }

    /// Reverts the last round if it did not help. Returns whether it did.
    fn revert_if_worse(&mut self, findings: &[&Diagnostic]) -> bool {
        let mut counts = self.counts.iter();
        let is_worse = counts.any(|(id, before)| count_with_code(findings, id) >= *before)
            || (self.text_before != self.text
                && !has_same_structure(&self.text_before, &self.text));
        self.counts.clear();
        let last = std::mem::take(&mut self.last_round);
        if is_worse {
            self.text.clone_from(&self.text_before);
            self.max_per_round = (last.len() / 2).max(1);
            if last.len() == 1 {
                self.rejected.extend(last);
            }
        } else if !last.is_empty() {
            self.fixed_count += last.len();
            self.max_per_round = self.max_per_round.saturating_mul(2);
        }
        is_worse
    }

    /// Applies the edits that do not overlap, preferring earlier findings. Returns whether there were any.
    fn apply(&mut self, findings: &[&Diagnostic]) -> bool {
        let mut applied: BTreeMap<u32, &Edit> = BTreeMap::new();
        let is_new = |found: &Diagnostic| {
            let name = (found.code.id, found.message.clone());
            found.fix.is_some() && !self.rejected.contains(&name)
        };
        // Misspelled names come first: they may cause the other findings.
        let is_name =
            |found: &Diagnostic| super::check::is_unreadable_code(found.code) && is_new(found);
        let only_names = findings.iter().any(|found| is_name(found));
        for found in findings {
            let Some(fix) = found.fix.as_ref().filter(|_| !only_names || is_name(found)) else {
                continue;
            };
            let source = found.primary.span.source;
            let overlaps = |edit: &Edit| {
                let before = applied.range(..=edit.span.end).next_back();
                before.is_some_and(|(_, other)| other.span.end >= edit.span.start)
            };
            let name = (found.code.id, found.message.clone());
            if self.last_round.len() >= self.max_per_round || self.rejected.contains(&name) {
                continue;
            }
            let is_in_file = fix.edits.iter().all(|edit| edit.span.source == source);
            if is_in_file && !fix.edits.iter().any(overlaps) {
                applied.extend(fix.edits.iter().map(|edit| (edit.span.start, edit)));
                self.last_round.push(name);
                let id = found.code.id;
                let before = self.counts.entry(id);
                before.or_insert_with(|| count_with_code(findings, id));
            }
        }
        let (mut text, mut done) = (String::new(), 0);
        for edit in applied.values() {
            text.push_str(&self.text[done..edit.span.start as usize]);
            text.push_str(&edit.text);
            done = edit.span.end as usize;
        }
        text.push_str(&self.text[done..]);
        self.text_before = std::mem::replace(&mut self.text, text);
        !applied.is_empty()
    }

    /// Permits the rejected edits again if others were applied since they were rejected: an edit may only help after
    /// another one. Returns whether it did.
    fn retry_rejected(&mut self) -> bool {
        if self.rejected.is_empty() || self.fixed_count == self.fixed_before_retry {
            return false;
        }
        self.rejected.clear();
        self.fixed_before_retry = self.fixed_count;
        self.max_per_round = 1;
        true
    }

    /// The text with the byte order mark of the original.
    fn full_text(&self, original: &str) -> String {
        let mark = if original.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK
        } else {
            ""
        };
        format!("{mark}{}", self.text)
    }
}

/// Whether a text has the same numbers of objects and errors as another one.
fn has_same_structure(before: &str, after: &str) -> bool {
    let read = |text: &str| {
        let (mut manifests, mut report) = (Manifests::default(), Report::default());
        manifests.read("", text, &mut Sources::default(), &mut report);
        (manifests.objects.len(), report.count(Severity::Error))
    };
    read(before) == read(after)
}
