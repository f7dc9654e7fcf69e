//! Attributes differences to edits of the input, by trial compilations.
//!
//! Compiling is pure and takes milliseconds. The old input is compiled with one edit alone, and the resulting
//! differences are the effect of this edit. If that input is invalid because edits depend on each other, all edits but
//! one are applied, and the differences that disappear are the effect of this edit. For many edits, halves are tried
//! instead.

mod bisect;
mod places;

use std::collections::BTreeSet;

use gpuc_compile::compile::{Compilation, Options, compile};
use rayon::prelude::*;

use super::changes::Delta;
use super::edits::{Edit, with};
use super::entities::{Key, Parts};
use places::Places;

/// Up to this number of edits, each edit is tried separately. For more edits, halves are tried.
const FEW: usize = 12;

/// Up to this number of edits, each edit is tried separately if halves are invalid inputs. Beyond it, differences are
/// attributed by input locations.
const MOST_TRIED: usize = 64;

/// Two states of one cluster.
pub struct Sides<'a> {
    /// The state before the change.
    pub before: &'a Compilation,
    /// The state after the change.
    pub after: &'a Compilation,
    /// The options that both were compiled with.
    pub options: &'a Options<'a>,
}

/// The machines in a lock that gpuc would not have selected for the input: the lock was edited.
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
    // Without the edit, the machines of the base's lock would be used.
    let meant = machines(&compile(sides.after.loaded.clone(), sides.options));
    let others = others.filter(|(pool, new)| meant.get(*pool) != Some(*new));
    others.map(|(pool, new)| Edit::pick(pool, new)).collect()
}

/// For each difference, the numbers of the edits that caused it.
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
        let tried = bisect::causes(edits.len(), found.len(), |tried| {
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
        // An edit that was tried without producing the difference is not a cause.
        let likely = places.makers(delta);
        let untried = likely.iter().filter(|number| made[**number].is_none());
        let untried: Vec<usize> = untried.copied().collect();
        if untried.is_empty() { likely } else { untried }
    };
    found.iter().enumerate().map(of).collect()
}

/// Narrows the candidates of a trial by input locations.
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

/// Trial compilations of the old input with some of the edits.
struct Trials<'t> {
    sides: &'t Sides<'t>,
    edits: &'t [Edit],
    found: &'t [Delta],
    /// The entities that differ.
    keys: BTreeSet<&'t Key>,
}

impl Trials<'_> {
    /// Which of the differences appear between a state and the old input with some of the edits; `None` if that input
    /// is invalid.
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
            registry: self.sides.options.registry,
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
                    let value = |part: &super::entities::Part| {
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
