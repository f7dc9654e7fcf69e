//! Which parts of the input move a part of a file, found by trying: compiling is pure and quick.
//!
//! Whatever moved with a change of one part follows from that part; nobody has to have written that down.

mod leaf;
mod moved;
mod other;
mod screen;

use std::collections::BTreeMap;

use crate::compile::{Compilation, Options, compile};
use crate::load::Loaded;
use crate::lock::LOCK_FILE;
use crate::node::Node;

pub(super) use leaf::touches;
pub use leaf::{Leaf, Leaves, leaves};
use moved::Moved;
pub(super) use moved::{short, shown};
use other::{Other, others, without};
pub use screen::suspects;

use super::At;
use super::page::Page;
use super::path::Path;

/// How many changes of one part are looked at, beside leaving it out.
const CHANGES: usize = 2;

/// What became of the tree with one change of the input.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What was changed.
    pub leaf: Leaf,
    /// How, in words.
    pub tried: String,
    renamed: Option<(String, String)>,
    /// The files that are others, or not there any more.
    files: BTreeMap<String, Option<String>>,
    /// Files that were not there before.
    new: BTreeMap<String, String>,
}

/// A part of the input that moves what was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The part.
    pub leaf: Leaf,
    /// What was tried, in words.
    pub tried: String,
    /// What became of it, in words.
    pub then: String,
}

/// Changes one part of the input, in a few ways, and looks what moves.
pub fn try_one(compilation: &Compilation, leaf: &Leaf, options: &Options<'_>) -> Vec<Trial> {
    let Some(before) = files(compilation) else {
        return Vec::new();
    };
    let root = &compilation.loaded.root;
    let attempt = |other: Other| {
        let after = files(&changed(&compilation.loaded, other.root, options))?;
        Some(compare(leaf, &before, after, other.tried, other.renamed))
    };
    let changes = others(root, leaf, compilation.cluster.as_ref()).into_iter();
    let mut trials: Vec<_> = changes.filter_map(attempt).take(CHANGES).collect();
    trials.extend(without(root, leaf).and_then(attempt));
    trials.retain(|trial| !trial.files.is_empty());
    trials
}

/// The compilation of the same document with another tree.
fn changed(loaded: &Loaded, root: Node, options: &Options<'_>) -> Compilation {
    let loaded = Loaded {
        root,
        ..loaded.clone()
    };
    compile(loaded, options)
}

/// Every file by its path, and the lock.
fn files(compilation: &Compilation) -> Option<BTreeMap<String, String>> {
    let (tree, lock) = compilation.output.as_ref()?;
    let files = tree.files();
    let files = files.map(|(path, file)| (path.to_owned(), file.contents.clone()));
    let lock = (LOCK_FILE.to_owned(), lock.to_json());
    Some(files.chain([lock]).collect())
}

fn compare(
    leaf: &Leaf,
    before: &BTreeMap<String, String>,
    mut after: BTreeMap<String, String>,
    tried: String,
    renamed: Option<(String, String)>,
) -> Trial {
    let mut files = BTreeMap::new();
    for (path, text) in before {
        match after.remove(path) {
            Some(same) if same == *text => {}
            other => {
                files.insert(path.clone(), other);
            }
        }
    }
    Trial {
        leaf: leaf.clone(),
        tried,
        renamed,
        files,
        new: after,
    }
}

/// What a file became.
#[derive(Clone, Copy)]
enum After<'t> {
    Same,
    Gone,
    Other(&'t str),
}

impl Trial {
    /// What the file became, where it is another: by its new name where a name in it was changed.
    fn after(&self, file: &str) -> After<'_> {
        let moved = || {
            let (old, new) = self.renamed.as_ref()?;
            self.new.get(&file.replace(old, new))
        };
        match self.files.get(file) {
            None => After::Same,
            Some(Some(now)) => After::Other(now),
            Some(None) => moved().map_or(After::Gone, |now| After::Other(now)),
        }
    }

    /// What became of some parts of a file.
    fn moved(&self, file: &str, page: &Page, parts: &[At]) -> Vec<Moved> {
        moved_of(file, page, self.after(file), parts)
    }
}

/// What became of some parts of a file.
fn moved_of(file: &str, page: &Page, after: After<'_>, parts: &[At]) -> Vec<Moved> {
    let all = |moved: Moved| vec![moved; parts.len()];
    let after = match after {
        After::Same => return all(Moved::No),
        After::Gone => return all(Moved::Gone),
        After::Other(text) => Page::new(file, text),
    };
    let lines = moved::lines(page.text(), after.text());
    let one = |at: &At| match (at, page.root(), after.root()) {
        (At::Whole, _, _) => Moved::Now(None),
        (At::Field(path), Some(old), Some(new)) => moved::field(old, new, path),
        (At::Field(_), _, _) => Moved::Gone,
        (At::Line(line), _, _) => lines.get(line - 1).cloned().unwrap_or(Moved::No),
    };
    parts.iter().map(one).collect()
}

/// What moves each of some parts of a file: of several changes of one part of the input, the first that did. A section
/// is named only where no part of it is.
pub fn causes(trials: &[Trial], file: &str, page: &Page, parts: &[At]) -> Vec<Vec<Cause>> {
    let mut causes: Vec<Vec<Cause>> = vec![Vec::new(); parts.len()];
    for trial in trials {
        let moved = trial.moved(file, page, parts);
        for (causes, moved) in causes.iter_mut().zip(moved) {
            let then = match moved {
                Moved::No => continue,
                Moved::Gone => "it is not there".to_owned(),
                Moved::Now(Some(value)) => format!("it is `{value}`"),
                Moved::Now(None) => "it is another".to_owned(),
            };
            if causes
                .iter()
                .all(|cause| cause.leaf.path != trial.leaf.path)
            {
                causes.push(Cause {
                    leaf: trial.leaf.clone(),
                    tried: trial.tried.clone(),
                    then,
                });
            }
        }
    }
    for causes in &mut causes {
        let paths: Vec<_> = causes.iter().map(|cause| cause.leaf.path.clone()).collect();
        causes.retain(|cause| {
            let holds = |path: &Path| cause.leaf.path != *path && path.is_below(&cause.leaf.path);
            !cause.leaf.is_section || !paths.iter().any(holds)
        });
        causes.sort_by_key(|cause| (cause.leaf.is_section, cause.leaf.span));
    }
    causes
}
