//! Experiments that find the inputs which affect a part of a file: compiling is pure and fast.
//!
//! A part of a file that changes with one input depends on that input; no recorded origin is needed.

mod affected;
mod group_testing;
mod leaf;
mod repair;
mod variants;

use std::cell::LazyCell;
use std::collections::BTreeMap;

use gpuc_compile::compile::{Compilation, Options, compile_experiment};
use gpuc_compile::lock::LOCK_FILE;
use gpuc_syntax::load::Loaded;
use gpuc_syntax::node::Node;

use affected::Moved;
pub(super) use affected::{short, shown};
pub use group_testing::suspects;
pub(super) use leaf::touches;
pub use leaf::{Leaf, Leaves, leaves};
use variants::{Other, others, without};

use super::At;
use super::document::Page;
use super::path::Path;

/// The number of valid changes tried for an input, in addition to removing it.
const CHANGES: usize = 2;

/// The effect of one change of the input on the tree.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The changed input.
    pub leaf: Leaf,
    /// A description of the change.
    pub tried: String,
    renamed: Option<(String, String)>,
    /// The changed and removed files.
    files: BTreeMap<String, Option<String>>,
    /// The added files.
    new: BTreeMap<String, String>,
    /// The effect of other inputs that had to be removed too, which is not an effect of this input.
    beside: BTreeMap<String, Option<String>>,
}

/// An input that affects the queried part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The input.
    pub leaf: Leaf,
    /// A description of the change.
    pub tried: String,
    /// A description of the effect.
    pub then: String,
}

/// Changes one input in a few ways and compares the resulting trees.
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
            // The first change that may be valid if other inputs are removed.
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

/// Compiles the document with another root.
fn changed(loaded: &Loaded, root: Node, options: &Options<'_>) -> Compilation {
    let loaded = Loaded {
        root,
        ..loaded.clone()
    };
    compile_experiment(loaded, options)
}

/// Every file by path, including the lock.
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

/// The state of a file after a change.
#[derive(Clone, Copy)]
enum After<'t> {
    Same,
    Gone,
    Other(&'t str),
}

impl Trial {
    /// The state of a file after the change, by its new name if it was renamed.
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

    /// The effect on some parts of a file.
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

/// The effect of a changed file on some of its parts.
fn moved_of(file: &str, page: &Page, after: After<'_>, parts: &[At]) -> Vec<Moved> {
    let all = |moved: Moved| vec![moved; parts.len()];
    let after = match after {
        After::Same => return all(Moved::No),
        After::Gone => return all(Moved::Gone),
        After::Other(text) => Page::new(file, text),
    };
    let lines = LazyCell::new(|| affected::lines(page.text(), after.text()));
    let are_documents = page.root().is_some() && after.root().is_some();
    let one = |at: &At| match at {
        At::Whole => Moved::Now(None),
        At::Field(path) if are_documents => affected::field(page, &after, path),
        At::Field(_) => Moved::Gone,
        At::Line(line) => {
            let fields = page.fields_on(*line);
            if are_documents && !fields.is_empty() {
                affected::line(page, &after, &fields)
            } else {
                lines.get(line - 1).cloned().unwrap_or(Moved::No)
            }
        }
    };
    parts.iter().map(one).collect()
}

/// The inputs that affect each of some parts of a file, with the first change of the input that did. A section is
/// included only if none of its nested parts is.
pub fn causes(trials: &[Trial], file: &str, page: &Page, parts: &[At]) -> Vec<Vec<Cause>> {
    named(trials, file, page, parts, &|_| "it".to_owned())
}

/// The same, with a name for each part in the description of the effect.
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
