//! A number or a percentage of pods.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// A number or a percentage of pods: `1`, `50%`. Any other text is kept as written, so that the code that uses it can
/// report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountOrPercent {
    /// A number of pods.
    Count(u64),
    /// A percentage of pods.
    Percent(u64),
    /// Neither a number nor a percentage.
    Invalid(String),
}

impl CountOrPercent {
    /// The number of pods out of `pods`; percentages are rounded up.
    pub fn resolve(&self, pods: u32) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Percent(percent) => Some(percent.saturating_mul(pods.into()).div_ceil(100)),
            Self::Invalid(_) => None,
        }
    }
}

impl fmt::Display for CountOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Invalid(text) => f.write_str(text),
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
        f.write_str("a number of pods, or a percentage such as 50%")
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<CountOrPercent, E> {
        Ok(CountOrPercent::Count(count))
    }

    /// A negative number is kept as text; the code that uses it reports it.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<CountOrPercent, E> {
        Ok(CountOrPercent::Invalid(number.to_string()))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CountOrPercent, E> {
        let digits = text.strip_suffix('%');
        let digits = digits.filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        let percent = digits.and_then(|it| it.parse().ok());
        let neither = || CountOrPercent::Invalid(text.to_owned());
        Ok(percent.map_or_else(neither, CountOrPercent::Percent))
    }
}

impl JsonSchema for CountOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "CountOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number or a percentage of pods: 1, 50%.",
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
    fn percentages_are_rounded_up() {
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
            assert_eq!(written.resolve(pods), Some(count), "{written} of {pods}");
        }
        assert_eq!(CountOrPercent::Invalid("half".to_owned()).resolve(2), None);
    }
}
