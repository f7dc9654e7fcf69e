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

use affected::PartEffect;
pub(super) use affected::{short_text, short_value};
pub use group_testing::find_suspects;
pub(super) use leaf::overlaps;
pub use leaf::{InputLeaf, InputLeaves, input_leaves};
use variants::{InputVariant, variants, without_leaf};

use super::QueryTarget;
use super::document::IndexedDocument;
use super::path::Path;

/// The number of valid changes tried for an input, in addition to removing it.
const CHANGES_PER_INPUT: usize = 2;

/// The effect of one change of the input on the tree.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The changed input.
    pub leaf: InputLeaf,
    /// A description of the change.
    pub change: String,
    renamed: Option<(String, String)>,
    /// The changed and removed files.
    changed: BTreeMap<String, Option<String>>,
    /// The added files.
    added: BTreeMap<String, String>,
    /// The effect of other inputs that had to be removed too, which is not an effect of this input.
    side_effects: BTreeMap<String, Option<String>>,
}

/// An input that affects the queried part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The input.
    pub leaf: InputLeaf,
    /// A description of the change.
    pub change: String,
    /// A description of the effect.
    pub effect: String,
}

/// Changes one input in a few ways and compares the resulting trees.
pub fn run_experiments(
    compilation: &Compilation,
    leaf: &InputLeaf,
    options: &Options<'_>,
) -> Vec<Experiment> {
    let Some(before) = files_by_path(compilation) else {
        return Vec::new();
    };
    let root = &compilation.loaded.root;
    let mut trials = Vec::new();
    let mut wrong = None;
    let mut attempt = |other: InputVariant, wrong: &mut Option<(InputVariant, Compilation)>| {
        let after = compile_changed(&compilation.loaded, other.root.clone(), options);
        match files_by_path(&after) {
            Some(after) => {
                trials.push(compare_trees(
                    leaf,
                    &before,
                    after,
                    other.change,
                    other.renamed,
                ));
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
    let mut valid_changes = 0;
    for other in variants(root, leaf, compilation.cluster.as_ref()) {
        valid_changes += usize::from(attempt(other, &mut wrong));
        if valid_changes == CHANGES_PER_INPUT {
            break;
        }
    }
    let mut repairs = Vec::new();
    if valid_changes == 0 {
        repairs.extend(wrong);
    }
    let mut wrong = None;
    if let Some(without) = without_leaf(root, leaf) {
        attempt(without, &mut wrong);
    }
    repairs.extend(wrong);
    for (other, after) in repairs {
        trials.extend(repair::repair(compilation, leaf, other, after, options));
    }
    trials.retain(|trial| !trial.changed.is_empty());
    trials
}

/// Compiles the document with another root.
fn compile_changed(loaded: &Loaded, root: Node, options: &Options<'_>) -> Compilation {
    let loaded = Loaded {
        root,
        ..loaded.clone()
    };
    compile_experiment(loaded, options)
}

/// Every file by path, including the lock.
fn files_by_path(compilation: &Compilation) -> Option<BTreeMap<String, String>> {
    let (tree, lock) = compilation.output.as_ref()?;
    let files = tree.files();
    let files = files.map(|(path, file)| (path.to_owned(), file.contents.clone()));
    let lock = (LOCK_FILE.to_owned(), lock.to_json());
    Some(files.chain([lock]).collect())
}

fn compare_trees(
    leaf: &InputLeaf,
    before: &BTreeMap<String, String>,
    mut after: BTreeMap<String, String>,
    tried: String,
    renamed: Option<(String, String)>,
) -> Experiment {
    let mut files = BTreeMap::new();
    for (path, text) in before {
        match after.remove(path) {
            Some(same) if same == *text => {}
            other => {
                files.insert(path.clone(), other);
            }
        }
    }
    Experiment {
        leaf: leaf.clone(),
        change: tried,
        renamed,
        changed: files,
        added: after,
        side_effects: BTreeMap::new(),
    }
}

/// The state of a file after a change.
#[derive(Clone, Copy)]
enum TreeFileState<'t> {
    Unchanged,
    Removed,
    Changed(&'t str),
}

impl Experiment {
    /// The state of a file after the change, by its new name if it was renamed.
    fn state_of(&self, file: &str) -> TreeFileState<'_> {
        let moved = || {
            let (old, new) = self.renamed.as_ref()?;
            self.added.get(&file.replace(old, new))
        };
        match self.changed.get(file) {
            None => TreeFileState::Unchanged,
            Some(Some(now)) => TreeFileState::Changed(now),
            Some(None) => moved().map_or(TreeFileState::Removed, |now| TreeFileState::Changed(now)),
        }
    }

    /// The effect on some parts of a file.
    fn effects_on(
        &self,
        file: &str,
        page: &IndexedDocument,
        parts: &[QueryTarget],
    ) -> Vec<PartEffect> {
        let moved = effects_of_state(file, page, self.state_of(file), parts);
        let beside = match self.side_effects.get(file) {
            None => return moved,
            Some(None) => TreeFileState::Removed,
            Some(Some(text)) => TreeFileState::Changed(text),
        };
        let beside = effects_of_state(file, page, beside, parts);
        let pairs = moved.into_iter().zip(beside);
        let own = pairs.map(|(moved, beside)| {
            if moved == beside {
                PartEffect::Unchanged
            } else {
                moved
            }
        });
        own.collect()
    }
}

/// The effect of a changed file on some of its parts.
fn effects_of_state(
    file: &str,
    page: &IndexedDocument,
    after: TreeFileState<'_>,
    parts: &[QueryTarget],
) -> Vec<PartEffect> {
    let all = |moved: PartEffect| vec![moved; parts.len()];
    let after = match after {
        TreeFileState::Unchanged => return all(PartEffect::Unchanged),
        TreeFileState::Removed => return all(PartEffect::Removed),
        TreeFileState::Changed(text) => IndexedDocument::new(file, text),
    };
    let lines = LazyCell::new(|| affected::line_effects(page.text(), after.text()));
    let are_documents = page.root().is_some() && after.root().is_some();
    let one = |at: &QueryTarget| match at {
        QueryTarget::File => PartEffect::Changed(None),
        QueryTarget::Field(path) if are_documents => affected::compare_field(page, &after, path),
        QueryTarget::Field(_) => PartEffect::Removed,
        QueryTarget::Line(line) => {
            let fields = page.fields_starting_on(*line);
            if are_documents && !fields.is_empty() {
                affected::compare_line(page, &after, &fields)
            } else {
                lines
                    .get(line - 1)
                    .cloned()
                    .unwrap_or(PartEffect::Unchanged)
            }
        }
    };
    parts.iter().map(one).collect()
}

/// The inputs that affect each of some parts of a file, with the first change of the input that did. A section is
/// included only if none of its nested parts is.
pub fn causes(
    trials: &[Experiment],
    file: &str,
    page: &IndexedDocument,
    parts: &[QueryTarget],
) -> Vec<Vec<Cause>> {
    named_causes(trials, file, page, parts, &|_| "it".to_owned())
}

/// The same, with a name for each part in the description of the effect.
pub(super) fn named_causes(
    trials: &[Experiment],
    file: &str,
    page: &IndexedDocument,
    parts: &[QueryTarget],
    name: &dyn Fn(&QueryTarget) -> String,
) -> Vec<Vec<Cause>> {
    let mut causes: Vec<Vec<Cause>> = vec![Vec::new(); parts.len()];
    for trial in trials {
        let moved = trial.effects_on(file, page, parts);
        for ((causes, moved), at) in causes.iter_mut().zip(moved).zip(parts) {
            let Some(then) = moved.describe(&name(at)) else {
                continue;
            };
            if causes
                .iter()
                .all(|cause| cause.leaf.path != trial.leaf.path)
            {
                causes.push(Cause {
                    leaf: trial.leaf.clone(),
                    change: trial.change.clone(),
                    effect: then,
                });
            }
        }
    }
    for causes in &mut causes {
        let paths: Vec<_> = causes.iter().map(|cause| cause.leaf.path.clone()).collect();
        causes.retain(|cause| {
            let is_below_cause =
                |path: &Path| cause.leaf.path != *path && path.is_below(&cause.leaf.path);
            !cause.leaf.is_section || !paths.iter().any(is_below_cause)
        });
        causes.sort_by_key(|cause| (cause.leaf.is_section, cause.leaf.span));
    }
    causes
}
