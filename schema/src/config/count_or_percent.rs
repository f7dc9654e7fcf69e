//! A number of pods, or a part of them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// A number of pods, or a part of them in percent: `1`, `50%`.
///
/// What is neither is kept as it was written, for whoever uses it to refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountOrPercent {
    /// So many.
    Count(u64),
    /// So many of a hundred.
    Percent(u64),
    /// Neither.
    Neither(String),
}

impl CountOrPercent {
    /// How many of so many pods that are at least: a part of a pod is a whole one.
    pub fn of(&self, pods: u32) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Percent(percent) => Some(percent.saturating_mul(pods.into()).div_ceil(100)),
            Self::Neither(_) => None,
        }
    }
}

impl fmt::Display for CountOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Neither(text) => f.write_str(text),
        }
    }
}

impl Serialize for CountOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count),
            other => serializer.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for CountOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = CountOrPercent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of pods, or a part of them such as 50%")
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<CountOrPercent, E> {
        Ok(CountOrPercent::Count(count))
    }

    /// Less than none is for whoever uses it to refuse, as text is.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<CountOrPercent, E> {
        Ok(CountOrPercent::Neither(number.to_string()))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CountOrPercent, E> {
        let digits = text.strip_suffix('%');
        let digits = digits.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        let percent = digits.and_then(|it| it.parse().ok());
        let neither = || CountOrPercent::Neither(text.to_owned());
        Ok(percent.map_or_else(neither, CountOrPercent::Percent))
    }
}

impl JsonSchema for CountOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "CountOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of pods, or a part of them in percent: 1, 50%.",
            "type": ["integer", "string"],
            "pattern": "^[0-9]+%$",
            "minimum": 0,
            "examples": [1, "50%"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_pods_are_whole_ones() {
        let percent = CountOrPercent::Percent;
        for (written, pods, count) in [
            (CountOrPercent::Count(3), 2, 3),
            (percent(50), 4, 2),
            (percent(50), 5, 3),
            (percent(1), 5, 1),
            (percent(0), 5, 0),
            (percent(100), 5, 5),
            (percent(50), 0, 0),
        ] {
            assert_eq!(written.of(pods), Some(count), "{written} of {pods}");
        }
        assert_eq!(CountOrPercent::Neither("half".to_owned()).of(2), None);
    }
}
