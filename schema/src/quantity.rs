//! Kubernetes quantities, in every form that the API server accepts.
//!
//! The configuration accepts only some of these forms: `schema/src/config/quantity.rs`. Source: kubernetes
//! `staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go` (the grammar in the comment of `Quantity`).

/// A quantity in thousandths of its unit, rounded up and saturated at the maximum number. `None` for an invalid or
/// negative quantity.
pub fn thousandths(text: &str) -> Option<u64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let has_digits = !whole.is_empty() || !part.is_empty();
    let is_number = has_digits && !part.contains('.');
    let part = part.trim_end_matches('0');
    let digits = format!("{whole}{part}");
    let digits = digits.trim_start_matches('0');
    let (base, power) = scale(suffix).filter(|_| is_number)?;
    if digits.is_empty() {
        return Some(0);
    }
    // Thousandths add three decimal places; the digits after the point remove some.
    let decimals = i64::try_from(part.len()).ok()?;
    let tens = if base == 10 { power } else { 0 } + 3 - decimals;
    let twos = if base == 2 { power } else { 0 };
    Some(round_up(digits, tens, twos))
}

/// The multiplier of a suffix, as a base and its power.
fn scale(suffix: &str) -> Option<(u8, i64)> {
    let power = |letter: &str| {
        "KMGTPE"
            .find(letter)
            .map(|at| i64::try_from(at).unwrap_or(0) + 1)
    };
    match suffix {
        "" => return Some((10, 0)),
        "n" => return Some((10, -9)),
        "u" => return Some((10, -6)),
        "m" => return Some((10, -3)),
        "k" => return Some((10, 3)),
        "K" => return None,
        _ => {}
    }
    if let Some(letter) = suffix.strip_suffix('i') {
        let is_letter = letter.len() == 1;
        return power(letter).filter(|_| is_letter).map(|it| (2, 10 * it));
    }
    if suffix.len() == 1
        && let Some(power) = power(suffix)
    {
        return Some((10, 3 * power));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = exponent.parse().ok()?;
    Some((10, exponent.into()))
}

/// Digits times a power of ten times a power of two, rounded up and saturated at the maximum number.
fn round_up(digits: &str, tens: i64, twos: i64) -> u64 {
    let value = digits.parse::<u128>().ok();
    let up = |value: u128, by: u128, times: i64| {
        (0..times).try_fold(value, |value, _| value.checked_mul(by))
    };
    // Beyond these powers every value saturates, or is rounded up to one.
    let value = value
        .and_then(|value| up(value, 2, twos))
        .and_then(|value| up(value, 10, tens.min(64)));
    let divisor = up(1, 10, (-tens).clamp(0, 64));
    let value = match (value, divisor) {
        (Some(value), Some(divisor)) => Some(value.div_ceil(divisor)),
        (Some(_), None) => Some(1),
        (None, _) => None,
    };
    value
        .and_then(|value| u64::try_from(value).ok())
        .unwrap_or(u64::MAX)
}

/// The binary and the decimal quantity for a suffix in the wrong case that may mean either: `8Gi` and `8G` for `8g`.
pub fn ambiguous(text: &str) -> Option<(String, String)> {
    let suffixes = [("K", "k"), ("g", "G"), ("t", "T"), ("p", "P")];
    let (wrong, decimal) = suffixes.iter().find(|it| text.ends_with(it.0))?;
    let number = text.strip_suffix(wrong)?.trim_end();
    let upper = wrong.to_ascii_uppercase();
    let decimal = format!("{number}{decimal}");
    thousandths(&decimal).map(|_| (format!("{number}{upper}i"), decimal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_grammar_is_parsed() {
        for (text, expected) in [
            ("4", 4_000),
            ("0.5", 500),
            (".5", 500),
            ("5.", 5_000),
            ("+2", 2_000),
            ("500m", 500),
            ("1n", 1),
            ("1500u", 2),
            ("0", 0),
            ("000", 0),
            ("1e3", 1_000_000),
            ("1E3", 1_000_000),
            ("1.5e-1", 150),
            ("2k", 2_000_000),
            ("1.5Gi", 1_610_612_736_000),
            ("16G", 16_000_000_000_000),
            ("1E", u64::MAX),
            ("1e99999", u64::MAX),
            ("1e-99999", 1),
            ("0.0000000000000000000000000000000000000001Ki", 1),
            ("99999999999999999999999999999999999999999999", u64::MAX),
        ] {
            assert_eq!(thousandths(text), Some(expected), "{text}");
        }
        for wrong in [
            "", "Gi", "-1", "4 Gi", "4GB", "1.2.3", ".", "e3", "1e", "1K", "1KM", "1ei", "4gi",
        ] {
            assert_eq!(thousandths(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn suffix_that_may_be_binary_or_decimal_is_not_corrected() {
        let both = |text: &str| super::ambiguous(text);
        let pair = |binary: &str, decimal: &str| Some((binary.to_owned(), decimal.to_owned()));
        assert_eq!(both("64K"), pair("64Ki", "64k"));
        assert_eq!(both("8g"), pair("8Gi", "8G"));
        assert_eq!(both("8G"), None);
        assert_eq!(both("100m"), None);
        assert_eq!(both("big"), None);
    }
}
