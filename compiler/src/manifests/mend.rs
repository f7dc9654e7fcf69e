//! Findings' edits, applied to the texts of files.

use std::collections::{BTreeMap, BTreeSet};

use crate::diag::{Diagnostic, Edit, Report, Severity};
use crate::model::Cluster;
use crate::source::Sources;

use super::{Manifests, check};

/// Rounds of edits, after which the rest is left as it is. Edits that meet wait for the next round.
const ROUNDS: usize = 50;

/// The mark at the start of some files, which is no part of what is read.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// What became of some files.
#[derive(Clone, Debug, Default)]
pub struct Mended {
    /// The files that are other now, by path, with their texts.
    pub files: BTreeMap<String, String>,
    /// How many findings were mended, those among them that showed only after others.
    pub findings: usize,
}

/// A file that is mended.
struct Mending {
    path: String,
    text: String,
    /// The text before the last round.
    before: String,
    /// How many findings there were before the last round, of each code that it was to mend.
    mended: BTreeMap<&'static str, usize>,
    /// How many findings' edits stay.
    kept: usize,
    /// How many findings' edits a round applies at most: fewer after a round that did not help, to find whose edits
    /// those were.
    most: usize,
    /// What the last round applied, as code and message.
    last: Vec<(&'static str, String)>,
    /// What does not help by itself, and is not tried again.
    refused: BTreeSet<(&'static str, String)>,
    /// Whether it may be changed.
    may_change: bool,
}

/// Applies the edits of findings, round by round, until none is left. `files` are paths and texts, and whether each may
/// be changed; `heed` drops what the user allows.
///
/// Edits that do not make their findings go away, or break the text, are taken back, and tried again with fewer others
/// beside them: of two findings of one place, the edit of the one may be of no use before that of the other.
pub fn mend(
    cluster: &Cluster,
    sources: &Sources,
    files: &[(String, String, bool)],
    heed: &dyn Fn(&mut Vec<Diagnostic>),
) -> Mended {
    let mut mending: Vec<_> = files.iter().map(Mending::new).collect();
    for round in 1..=ROUNDS {
        let (sources, findings) = look(cluster, sources, &mending, heed);
        let findings = by_file(&findings);
        let mut was_worse = false;
        for file in &mut mending {
            was_worse |= file.judge(of_file(&findings, &sources, file));
        }
        // What was taken back has other findings than those that were looked at.
        if was_worse {
            continue;
        }
        // What the last round changed, nobody would judge.
        if round == ROUNDS {
            break;
        }
        let mut changed = false;
        for file in mending.iter_mut().filter(|file| file.may_change) {
            changed |= file.apply(of_file(&findings, &sources, file));
        }
        if !changed {
            break;
        }
    }
    let findings = mending.iter().map(|file| file.kept).sum();
    let changed = mending.iter().zip(files);
    let changed = changed.filter(|(file, (_, text, _))| file.whole(text) != *text);
    Mended {
        files: changed
            .map(|(file, (_, text, _))| (file.path.clone(), file.whole(text)))
            .collect(),
        findings,
    }
}

/// Reads and checks the files as they are now.
fn look(
    cluster: &Cluster,
    sources: &Sources,
    files: &[Mending],
    heed: &dyn Fn(&mut Vec<Diagnostic>),
) -> (Sources, Vec<Diagnostic>) {
    let (mut sources, mut report) = (sources.clone(), Report::default());
    let mut manifests = Manifests::default();
    for file in files {
        manifests.read(&file.path, &file.text, &mut sources, &mut report);
    }
    check(cluster, &manifests, &sources, &mut report);
    let mut findings = std::mem::take(report.diagnostics_mut());
    heed(&mut findings);
    (sources, findings)
}

/// The findings of each file.
fn by_file(findings: &[Diagnostic]) -> BTreeMap<u32, Vec<&Diagnostic>> {
    let mut by_file: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for found in findings {
        let own = by_file.entry(found.primary.span.source);
        own.or_default().push(found);
    }
    by_file
}

/// The findings in a file.
fn of_file<'f, 'd>(
    findings: &'f BTreeMap<u32, Vec<&'d Diagnostic>>,
    sources: &Sources,
    file: &Mending,
) -> &'f [&'d Diagnostic] {
    let own = sources.find(&file.path).and_then(|id| findings.get(&id));
    own.map_or(&[], Vec::as_slice)
}

/// How many findings there are of a code.
fn count(findings: &[&Diagnostic], id: &str) -> usize {
    findings.iter().filter(|found| found.code.id == id).count()
}

impl Mending {
    fn new((path, text, may_change): &(String, String, bool)) -> Self {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        Self {
            path: path.clone(),
            text: text.to_owned(),
            before: text.to_owned(),
            mended: BTreeMap::new(),
            kept: 0,
            most: usize::MAX,
            last: Vec::new(),
            refused: BTreeSet::new(),
            may_change: *may_change,
        }
    }

