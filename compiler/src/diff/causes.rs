//! Which edits of the input made which differences: found by trying.
//!
//! Compiling is pure and takes milliseconds, so nobody has to guess: the input as it was is compiled with one edit
//! alone, and what differs then is what this edit does. Where that is no valid input, because two edits need each
//! other, all edits but one are tried, and what is as before then is what this one does.

use std::collections::{BTreeMap, BTreeSet};

use super::deltas::{Delta, deltas};
use super::edits::{Edit, with};
use super::parts::{Key, Parts};
use crate::compile::{Compilation, Options, compile};
use crate::source::Span;

/// How many edits are tried one by one. Beyond that a difference is told by the places that it follows from.
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

type Ids = BTreeSet<(Key, Option<String>)>;

/// For each difference, the edits that made it, by their numbers.
pub(super) fn causes(
    sides: &Sides<'_>,
    edits: &[Edit],
    parts: (&Parts, &Parts),
    found: &[Delta],
) -> Vec<Vec<usize>> {
    if edits.len() <= 1 {
        let all: Vec<usize> = (0..edits.len()).collect();
        return vec![all; found.len()];
    }
    let places = Places::of(edits);
    if edits.len() > MOST_TRIED {
        return found.iter().map(|delta| places.makers(delta)).collect();
    }
    let (before, after) = parts;
    let alone: Vec<Option<Ids>> = edits
        .iter()
        .map(|edit| {
            let tried = Parts::of(&try_out(sides, std::iter::once(edit)))?;
            Some(ids(&deltas(before, &tried)))
        })
        .collect();
    let needs: Vec<Option<Ids>> = edits
        .iter()
        .enumerate()
        .map(|(number, _)| {
            if alone[number].is_some() {
                return None;
            }
            let others = edits.iter().enumerate();
            let others = others.filter(|(it, _)| *it != number).map(|(_, edit)| edit);
            let tried = Parts::of(&try_out(sides, others))?;
            Some(ids(&deltas(&tried, after)))
        })
        .collect();
    let of = |delta: &Delta| -> Vec<usize> {
        let id = (delta.key.clone(), delta.path.clone());
        let makes = |number: &usize| {
            let either = [&alone[*number], &needs[*number]];
            either.into_iter().flatten().any(|ids| ids.contains(&id))
        };
        let made: Vec<usize> = (0..edits.len()).filter(makes).collect();
        if made.is_empty() {
            places.makers(delta)
        } else {
            made
        }
    };
    found.iter().map(of).collect()
}

fn ids(deltas: &[Delta]) -> Ids {
    let ids = deltas
        .iter()
        .map(|delta| (delta.key.clone(), delta.path.clone()));
    ids.collect()
}

fn try_out<'e>(sides: &Sides<'_>, edits: impl Iterator<Item = &'e Edit>) -> Compilation {
    compile(with(&sides.before.loaded, edits), sides.options)
}

/// Edits by where they stand and by what they name.
struct Places<'e> {
    edits: &'e [Edit],
    /// By file and place, each with its number.
    by_span: Vec<(Span, usize)>,
    by_name: BTreeMap<&'e str, Vec<usize>>,
}

impl<'e> Places<'e> {
    fn of(edits: &'e [Edit]) -> Self {
        // The name of a file stands nowhere in it.
        let numbered = edits.iter().enumerate().filter(|(_, it)| !it.is_of_file());
        let mut by_span: Vec<_> = numbered.map(|(number, edit)| (edit.span, number)).collect();
        by_span.sort_by_key(|(span, _)| (span.source, span.start));
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, edit) in edits.iter().enumerate() {
            for part in edit.path.split('[').skip(1) {
                let name = part.split(']').next().unwrap_or(part);
                by_name.entry(name).or_default().push(number);
            }
        }
        Self {
            edits,
            by_span,
            by_name,
        }
    }

    /// The edits at the places that a difference follows from; else those of what it is called; else all.
    fn makers(&self, delta: &Delta) -> Vec<usize> {
        let mut at: Vec<usize> = delta
            .inputs
            .iter()
            .flat_map(|input| self.at(*input))
            .collect();
        at.sort_unstable();
        at.dedup();
        if !at.is_empty() {
            return at;
        }
        let named = self.by_name.get(delta.key.name().as_str());
        named
            .cloned()
            .unwrap_or_else(|| (0..self.edits.len()).collect())
    }

    /// The edits that begin inside of a place.
    fn at(&self, input: Span) -> impl Iterator<Item = usize> {
        let begin = |start: u32| {
            self.by_span
                .partition_point(|(span, _)| (span.source, span.start) < (input.source, start))
        };
        let inside = &self.by_span[begin(input.start)..begin(input.end)];
        inside.iter().map(|(_, number)| *number)
    }
}
