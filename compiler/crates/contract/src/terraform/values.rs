//! Values of a resource, which can be unset or unknown.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Known;

/// The values of a resource, or of a block in it.
#[derive(Clone, Copy)]
pub(super) struct Values<'v>(pub(super) &'v Value);

impl<'v> Values<'v> {
    /// A value, which is null if it is unset.
    pub(super) fn get(self, key: &str) -> Known<&'v Value> {
        self.0.get(key)
    }

    /// A text; `None` inside if it is unset.
    pub(super) fn text(self, key: &str) -> Known<Option<&'v str>> {
        self.get(key)
            .map(|value| value.as_str().filter(|text| !text.is_empty()))
    }

    /// A text that is set and known.
    pub(super) fn set_text(self, key: &str) -> Option<&'v str> {
        self.text(key).flatten()
    }

    /// A number that is set and known.
    pub(super) fn number(self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// A Boolean; false if it is unset.
    pub(super) fn boolean(self, key: &str) -> Known<bool> {
        self.get(key).map(|value| value.as_bool().unwrap_or(false))
    }

    /// The texts of a list; empty if it is unset.
    pub(super) fn texts(self, key: &str) -> Known<Vec<String>> {
        let value = self.get(key)?;
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect()
    }

    /// The entries of a map of texts; empty if it is unset.
    pub(super) fn map(self, key: &str) -> Known<BTreeMap<String, String>> {
        let value = self.get(key)?;
        let entries = value.as_object().into_iter().flatten();
        entries
            .map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect()
    }

    /// The blocks of a type; empty if there are none.
    pub(super) fn blocks(self, key: &str) -> Known<Vec<Self>> {
        let value = self.get(key)?;
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        Some(items.iter().map(Self).collect())
    }

    /// The first block of a type; `None` inside if there is none.
    pub(super) fn block(self, key: &str) -> Known<Option<Self>> {
        self.blocks(key).map(|blocks| blocks.first().copied())
    }
}
