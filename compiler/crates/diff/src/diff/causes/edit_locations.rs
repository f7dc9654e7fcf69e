//! Attributes differences to edits by input locations, if trial compilations are inconclusive.

use std::collections::BTreeMap;

use gpuc_syntax::source::Span;

use super::super::changes::Delta;
use super::super::edits::Edit;

/// Edits by location and by name.
pub(super) struct EditLocations<'e> {
    edits: &'e [Edit],
    /// By file and location, each with its number.
    by_span: Vec<(Span, usize)>,
    by_name: BTreeMap<&'e str, Vec<usize>>,
}

impl<'e> EditLocations<'e> {
    pub(super) fn new(edits: &'e [Edit]) -> Self {
        // A file name has no location.
        let numbered = edits
            .iter()
            .enumerate()
            .filter(|(_, it)| !it.is_file_rename() && it.selected_machine().is_none());
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

    /// The edits at the input locations of a difference; else those that name its entity; else all edits.
    pub(super) fn likely_edits(&self, delta: &Delta) -> Vec<usize> {
        let at = self.edits_at_inputs(delta);
        if !at.is_empty() {
            return at;
        }
        let named = self.by_name.get(delta.key.name().as_str());
        named
            .cloned()
            .unwrap_or_else(|| (0..self.edits.len()).collect())
    }

    /// The edits at the input locations of a difference.
    pub(super) fn edits_at_inputs(&self, delta: &Delta) -> Vec<usize> {
        let inputs = delta.inputs.iter();
        let mut at: Vec<usize> = inputs.flat_map(|input| self.edits_within(*input)).collect();
        at.sort_unstable();
        at.dedup();
        at
    }

    /// The edits that begin within a location.
    fn edits_within(&self, input: Span) -> impl Iterator<Item = usize> {
        let begin = |start: u32| {
            self.by_span
                .partition_point(|(span, _)| (span.source, span.start) < (input.source, start))
        };
        let inside = &self.by_span[begin(input.start)..begin(input.end)];
        inside.iter().map(|(_, number)| *number)
    }
}
