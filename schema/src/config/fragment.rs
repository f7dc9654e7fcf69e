//! A YAML fragment that gpuc passes through verbatim, without a schema.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::Spanned;

/// A YAML fragment. Every part of it has a span.
#[derive(Clone, Debug, PartialEq)]
pub enum Fragment {
    /// `null`.
    Null,
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Spanned<Fragment>>),
    /// A mapping, in the order of the file.
    Map(Vec<(Spanned<String>, Spanned<Fragment>)>),
}

impl Default for Fragment {
    fn default() -> Self {
        Self::Map(Vec::new())
    }
}

impl Fragment {
    /// Whether this is an empty mapping.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Map(entries) if entries.is_empty())
    }

    /// The value at a path of keys, unless it is `null`.
    pub fn get_path(&self, path: &[&str]) -> Option<&Spanned<Self>> {
        let (key, rest) = path.split_first()?;
        let Self::Map(entries) = self else {
            return None;
        };
        let mut found = entries.iter().filter(|(name, _)| name.as_str() == *key);
        let (_, value) = found.next()?;
        match rest {
            [] => Some(value).filter(|value| value.value != Self::Null),
            rest => value.value.get_path(rest),
        }
    }

    /// Calls `found` for every string, including keys.
    pub fn visit_strings<'a>(
        &'a self,
        found: &mut dyn FnMut(&'a str, crate::Span),
        at: crate::Span,
    ) {
        match self {
            Self::Text(text) => found(text, at),
            Self::List(items) => {
                for item in items {
                    item.value.visit_strings(found, item.span);
                }
            }
            Self::Map(entries) => {
                for (key, value) in entries {
                    found(key, key.span);
                    value.value.visit_strings(found, value.span);
                }
            }
            Self::Null | Self::Bool(_) | Self::Integer(_) | Self::Float(_) => {}
        }
    }
}

impl Serialize for Fragment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Fragment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FragmentVisitor)
    }
}

struct FragmentVisitor;

impl<'de> Visitor<'de> for FragmentVisitor {
    type Value = Fragment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Fragment, E> {
        Ok(Fragment::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Fragment, E> {
        Ok(Fragment::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Fragment, E> {
        Ok(Fragment::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Fragment, E> {
        Ok(Fragment::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Fragment, E> {
        let integer = i64::try_from(value).map(Fragment::Integer);
        integer.map_err(|_| E::custom(format!("the number {value} is too large")))
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Fragment, E> {
        let integer = i64::try_from(value).map(Fragment::Integer);
        integer.map_err(|_| E::custom(format!("the number {value} is too large")))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Fragment, E> {
        Ok(Fragment::Float(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Fragment, E> {
        Ok(Fragment::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Fragment, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Fragment::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Fragment, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Fragment::Map(map))
    }
}

impl JsonSchema for Fragment {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fragment".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_over_64_bits_are_errors() {
        for number in [i128::from(i64::MAX) + 1, i128::from(u64::MAX) + 1] {
            let deserializer = de::value::I128Deserializer::<de::value::Error>::new(number);
            let error = Fragment::deserialize(deserializer).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("the number {number} is too large")
            );
        }
    }

    #[test]
    fn fragments_round_trip_through_json() {
        let json = serde_json::json!({"a": [1, -2, 2.5, "x", null, true], "b": {"c": {}}});
        let fragment: Fragment = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&fragment).unwrap(), json);
    }
}
