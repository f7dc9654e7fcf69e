//! The values of plain scalars in YAML 1.2: the core schema.

/// The value of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoreValue<'a> {
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
pub fn resolve_scalar(text: &str, plain: bool) -> CoreValue<'_> {
    if !plain {
        return CoreValue::Text(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => CoreValue::Null,
        "true" | "True" | "TRUE" => CoreValue::Bool(true),
        "false" | "False" | "FALSE" => CoreValue::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => CoreValue::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => CoreValue::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => CoreValue::Float(f64::NAN),
        _ => parse_number(text).unwrap_or(CoreValue::Text(text)),
    }
}

fn parse_number(text: &str) -> Option<CoreValue<'_>> {
    if let Some(digits) = text.strip_prefix("0x") {
        return parse_radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return parse_radix(digits, 8);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) && !unsigned.is_empty() {
        return text.parse().ok().map(CoreValue::Integer);
    }
    let has_number_start = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let allowed = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    let has_digit = unsigned.bytes().any(|byte| byte.is_ascii_digit());
    if has_number_start && has_digit && unsigned.bytes().all(allowed) {
        return text.parse().ok().map(CoreValue::Float);
    }
    None
}

fn parse_radix(digits: &str, base: u32) -> Option<CoreValue<'static>> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let value = plain.then(|| i128::from_str_radix(digits, base).ok());
    value.flatten().map(CoreValue::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yaml_1_2_keywords_are_not_text() {
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
            assert_eq!(resolve_scalar(text, true), CoreValue::Text(text), "{text}");
        }
        assert_eq!(resolve_scalar("0755", true), CoreValue::Integer(755));
        assert_eq!(resolve_scalar("0o755", true), CoreValue::Integer(0o755));
        assert_eq!(resolve_scalar("0x1F", true), CoreValue::Integer(31));
        assert_eq!(resolve_scalar("1e3", true), CoreValue::Float(1000.0));
        assert_eq!(resolve_scalar("1.30", true), CoreValue::Float(1.3));
        assert_eq!(resolve_scalar("True", true), CoreValue::Bool(true));
        assert_eq!(resolve_scalar("~", true), CoreValue::Null);
        assert_eq!(resolve_scalar("12", false), CoreValue::Text("12"));
    }
}
