//! The parts of a value with its span, as serde reads them.

use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, SeqAccess};

use super::constraints::DecodeProblem;
use crate::source::Span;

/// The sequence for a `Spanned`: file, start, end, value.
pub(super) struct SpannedParts<D> {
    location: std::array::IntoIter<u32, 3>,
    value: Option<D>,
}

impl<D> SpannedParts<D> {
    pub(super) fn new(span: Span, value: D) -> Self {
        Self {
            location: [span.source, span.start, span.end].into_iter(),
            value: Some(value),
        }
    }
}

impl<'de, D: Deserializer<'de, Error = DecodeProblem>> SeqAccess<'de> for SpannedParts<D> {
    type Error = DecodeProblem;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeProblem> {
        if let Some(number) = self.location.next() {
            return seed.deserialize(number.into_deserializer()).map(Some);
        }
        self.value
            .take()
            .map(|value| seed.deserialize(value))
            .transpose()
    }
}
