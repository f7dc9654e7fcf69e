//! Group testing for large inputs: many inputs are changed at once, and only groups that affect the queried part are
//! split.
//!
//! If a hundred changes together have no effect, none of them has, unless two cancel each other out, which experiments
//! with single inputs would not show either. If a group does not compile, the locations of its errors determine the
//! changes to retry in another round.

use std::sync::atomic::{AtomicUsize, Ordering};

use gpuc_compile::compile::{Compilation, Options};
use gpuc_compile::lock::LOCK_FILE;
use gpuc_syntax::source::Span;

use super::leaf::{self, InputLeaf, InputLeaves};
use super::variants::{self, Replacement};
use super::{TreeFileState, compile_changed, effects_of_state};
use crate::why::{Path, QueryTarget, ResolvedQuery, overlaps};

/// The maximum work: the number of compilations times the size of the document, because each one reads all of it.
const MAX_WORK: usize = 80_000;

/// The minimum number of compilations, independent of the size of the document.
const MIN_COMPILATIONS: usize = 24;

/// The approximate number of compilations of an experiment with a single input.
const COMPILATIONS_PER_INPUT: usize = 3;

/// The number of values tried in groups before an input gets its own experiment.
const MAX_ROUNDS: usize = 6;

/// The size up to which a group that does not compile is not split.
const MIN_SPLIT_SIZE: usize = 3;

/// The number of valid values to test for an input.
const VALUES_PER_INPUT: usize = 2;

/// The inputs that get their own experiment, and the number of inputs that were not tested because there are too many.
pub fn find_suspects(
    compilation: &Compilation,
    leaves: InputLeaves,
    query: &ResolvedQuery,
    options: &Options<'_>,
    tick: &(dyn Fn() + Sync),
) -> (Vec<InputLeaf>, usize) {
    let InputLeaves {
        mut all,
        early_count: early,
        size,
    } = leaves;
    let most = (MAX_WORK / size.max(1)).max(MIN_COMPILATIONS);
    if all.len() * COMPILATIONS_PER_INPUT <= most {
        return (all, 0);
    }
    let rest = all.split_off(early.min(most / COMPILATIONS_PER_INPUT / 2));
    let screen = GroupTest {
        compilation,
        options,
        query,
        targets: queried_targets(query),
        remaining: AtomicUsize::new(most.saturating_sub(all.len() * COMPILATIONS_PER_INPUT)),
        tick,
    };
    let (found, unknown) = screen.find_affecting(&rest);
    all.extend(found);
    (all, unknown)
}

/// The queried parts.
fn queried_targets(query: &ResolvedQuery) -> Vec<QueryTarget> {
    match &query.target {
        QueryTarget::Field(path) => {
            let leaves = query.document.leaf_paths(path).into_iter();
            leaves.map(QueryTarget::Field).collect()
        }
        at => vec![at.clone()],
    }
}

struct GroupTest<'s> {
    compilation: &'s Compilation,
    options: &'s Options<'s>,
    query: &'s ResolvedQuery,
    targets: Vec<QueryTarget>,
    remaining: AtomicUsize,
    tick: &'s (dyn Fn() + Sync),
}

/// A change of one input.
#[derive(Clone)]
struct InputChange<'l> {
    leaf: &'l InputLeaf,
    /// The replacement; `None` to remove the input.
    replacement: Option<Replacement>,
}

/// The effect on the queried parts.
enum GroupOutcome {
    Unchanged,
    Affected,
    /// The document is invalid: the primary locations of the errors, and their secondary locations.
    Invalid([Vec<Span>; 2]),
}

/// The results of a round.
#[derive(Default)]
struct RoundResult<'l> {
    affecting: Vec<&'l InputLeaf>,
    unaffecting: Vec<&'l InputLeaf>,
    invalid: Vec<&'l InputLeaf>,
    untested: Vec<&'l InputLeaf>,
}

impl RoundResult<'_> {
    fn merge(mut self, other: Self) -> Self {
        self.affecting.extend(other.affecting);
        self.unaffecting.extend(other.unaffecting);
        self.invalid.extend(other.invalid);
        self.untested.extend(other.untested);
        self
    }
}

/// The intermediate result for an input.
struct InputState<'l> {
    leaf: &'l InputLeaf,
    replacements: std::vec::IntoIter<Replacement>,
    valid_changes: usize,
    is_done: bool,
}