    /// Takes the last round back where it did not help, and answers whether it did so.
    fn judge(&mut self, findings: &[&Diagnostic]) -> bool {
        let mut mended = self.mended.iter();
        let is_worse = mended.any(|(id, before)| count(findings, id) >= *before)
            || (self.before != self.text && !reads_alike(&self.before, &self.text));
        self.mended.clear();
        let last = std::mem::take(&mut self.last);
        if is_worse {
            self.text.clone_from(&self.before);
            self.most = (last.len() / 2).max(1);
            if last.len() == 1 {
                self.refused.extend(last);
            }
        } else if !last.is_empty() {
            self.kept += last.len();
            self.most = self.most.saturating_mul(2);
        }
        is_worse
    }

    /// Applies the edits that do not meet, and answers whether there were any; of findings that want to change the
    /// same place, the first one's.
    fn apply(&mut self, findings: &[&Diagnostic]) -> bool {
        let mut taken: BTreeMap<u32, &Edit> = BTreeMap::new();
        // What is misspelt comes first: other findings may come of it alone.
        let is_new = |found: &Diagnostic| {
            let name = (found.code.id, found.message.clone());
            found.fix.is_some() && !self.refused.contains(&name)
        };
        let is_first = |found: &Diagnostic| super::is_of_names(found.code) && is_new(found);
        let some_first = findings.iter().any(|found| is_first(found));
        for found in findings {
            let Some(fix) = found
                .fix
                .as_ref()
                .filter(|_| !some_first || is_first(found))
            else {
                continue;
            };
            let source = found.primary.span.source;
            let meets = |edit: &Edit| {
                let before = taken.range(..=edit.span.end).next_back();
                before.is_some_and(|(_, other)| other.span.end >= edit.span.start)
            };
            let name = (found.code.id, found.message.clone());
            if self.last.len() >= self.most || self.refused.contains(&name) {
                continue;
            }
            let is_here = fix.edits.iter().all(|edit| edit.span.source == source);
            if is_here && !fix.edits.iter().any(meets) {
                taken.extend(fix.edits.iter().map(|edit| (edit.span.start, edit)));
                self.last.push(name);
                let id = found.code.id;
                let before = self.mended.entry(id);
                before.or_insert_with(|| count(findings, id));
            }
        }
        let (mut text, mut done) = (String::new(), 0);
        for edit in taken.values() {
            text.push_str(&self.text[done..edit.span.start as usize]);
            text.push_str(&edit.text);
            done = edit.span.end as usize;
        }
        text.push_str(&self.text[done..]);
        self.before = std::mem::replace(&mut self.text, text);
        !taken.is_empty()
    }

    /// The whole text, with what stood before it in the file.
    fn whole(&self, original: &str) -> String {
        let mark = if original.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK
        } else {
            ""
        };
        format!("{mark}{}", self.text)
    }
}

/// Whether a text has as many objects as another one, and nothing that cannot be read.
fn reads_alike(before: &str, after: &str) -> bool {
    let read = |text: &str| {
        let (mut manifests, mut report) = (Manifests::default(), Report::default());
        manifests.read("", text, &mut Sources::default(), &mut report);
        (manifests.objects.len(), report.count(Severity::Error))
    };
    read(before) == read(after)
}
