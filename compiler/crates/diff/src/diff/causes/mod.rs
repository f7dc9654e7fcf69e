//! Attributes differences to edits of the input, by trial compilations.
//!
//! Compiling is pure and takes milliseconds. The old input is compiled with one edit alone, and the resulting
//! differences are the effect of this edit. If that input is invalid because edits depend on each other, all edits but
//! one are applied, and the differences that disappear are the effect of this edit. For many edits, halves are tried
//! instead.

mod bisect;
mod edit_locations;

use std::collections::BTreeSet;

use gpuc_compile::compile::{Compilation, Options, compile};
use rayon::prelude::*;

use super::changes::Delta;
use super::edits::{Edit, apply_edits};
use super::entities::{Entities, EntityKey};
use edit_locations::EditLocations;

/// Up to this number of edits, each edit is tried separately. For more edits, halves are tried.
const MAX_EDITS_TRIED_ALONE: usize = 12;

/// Up to this number of edits, each edit is tried separately if halves are invalid inputs. Beyond it, differences are
/// attributed by input locations.
const MAX_EDITS_TRIED: usize = 64;

/// Two states of one cluster.
pub struct ClusterSides<'a> {
    /// The state before the change.
    pub before: &'a Compilation,
    /// The state after the change.
    pub after: &'a Compilation,
    /// The options that both were compiled with.
    pub options: &'a Options<'a>,
}

/// The machines in a lock that gpuc would not have selected for the input: the lock was edited.
pub(super) fn edited_selections(sides: &ClusterSides<'_>) -> Vec<Edit> {
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
    others
        .map(|(pool, new)| Edit::machine_selection(pool, new))
        .collect()
}

/// For each difference, the numbers of the edits that caused it.
pub(super) fn attribute_causes(
    sides: &ClusterSides<'_>,
    edits: &[Edit],
    entities: (&Entities, &Entities),
    found: &[Delta],
) -> Vec<Vec<usize>> {
    if edits.len() <= 1 || found.is_empty() {
        let all: Vec<usize> = (0..edits.len()).collect();
        return vec![all; found.len()];
    }
    let places = EditLocations::new(edits);
    let trials = TrialCompilations {
        sides,
        edits,
        found,
        keys: found.iter().map(|delta| &delta.key).collect(),
    };
    let (before, after) = entities;
    if edits.len() > MAX_EDITS_TRIED_ALONE {
        let tried = bisect::candidate_causes(edits.len(), found.len(), |tried| {
            let alone = trials.differences_present(before, tried);
            alone.or_else(|| trials.differences_present(after, |number| !tried(number)))
        });
        if let Some(tried) = tried {
            let both = tried.into_iter().zip(found);
            return both
                .map(|(of, delta)| narrow_by_location(of, delta, &places))
                .collect();
        }
    }
    if edits.len() > MAX_EDITS_TRIED {
        return found
            .iter()
            .map(|delta| places.likely_edits(delta))
            .collect();
    }
    let each = |number: usize| {
        let alone = |it: usize| it == number;
        let others = |it: usize| it != number;
        let by_itself = trials.differences_present(before, alone);
        by_itself.or_else(|| trials.differences_present(after, others))
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
        let likely = places.likely_edits(delta);
        let untried = likely.iter().filter(|number| made[**number].is_none());
        let untried: Vec<usize> = untried.copied().collect();
        if untried.is_empty() { likely } else { untried }
    };
    found.iter().enumerate().map(of).collect()
}

/// Narrows the candidates of a trial by input locations.
fn narrow_by_location(tried: Vec<usize>, delta: &Delta, places: &EditLocations<'_>) -> Vec<usize> {
    match tried.len() {
        0 => places.likely_edits(delta),
        1 => tried,
        _ => {
            let at = places.edits_at_inputs(delta);
            let both: Vec<usize> = tried.iter().filter(|it| at.contains(it)).copied().collect();
            if both.is_empty() { tried } else { both }
        }
    }
}

/// Trial compilations of the old input with some of the edits.
struct TrialCompilations<'t> {
    sides: &'t ClusterSides<'t>,
    edits: &'t [Edit],
    found: &'t [Delta],
    /// The entities that differ.
    keys: BTreeSet<&'t EntityKey>,
}

impl TrialCompilations<'_> {
    /// Which of the differences appear between a state and the old input with some of the edits; `None` if that input
    /// is invalid.
    fn differences_present(
        &self,
        state: &Entities,
        is_tried: impl Fn(usize) -> bool,
    ) -> Option<Vec<bool>> {
        let edits = self.edits.iter().enumerate();
        let edits = edits.filter(|(number, _)| is_tried(*number));
        let edits: Vec<&Edit> = edits.map(|(_, edit)| edit).collect();
        let loaded = apply_edits(&self.sides.before.loaded, edits.iter().copied());
        let picks = edits.iter().filter_map(|edit| edit.selected_machine());
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
            today: None,
            choices: &choices,
        };
        let compilation = compile(loaded, &options);
        let tried =
            Entities::from_compilation_filtered(&compilation, &|key| self.keys.contains(key))?;
        let differs = |delta: &Delta| {
            let sides = [state, &tried].map(|entities| entities.by_key.get(&delta.key));
            match (&delta.path, sides) {
                (None, [old, new]) => old.is_some() != new.is_some(),
                (Some(path), [Some(old), Some(new)]) => {
                    let value = |entity: &super::entities::Entity| {
                        entity.fields.get(path).map(|leaf| leaf.value.clone())
                    };
                    value(old) != value(new)
                }
                (Some(_), _) => false,
            }
        };
        Some(self.found.iter().map(differs).collect())
    }
}