impl GroupTest<'_> {
    /// The inputs that affect the queried part or have no valid change, and the number of untested inputs.
    fn find_affecting(&self, leaves: &[InputLeaf]) -> (Vec<InputLeaf>, usize) {
        let mut found: Vec<&InputLeaf> = Vec::new();
        let mut unknown: Vec<&InputLeaf> = Vec::new();
        let root = &self.compilation.loaded.root;
        let cluster = self.compilation.cluster.as_ref();
        let state = |leaf| {
            let mut instead = variants::replacements(root, leaf, cluster);
            instead.truncate(MAX_ROUNDS);
            InputState {
                leaf,
                is_done: instead.is_empty(),
                replacements: instead.into_iter(),
                valid_changes: 0,
            }
        };
        let mut states: Vec<InputState<'_>> = leaves.iter().map(state).collect();
        for _ in 0..MAX_ROUNDS {
            let waiting = states.iter_mut().filter(|state| !state.is_done);
            let tries: Vec<InputChange<'_>> = waiting
                .filter_map(|state| {
                    let instead = state.replacements.next();
                    state.is_done = instead.is_none();
                    Some(InputChange {
                        leaf: state.leaf,
                        replacement: Some(instead?),
                    })
                })
                .collect();
            let sifted = self.test_group(tries);
            for state in &mut states {
                let is_in =
                    |leaves: &[&InputLeaf]| leaves.iter().any(|leaf| leaf.path == state.leaf.path);
                if is_in(&sifted.unaffecting) {
                    state.valid_changes += 1;
                    state.is_done |= state.valid_changes >= VALUES_PER_INPUT;
                } else if is_in(&sifted.affecting) || is_in(&sifted.untested) {
                    state.valid_changes += 1;
                    state.is_done = true;
                }
            }
            found.extend(sifted.affecting);
            unknown.extend(sifted.untested);
        }
        for tries in removal_groups(leaves) {
            let sifted = self.test_group(tries);
            found.extend(sifted.affecting);
            unknown.extend(sifted.untested);
        }
        // Inputs that are valid only together with others, such as a region with its zones.
        let never = states
            .iter()
            .filter(|state| state.valid_changes == 0 && !state.leaf.is_section);
        found.extend(never.map(|state| state.leaf));
        // Each of these needs a few more compilations.
        let more = self.remaining.load(Ordering::Relaxed) / COMPILATIONS_PER_INPUT
            + MIN_COMPILATIONS / COMPILATIONS_PER_INPUT;
        found.sort_by_key(|leaf| leaf.span);
        found.dedup_by_key(|leaf| &leaf.path);
        unknown.extend(found.iter().skip(more).copied());
        found.truncate(more);
        unknown.sort_by_key(|leaf| leaf.span);
        unknown.dedup_by_key(|leaf| &leaf.path);
        unknown.retain(|leaf| found.iter().all(|known| known.path != leaf.path));
        (found.into_iter().cloned().collect(), unknown.len())
    }

    fn test_group<'l>(&self, tries: Vec<InputChange<'l>>) -> RoundResult<'l> {
        let mut sifted = RoundResult::default();
        let leaves = |tries: &[InputChange<'l>]| tries.iter().map(|it| it.leaf).collect::<Vec<_>>();
        if tries.is_empty() {
            return sifted;
        }
        let spent = self
            .remaining
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        if spent.is_err() {
            sifted.untested = leaves(&tries);
            return sifted;
        }
        (self.tick)();
        match self.outcome_of(&tries) {
            GroupOutcome::Unchanged => sifted.unaffecting = leaves(&tries),
            GroupOutcome::Affected if tries.len() == 1 => sifted.affecting = leaves(&tries),
            GroupOutcome::Affected => return self.test_halves(tries),
            GroupOutcome::Invalid(_) if tries.len() == 1 => sifted.invalid = leaves(&tries),
            // Each of them is required.
            GroupOutcome::Invalid([places, _])
                if places.len() >= tries.len()
                    && tries.iter().all(|it| it.replacement.is_none()) =>
            {
                sifted.invalid = leaves(&tries);
            }
            GroupOutcome::Invalid(places) => {
                let blamed = places.iter().map(|spans| split_by_location(&tries, spans));
                match blamed.into_iter().find(|(wrong, _)| !wrong.is_empty()) {
                    // A change that is invalid with others may be valid alone.
                    Some((wrong, rest)) if !rest.is_empty() => {
                        let (one, other) =
                            rayon::join(|| self.test_group(rest), || self.test_group(wrong));
                        return one.merge(other);
                    }
                    Some((wrong, _)) if have_one_shape(&wrong) => sifted.invalid = leaves(&wrong),
                    Some((wrong, _)) => {
                        let sifted = group_by_shape(wrong)
                            .into_iter()
                            .map(|shape| self.test_group(shape));
                        return sifted.fold(RoundResult::default(), RoundResult::merge);
                    }
                    // Small groups are retried with other values.
                    None if tries.len() <= MIN_SPLIT_SIZE => sifted.invalid = leaves(&tries),
                    None => return self.test_halves(tries),
                }
            }
        }
        sifted
    }

    fn test_halves<'l>(&self, mut tries: Vec<InputChange<'l>>) -> RoundResult<'l> {
        let second = tries.split_off(tries.len() / 2);
        let (one, other) = rayon::join(|| self.test_group(tries), || self.test_group(second));
        one.merge(other)
    }

    fn outcome_of(&self, tries: &[InputChange<'_>]) -> GroupOutcome {
        let mut root = self.compilation.loaded.root.clone();
        let mut out: Vec<&Path> = Vec::new();
        for one in tries {
            match &one.replacement {
                Some(instead) => variants::apply_replacement(&mut root, &one.leaf.path, instead),
                None => out.push(&one.leaf.path),
            }
        }
        // Removes the last items of lists first, so that the others keep their indexes.
        for path in out.into_iter().rev() {
            leaf::remove_part(&mut root, path);
        }
        let after = compile_changed(&self.compilation.loaded, root, self.options);
        let Some((tree, lock)) = &after.output else {
            let errors = after.report.diagnostics().iter();
            let errors = errors.filter(|it| it.severity == gpuc_syntax::diag::Severity::Error);
            let labels = errors
                .clone()
                .flat_map(|it| it.labels.iter().map(|label| label.span));
            let labels = labels.collect();
            return GroupOutcome::Invalid([errors.map(|it| it.primary.span).collect(), labels]);
        };
        let lock = lock.to_json();
        let text = if self.query.file == LOCK_FILE {
            Some(lock.as_str())
        } else {
            tree.get(&self.query.file)
                .map(|file| file.contents.as_str())
        };
        let page = &self.query.document;
        let after = match text {
            None => TreeFileState::Removed,
            Some(text) if text == page.text() => return GroupOutcome::Unchanged,
            Some(text) => TreeFileState::Changed(text),
        };
        let effects = effects_of_state(&self.query.file, page, after, &self.targets);
        if effects
            .iter()
            .all(|effect| *effect == super::affected::PartEffect::Unchanged)
        {
            GroupOutcome::Unchanged
        } else {
            GroupOutcome::Affected
        }
    }
}

