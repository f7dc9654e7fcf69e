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

use super::leaf::{self, Leaf, Leaves};
use super::variants::{self, Instead};
use super::{After, changed, moved_of};
use crate::why::{Asked, At, Path, touches};

/// The maximum work: the number of compilations times the size of the document, because each one reads all of it.
const MOST: usize = 80_000;

/// The minimum number of compilations, independent of the size of the document.
const LEAST: usize = 24;

/// The approximate number of compilations of an experiment with a single input.
const EACH: usize = 3;

/// The number of values tried in groups before an input gets its own experiment.
const ROUNDS: usize = 6;

/// The size up to which a group that does not compile is not split.
const FEW: usize = 3;

/// The number of valid values to test for an input.
const ENOUGH: usize = 2;

/// The inputs that get their own experiment, and the number of inputs that were not tested because there are too many.
pub fn suspects(
    compilation: &Compilation,
    leaves: Leaves,
    asked: &Asked,
    options: &Options<'_>,
    tick: &(dyn Fn() + Sync),
) -> (Vec<Leaf>, usize) {
    let Leaves {
        mut all,
        early,
        size,
    } = leaves;
    let most = (MOST / size.max(1)).max(LEAST);
    if all.len() * EACH <= most {
        return (all, 0);
    }
    let rest = all.split_off(early.min(most / EACH / 2));
    let screen = Screen {
        compilation,
        options,
        asked,
        parts: parts(asked),
        left: AtomicUsize::new(most.saturating_sub(all.len() * EACH)),
        tick,
    };
    let (found, unknown) = screen.all(&rest);
    all.extend(found);
    (all, unknown)
}

/// The queried parts.
fn parts(asked: &Asked) -> Vec<At> {
    match &asked.at {
        At::Field(path) => {
            let leaves = asked.page.leaves(path).into_iter();
            leaves.map(At::Field).collect()
        }
        at => vec![at.clone()],
    }
}

struct Screen<'s> {
    compilation: &'s Compilation,
    options: &'s Options<'s>,
    asked: &'s Asked,
    parts: Vec<At>,
    left: AtomicUsize,
    tick: &'s (dyn Fn() + Sync),
}

/// A change of one input.
#[derive(Clone)]
struct Try<'l> {
    leaf: &'l Leaf,
    /// The replacement; `None` to remove the input.
    instead: Option<Instead>,
}

/// The effect on the queried parts.
enum Became {
    Same,
    Moved,
    /// The document is invalid: the primary locations of the errors, and their secondary locations.
    Wrong([Vec<Span>; 2]),
}

/// The results of a round.
#[derive(Default)]
struct Sifted<'l> {
    moving: Vec<&'l Leaf>,
    still: Vec<&'l Leaf>,
    wrong: Vec<&'l Leaf>,
    unknown: Vec<&'l Leaf>,
}

impl Sifted<'_> {
    fn and(mut self, other: Self) -> Self {
        self.moving.extend(other.moving);
        self.still.extend(other.still);
        self.wrong.extend(other.wrong);
        self.unknown.extend(other.unknown);
        self
    }
}

/// The intermediate result for an input.
struct State<'l> {
    leaf: &'l Leaf,
    instead: std::vec::IntoIter<Instead>,
    understood: usize,
    is_done: bool,
}

