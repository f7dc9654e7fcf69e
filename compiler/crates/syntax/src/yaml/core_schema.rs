//! The values of plain scalars in YAML 1.2: the core schema.

/// The value of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Core<'a> {
    /// Null.
    Null,
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(&'a str),
}

/// Resolves a scalar; quoted scalars are strings.
pub fn read(text: &str, plain: bool) -> Core<'_> {
    if !plain {
        return Core::Text(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Core::Null,
        "true" | "True" | "TRUE" => Core::Bool(true),
        "false" | "False" | "FALSE" => Core::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Core::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Core::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => Core::Float(f64::NAN),
        _ => number(text).unwrap_or(Core::Text(text)),
    }
}

fn number(text: &str) -> Option<Core<'_>> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) && !unsigned.is_empty() {
        return text.parse().ok().map(Core::Integer);
    }
    let starts = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let allowed = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    let has_digit = unsigned.bytes().any(|byte| byte.is_ascii_digit());
    if starts && has_digit && unsigned.bytes().all(allowed) {
        return text.parse().ok().map(Core::Float);
    }
    None
}

fn radix(digits: &str, base: u32) -> Option<Core<'static>> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let value = plain.then(|| i128::from_str_radix(digits, base).ok());
    value.flatten().map(Core::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_of_yaml_1_2_are_more_than_text() {
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "1_000",
            "12:30:45",
            "0b11",
            "1.2.3",
            "2024-01-01",
            "-",
            "+",
            ".",
        ] {
            assert_eq!(read(text, true), Core::Text(text), "{text}");
        }
        assert_eq!(read("0755", true), Core::Integer(755));
        assert_eq!(read("0o755", true), Core::Integer(0o755));
        assert_eq!(read("0x1F", true), Core::Integer(31));
        assert_eq!(read("1e3", true), Core::Float(1000.0));
        assert_eq!(read("1.30", true), Core::Float(1.3));
        assert_eq!(read("True", true), Core::Bool(true));
        assert_eq!(read("~", true), Core::Null);
        assert_eq!(read("12", false), Core::Text("12"));
    }
}