/// Splits changes into those at some locations and the others.
fn split_by_location<'l>(
    tries: &[InputChange<'l>],
    places: &[Span],
) -> (Vec<InputChange<'l>>, Vec<InputChange<'l>>) {
    let is_there = |it: &InputChange<'_>| places.iter().any(|place| overlaps(it.leaf.span, *place));
    tries.iter().cloned().partition(is_there)
}

/// Groups of inputs to remove together: inputs with the same keys, none of which contains another.
fn removal_groups(leaves: &[InputLeaf]) -> Vec<Vec<InputChange<'_>>> {
    let all = leaves.iter().map(|leaf| InputChange {
        leaf,
        replacement: None,
    });
    group_by_shape(all.collect())
}

/// Groups changes by the keys of their path.
fn group_by_shape(tries: Vec<InputChange<'_>>) -> Vec<Vec<InputChange<'_>>> {
    let mut shapes: Vec<(String, Vec<InputChange<'_>>)> = Vec::new();
    for one in tries {
        let shape = one.leaf.path.keys();
        match shapes.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, tries)) => tries.push(one),
            None => shapes.push((shape, vec![one])),
        }
    }
    shapes.into_iter().map(|(_, tries)| tries).collect()
}

/// Whether all changes have the same keys in their path.
fn have_one_shape(tries: &[InputChange<'_>]) -> bool {
    let first = tries.first().map(|it| it.leaf.path.keys());
    tries.iter().all(|it| Some(it.leaf.path.keys()) == first)
}
