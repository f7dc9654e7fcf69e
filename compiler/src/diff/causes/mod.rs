//! Which edits of the input made which differences: found by trying.
//!
//! Compiling is pure and takes milliseconds, so nobody has to guess: the input as it was is compiled with one edit
//! alone, and what differs then is what this edit does. Where that is no valid input, because two edits need each
//! other, all edits but one are tried, and what is as before then is what this one does. Of many edits, halves are
//! tried in the same way.

mod halves;
mod places;

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::deltas::Delta;
use super::edits::{Edit, with};
use super::parts::{Key, Parts};
use crate::compile::{Compilation, Options, compile};
use places::Places;

/// How many edits are tried one by one in any case. Of more, halves are.
const FEW: usize = 12;

/// How many edits are tried one by one where halves of them make no valid input. Beyond that a difference is told by
/// the places that it follows from.
const MOST_TRIED: usize = 64;

/// Two states of one cluster.
pub struct Sides<'a> {
    /// As it was.
    pub before: &'a Compilation,
    /// As it is.
    pub after: &'a Compilation,
    /// How both were compiled.
    pub options: &'a Options<'a>,
}

/// The machines that a lock remembers and that gpuc would not have picked for the input as it is: somebody edited it.
pub(super) fn picks(sides: &Sides<'_>) -> Vec<Edit> {
    let machines = |side: &Compilation| {
        let lock = side.output.as_ref().map(|(_, lock)| &lock.pins.machines);
        lock.cloned().unwrap_or_default()
    };
    let (before, after) = (machines(sides.before), machines(sides.after));
    let mut others = before
        .iter()
        .filter_map(|(pool, old)| Some((pool, after.get(pool).filter(|new| *new != old)?)))
        .peekable();
    if others.peek().is_none() {
        return Vec::new();
    }
    // What the base's lock remembers is what the input alone would be made with.
    let meant = machines(&compile(sides.after.loaded.clone(), sides.options));
    let others = others.filter(|(pool, new)| meant.get(*pool) != Some(*new));
    others.map(|(pool, new)| Edit::pick(pool, new)).collect()
}

/// For each difference, the edits that made it, by their numbers.
pub(super) fn causes(
    sides: &Sides<'_>,
    edits: &[Edit],
    parts: (&Parts, &Parts),
    found: &[Delta],
) -> Vec<Vec<usize>> {
    if edits.len() <= 1 || found.is_empty() {
        let all: Vec<usize> = (0..edits.len()).collect();
        return vec![all; found.len()];
    }
    let places = Places::of(edits);
    let trials = Trials {
        sides,
        edits,
        found,
        keys: found.iter().map(|delta| &delta.key).collect(),
    };
    let (before, after) = parts;
    if edits.len() > FEW {
        let tried = halves::causes(edits.len(), found.len(), |tried| {
            let alone = trials.differ(before, tried);
            alone.or_else(|| trials.differ(after, |number| !tried(number)))
        });
        if let Some(tried) = tried {
            let both = tried.into_iter().zip(found);
            return both
                .map(|(of, delta)| narrowed(of, delta, &places))
                .collect();
        }
    }
    if edits.len() > MOST_TRIED {
        return found.iter().map(|delta| places.makers(delta)).collect();
    }
    let each = |number: usize| {
        let alone = |it: usize| it == number;
        let others = |it: usize| it != number;
        let by_itself = trials.differ(before, alone);
        by_itself.or_else(|| trials.differ(after, others))
    };
    let made: Vec<Option<Vec<bool>>> = (0..edits.len()).into_par_iter().map(each).collect();
    let of = |(index, delta): (usize, &Delta)| -> Vec<usize> {
        let makes = |number: &usize| {
            let differ = made[*number].as_ref();
            differ.is_some_and(|differ| differ[index])
        };
        let makers: Vec<usize> = (0..edits.len()).filter(makes).collect();
        if !makers.is_empty() {
            return makers;
        }
        // What was tried and does not make it is not to blame.
        let likely = places.makers(delta);
        let untried = likely.iter().filter(|number| made[**number].is_none());
        let untried: Vec<usize> = untried.copied().collect();
        if untried.is_empty() { likely } else { untried }
    };
    found.iter().enumerate().map(of).collect()
}

/// The edits that trying leaves in question, as far as places do not tell more.
fn narrowed(tried: Vec<usize>, delta: &Delta, places: &Places<'_>) -> Vec<usize> {
    match tried.len() {
        0 => places.makers(delta),
        1 => tried,
        _ => {
            let at = places.of_inputs(delta);
            let both: Vec<usize> = tried.iter().filter(|it| at.contains(it)).copied().collect();
            if both.is_empty() { tried } else { both }
        }
    }
}

/// The input as it was, with some of the edits.
struct Trials<'t> {
    sides: &'t Sides<'t>,
    edits: &'t [Edit],
    found: &'t [Delta],
    /// The parts that differ at all.
    keys: BTreeSet<&'t Key>,
}

impl Trials<'_> {
    /// Which of the differences are there between a state and the one that some edits alone make of the input as it
    /// was; nothing where that is no valid input.
    fn differ(&self, state: &Parts, is_tried: impl Fn(usize) -> bool) -> Option<Vec<bool>> {
        let edits = self.edits.iter().enumerate();
        let edits = edits.filter(|(number, _)| is_tried(*number));
        let edits: Vec<&Edit> = edits.map(|(_, edit)| edit).collect();
        let loaded = with(&self.sides.before.loaded, edits.iter().copied());
        let picks = edits.iter().filter_map(|edit| edit.picked());
        let picks: Vec<(&str, &str)> = picks.collect();
        let choices = |name: &str| {
            let mut choices = (self.sides.options.choices)(name);
            let picks = picks
                .iter()
                .map(|(pool, machine)| ((*pool).to_owned(), (*machine).to_owned()));
            choices.machines.extend(picks);
            choices
        };
        let options = Options {
            levels: self.sides.options.levels.clone(),
            choices: &choices,
        };
        let compilation = compile(loaded, &options);
        let tried = Parts::of_those(&compilation, &|key| self.keys.contains(key))?;
        let differs = |delta: &Delta| {
            let sides = [state, &tried].map(|parts| parts.all.get(&delta.key));
            match (&delta.path, sides) {
                (None, [old, new]) => old.is_some() != new.is_some(),
                (Some(path), [Some(old), Some(new)]) => {
                    let value = |part: &super::parts::Part| {
                        part.leaves.get(path).map(|leaf| leaf.value.clone())
                    };
                    value(old) != value(new)
                }
                (Some(_), _) => false,
            }
        };
        Some(self.found.iter().map(differs).collect())
    }
}
