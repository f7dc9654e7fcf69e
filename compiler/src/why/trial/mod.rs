//! Which parts of the input move a part of a file, found by trying: compiling is pure and quick.
//!
//! Whatever moved with a change of one part follows from that part; nobody has to have written that down.

mod leaf;
mod moved;
mod other;
mod repair;
mod screen;

use std::cell::LazyCell;
use std::collections::BTreeMap;

use crate::compile::{Compilation, Options, compile_trial};
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
    /// What became of the files by what else had to be left out, which is not this part's doing.
    beside: BTreeMap<String, Option<String>>,
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
    let mut trials = Vec::new();
    let mut wrong = None;
    let mut attempt = |other: Other, wrong: &mut Option<(Other, Compilation)>| {
        let after = changed(&compilation.loaded, other.root.clone(), options);
        match files(&after) {
            Some(after) => {
                trials.push(compare(leaf, &before, after, other.tried, other.renamed));
                return true;
            }
            // The first that may be understood with something else left out.
            None if wrong.is_none() && repair::is_possible(leaf, &after) => {
                *wrong = Some((other, after));
            }
            None => {}
        }
        false
    };
    let mut understood = 0;
    for other in others(root, leaf, compilation.cluster.as_ref()) {
        understood += usize::from(attempt(other, &mut wrong));
        if understood == CHANGES {
            break;
        }
    }
    let mut repairs = Vec::new();
    if understood == 0 {
        repairs.extend(wrong);
    }
    let mut wrong = None;
    if let Some(without) = without(root, leaf) {
        attempt(without, &mut wrong);
    }
    repairs.extend(wrong);
    for (other, after) in repairs {
        trials.extend(repair::repaired(compilation, leaf, other, after, options));
    }
    trials.retain(|trial| !trial.files.is_empty());
    trials
}

/// The compilation of the same document with another tree.
fn changed(loaded: &Loaded, root: Node, options: &Options<'_>) -> Compilation {
    let loaded = Loaded {
        root,
        ..loaded.clone()
    };
    compile_trial(loaded, options)
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
        beside: BTreeMap::new(),
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
        let moved = moved_of(file, page, self.after(file), parts);
        let beside = match self.beside.get(file) {
            None => return moved,
            Some(None) => After::Gone,
            Some(Some(text)) => After::Other(text),
        };
        let beside = moved_of(file, page, beside, parts);
        let pairs = moved.into_iter().zip(beside);
        let own = pairs.map(|(moved, beside)| if moved == beside { Moved::No } else { moved });
        own.collect()
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
    let lines = LazyCell::new(|| moved::lines(page.text(), after.text()));
    let are_documents = page.root().is_some() && after.root().is_some();
    let one = |at: &At| match at {
        At::Whole => Moved::Now(None),
        At::Field(path) if are_documents => moved::field(page, &after, path),
        At::Field(_) => Moved::Gone,
        At::Line(line) => {
            let fields = page.fields_on(*line);
            if are_documents && !fields.is_empty() {
                moved::line(page, &after, &fields)
            } else {
                lines.get(line - 1).cloned().unwrap_or(Moved::No)
            }
        }
    };
    parts.iter().map(one).collect()
}

/// What moves each of some parts of a file: of several changes of one part of the input, the first that did. A section
/// is named only where no part of it is.
pub fn causes(trials: &[Trial], file: &str, page: &Page, parts: &[At]) -> Vec<Vec<Cause>> {
    named(trials, file, page, parts, &|_| "it".to_owned())
}

/// The same, with a name for each part to say what became of it.
pub(super) fn named(
    trials: &[Trial],
    file: &str,
    page: &Page,
    parts: &[At],
    name: &dyn Fn(&At) -> String,
) -> Vec<Vec<Cause>> {
    let mut causes: Vec<Vec<Cause>> = vec![Vec::new(); parts.len()];
    for trial in trials {
        let moved = trial.moved(file, page, parts);
        for ((causes, moved), at) in causes.iter_mut().zip(moved).zip(parts) {
            let Some(then) = moved.said(&name(at)) else {
                continue;
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
