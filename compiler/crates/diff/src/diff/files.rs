//! Line differences between generated files, and applying them.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_syntax::tree::{Tree, TreeFile};
use similar::{DiffOp, TextDiff};

use super::report::{Change, FileChange, Hunk, Status};

/// Files by path, with their executable flag.
pub(super) type FileContents<'a> = BTreeMap<&'a str, (&'a str, bool)>;

/// The files of a tree and its lock, which is not part of the tree.
pub(super) fn tree_contents<'a>(tree: Option<&'a Tree>, lock: Option<&'a str>) -> FileContents<'a> {
    let files = tree.into_iter().flat_map(Tree::files);
    let files = files
        .map(|(path, file): (&str, &TreeFile)| (path, (file.contents.as_str(), file.executable)));
    let lock = lock.map(|text| (gpuc_compile::lock::LOCK_FILE, (text, false)));
    files.chain(lock).collect()
}

/// The files that differ, each with the changes that explain it.
pub(super) fn changed_files(
    before: &FileContents<'_>,
    after: &FileContents<'_>,
    changes: &[Change],
) -> Vec<FileChange> {
    let paths: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let mut accounts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for change in changes {
        for file in &change.files {
            accounts.entry(file).or_default().push(change.id);
        }
    }
    let differs = |path: &str| -> Option<FileChange> {
        let (old, new) = (before.get(path), after.get(path));
        if old == new {
            return None;
        }
        let status = match (old, new) {
            (None, _) => Status::Added,
            (_, None) => Status::Removed,
            _ => Status::Kept,
        };
        let text =
            |file: Option<&(&'_ str, bool)>| file.map_or(String::new(), |file| file.0.to_owned());
        let is_executable = |file: Option<&(&str, bool)>| file.is_some_and(|file| file.1);
        Some(FileChange {
            path: path.to_owned(),
            status,
            changes: accounts.get(path).cloned().unwrap_or_default(),
            executable: (new.is_some() && is_executable(old) != is_executable(new))
                .then(|| is_executable(new)),
            hunks: diff_hunks(&text(old), &text(new)),
        })
    };
    paths.into_iter().filter_map(differs).collect()
}

fn diff_hunks(old: &str, new: &str) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(old, new);
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let slice = |lines: &[&str], start: usize, length: usize| -> Vec<String> {
        let lines = lines.iter().skip(start).take(length);
        lines.map(|line| (*line).to_owned()).collect()
    };
    let hunk = |op: &DiffOp| {
        let (was, is) = (op.old_range(), op.new_range());
        (!matches!(op, DiffOp::Equal { .. })).then(|| Hunk {
            after_line: was.start,
            removed: slice(&old, was.start, was.len()),
            added: slice(&new, is.start, is.len()),
        })
    };
    diff.ops().iter().filter_map(hunk).collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Applies hunks to a file; `None` if a hunk does not match.
pub fn apply_hunks(old: &str, hunks: &[Hunk]) -> Option<String> {
    let old = lines(old);
    let (mut text, mut next) = (String::new(), 0);
    for hunk in hunks {
        text.extend(old.get(next..hunk.after_line)?.iter().copied());
        next = hunk.after_line + hunk.removed.len();
        if old.get(hunk.after_line..next)? != hunk.removed {
            return None;
        }
        text.extend(hunk.added.iter().map(String::as_str));
    }
    text.extend(old.get(next..)?.iter().copied());
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn applied_hunks_yield_the_new_text(old in "[ab\n]{0,30}", new in "[ab\n]{0,30}") {
            prop_assert_eq!(apply_hunks(&old, &diff_hunks(&old, &new)), Some(new));
        }
    }
}
