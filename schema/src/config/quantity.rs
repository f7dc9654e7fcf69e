//! Kubernetes quantities, which may be written as a number or as text.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// An amount as Kubernetes writes it: `400`, `0.5`, `500m`, `4Ti`.
///
/// The text is kept as written; whoever uses it parses it and reports what does not parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity(pub String);

impl Quantity {
    /// The amount in thousandths of its unit, rounded up; `None` where this is no amount or too large to count.
    pub fn thousandths(&self) -> Option<u64> {
        let end = self.0.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, suffix) = self.0.split_at(end.unwrap_or(self.0.len()));
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(part) {
            return None;
        }
        // In billionths first: the smallest suffix is one.
        let scale: u128 = match suffix {
            "n" => 1,
            "u" => 1_000,
            "m" => 1_000_000,
            "" => 1_000_000_000,
            _ => factor(suffix)?.checked_mul(1_000_000_000)?,
        };
        let digits: u128 = format!("{whole}{part}").parse().ok()?;
        let divisor = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
        let billionths = digits.checked_mul(scale)?.div_ceil(divisor);
        u64::try_from(billionths.div_ceil(1_000_000)).ok()
    }
}

/// How many one of a unit with this suffix is.
fn factor(suffix: &str) -> Option<u128> {
    let (base, letter): (u128, _) = match suffix.strip_suffix('i') {
        Some(letter) => (1024, letter),
        None => (1000, suffix),
    };
    let power = match letter {
        "k" if base == 1000 => 1,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "E" => 6,
        _ => return None,
    };
    Some(base.pow(power))
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

    /// Less than nothing is for whoever uses it to refuse, as text is.
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
            "description": "An amount as Kubernetes writes it: 400, 0.5, 500m, 4Ti.",
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
    fn amounts_are_counted_in_thousandths() {
        let count = |text: &str| Quantity(text.to_owned()).thousandths();
        assert_eq!(count("4"), Some(4_000));
        assert_eq!(count("0.5"), Some(500));
        assert_eq!(count("500m"), Some(500));
        assert_eq!(count("1.5Gi"), Some(1_610_612_736_000));
        assert_eq!(count("16G"), Some(16_000_000_000_000));
        assert_eq!(count("1n"), Some(1));
        for wrong in ["", "Gi", "4 Gi", "4GB", "1e3", "-1", "1.", ".5", "9999999E"] {
            assert_eq!(count(wrong), None, "{wrong}");
        }
    }
}