impl Screen<'_> {
    /// The inputs that affect the queried part or have no valid change, and the number of untested inputs.
    fn all(&self, leaves: &[Leaf]) -> (Vec<Leaf>, usize) {
        let mut found: Vec<&Leaf> = Vec::new();
        let mut unknown: Vec<&Leaf> = Vec::new();
        let root = &self.compilation.loaded.root;
        let cluster = self.compilation.cluster.as_ref();
        let state = |leaf| {
            let mut instead = variants::instead(root, leaf, cluster);
            instead.truncate(ROUNDS);
            State {
                leaf,
                is_done: instead.is_empty(),
                instead: instead.into_iter(),
                understood: 0,
            }
        };
        let mut states: Vec<State<'_>> = leaves.iter().map(state).collect();
        for _ in 0..ROUNDS {
            let waiting = states.iter_mut().filter(|state| !state.is_done);
            let tries: Vec<Try<'_>> = waiting
                .filter_map(|state| {
                    let instead = state.instead.next();
                    state.is_done = instead.is_none();
                    Some(Try {
                        leaf: state.leaf,
                        instead: Some(instead?),
                    })
                })
                .collect();
            let sifted = self.sift(tries);
            for state in &mut states {
                let is_in =
                    |leaves: &[&Leaf]| leaves.iter().any(|leaf| leaf.path == state.leaf.path);
                if is_in(&sifted.still) {
                    state.understood += 1;
                    state.is_done |= state.understood >= ENOUGH;
                } else if is_in(&sifted.moving) || is_in(&sifted.unknown) {
                    state.understood += 1;
                    state.is_done = true;
                }
            }
            found.extend(sifted.moving);
            unknown.extend(sifted.unknown);
        }
        for tries in left_out(leaves) {
            let sifted = self.sift(tries);
            found.extend(sifted.moving);
            unknown.extend(sifted.unknown);
        }
        // Inputs that are valid only together with others, such as a region with its zones.
        let never = states
            .iter()
            .filter(|state| state.understood == 0 && !state.leaf.is_section);
        found.extend(never.map(|state| state.leaf));
        // Each of these needs a few more compilations.
        let more = self.left.load(Ordering::Relaxed) / EACH + LEAST / EACH;
        found.sort_by_key(|leaf| leaf.span);
        found.dedup_by_key(|leaf| &leaf.path);
        unknown.extend(found.iter().skip(more).copied());
        found.truncate(more);
        unknown.sort_by_key(|leaf| leaf.span);
        unknown.dedup_by_key(|leaf| &leaf.path);
        unknown.retain(|leaf| found.iter().all(|known| known.path != leaf.path));
        (found.into_iter().cloned().collect(), unknown.len())
    }

    fn sift<'l>(&self, tries: Vec<Try<'l>>) -> Sifted<'l> {
        let mut sifted = Sifted::default();
        let leaves = |tries: &[Try<'l>]| tries.iter().map(|it| it.leaf).collect::<Vec<_>>();
        if tries.is_empty() {
            return sifted;
        }
        let spent = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        if spent.is_err() {
            sifted.unknown = leaves(&tries);
            return sifted;
        }
        (self.tick)();
        match self.become_of(&tries) {
            Became::Same => sifted.still = leaves(&tries),
            Became::Moved if tries.len() == 1 => sifted.moving = leaves(&tries),
            Became::Moved => return self.halves(tries),
            Became::Wrong(_) if tries.len() == 1 => sifted.wrong = leaves(&tries),
            // Each of them is required.
            Became::Wrong([places, _])
                if places.len() >= tries.len() && tries.iter().all(|it| it.instead.is_none()) =>
            {
                sifted.wrong = leaves(&tries);
            }
            Became::Wrong(places) => {
                let blamed = places.iter().map(|spans| blamed(&tries, spans));
                match blamed.into_iter().find(|(wrong, _)| !wrong.is_empty()) {
                    // A change that is invalid with others may be valid alone.
                    Some((wrong, rest)) if !rest.is_empty() => {
                        let (one, other) = rayon::join(|| self.sift(rest), || self.sift(wrong));
                        return one.and(other);
                    }
                    Some((wrong, _)) if one_shape(&wrong) => sifted.wrong = leaves(&wrong),
                    Some((wrong, _)) => {
                        let sifted = by_shape(wrong).into_iter().map(|shape| self.sift(shape));
                        return sifted.fold(Sifted::default(), Sifted::and);
                    }
                    // Small groups are retried with other values.
                    None if tries.len() <= FEW => sifted.wrong = leaves(&tries),
                    None => return self.halves(tries),
                }
            }
        }
        sifted
    }

    fn halves<'l>(&self, mut tries: Vec<Try<'l>>) -> Sifted<'l> {
        let second = tries.split_off(tries.len() / 2);
        let (one, other) = rayon::join(|| self.sift(tries), || self.sift(second));
        one.and(other)
    }

    fn become_of(&self, tries: &[Try<'_>]) -> Became {
        let mut root = self.compilation.loaded.root.clone();
        let mut out: Vec<&Path> = Vec::new();
        for one in tries {
            match &one.instead {
                Some(instead) => variants::put(&mut root, &one.leaf.path, instead),
                None => out.push(&one.leaf.path),
            }
        }
        // Removes the last items of lists first, so that the others keep their indexes.
        for path in out.into_iter().rev() {
            leaf::remove(&mut root, path);
        }
        let after = changed(&self.compilation.loaded, root, self.options);
        let Some((tree, lock)) = &after.output else {
            let errors = after.report.diagnostics().iter();
            let errors = errors.filter(|it| it.severity == gpuc_syntax::diag::Severity::Error);
            let labels = errors
                .clone()
                .flat_map(|it| it.labels.iter().map(|label| label.span));
            let labels = labels.collect();
            return Became::Wrong([errors.map(|it| it.primary.span).collect(), labels]);
        };
        let lock = lock.to_json();
        let text = if self.asked.file == LOCK_FILE {
            Some(lock.as_str())
        } else {
            tree.get(&self.asked.file)
                .map(|file| file.contents.as_str())
        };
        let page = &self.asked.page;
        let after = match text {
            None => After::Gone,
            Some(text) if text == page.text() => return Became::Same,
            Some(text) => After::Other(text),
        };
        let moved = moved_of(&self.asked.file, page, after, &self.parts);
        if moved
            .iter()
            .all(|moved| *moved == super::affected::Moved::No)
        {
            Became::Same
        } else {
            Became::Moved
        }
    }
}

/// Splits changes into those at some locations and the others.
fn blamed<'l>(tries: &[Try<'l>], places: &[Span]) -> (Vec<Try<'l>>, Vec<Try<'l>>) {
    let is_there = |it: &Try<'_>| places.iter().any(|place| touches(it.leaf.span, *place));
    tries.iter().cloned().partition(is_there)
}

/// Groups of inputs to remove together: inputs with the same keys, none of which contains another.
fn left_out(leaves: &[Leaf]) -> Vec<Vec<Try<'_>>> {
    let all = leaves.iter().map(|leaf| Try {
        leaf,
        instead: None,
    });
    by_shape(all.collect())
}

/// Groups changes by the keys of their path.
fn by_shape(tries: Vec<Try<'_>>) -> Vec<Vec<Try<'_>>> {
    let mut shapes: Vec<(String, Vec<Try<'_>>)> = Vec::new();
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
fn one_shape(tries: &[Try<'_>]) -> bool {
    let first = tries.first().map(|it| it.leaf.path.keys());
    tries.iter().all(|it| Some(it.leaf.path.keys()) == first)
}
