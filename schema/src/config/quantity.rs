//! Kubernetes quantities, written as a number or as a string.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::quantity::thousandths;

/// A Kubernetes quantity: `400`, `0.5`, `500m`, `4Ti`. The text is kept as written; the code that uses it parses it and
/// reports errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity(pub String);

impl Quantity {
    /// The amount in thousandths of its unit, rounded up; `None` if the quantity is invalid or too large.
    ///
    /// The file allows a subset of what the API server accepts: no sign, no exponent, and digits on both sides of a
    /// decimal point.
    pub fn thousandths(&self) -> Option<u64> {
        let end = self.0.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, suffix) = self.0.split_at(end.unwrap_or(self.0.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let is_supported = !whole.is_empty()
            && !fraction.is_empty()
            && !suffix.contains(|c: char| c.is_ascii_digit());
        thousandths(&self.0).filter(|amount| is_supported && *amount < u64::MAX)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity such as 400, 500m or 4Ti")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }

    /// A negative number is kept as text; the code that uses it reports it.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Ok(Quantity(text.to_owned()))
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A Kubernetes quantity: 400, 0.5, 500m, 4Ti.",
            "type": ["string", "number"],
            "pattern": "^[0-9]+(\\.[0-9]+)?([munkMGTPE]|[KMGTPE]i)?$",
            "minimum": 0,
            "examples": ["400", "4Ti", "500m"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_parse_to_thousandths() {
        let count = |text: &str| Quantity(text.to_owned()).thousandths();
        assert_eq!(count("4"), Some(4_000));
        assert_eq!(count("0.5"), Some(500));
        assert_eq!(count("500m"), Some(500));
        assert_eq!(count("1.5Gi"), Some(1_610_612_736_000));
        assert_eq!(count("16G"), Some(16_000_000_000_000));
        assert_eq!(count("1n"), Some(1));
        for wrong in [
            "", "Gi", "4 Gi", "4GB", "1e3", "-1", "+1", "1.", ".5", "9999999E", "1K",
        ] {
            assert_eq!(count(wrong), None, "{wrong}");
        }
    }
}
