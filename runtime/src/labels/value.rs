//! Valid label values: at most 63 letters, digits, `-`, `_` and `.`, with a letter or a digit at both ends.

use gpuc_schema::gpu::product;

/// Maximum length of a label value, or of the name part of a label key.
const MAX_LENGTH: usize = 63;

/// Converts a string into a label value, by the rules of GPU Feature Discovery: invalid characters are
/// dropped, spaces become `-`.
pub(super) fn to_label_value(text: &str) -> String {
    truncate_value(&product::from_driver_name(text))
}

/// Truncates a value. The API server would refuse all labels of the node because of one value that is too long.
pub(super) fn truncate_value(text: &str) -> String {
    trim_to(text, MAX_LENGTH)
}

/// Appends a suffix to a product name and truncates the product name if needed, not the suffix.
pub(super) fn truncate_before_suffix(name: &str, with_end: impl Fn(&str) -> String) -> String {
    let too_long = with_end(name).len().saturating_sub(MAX_LENGTH);
    let name: String = name
        .chars()
        .take(name.len() - too_long.min(name.len()))
        .collect();
    with_end(&name)
}

/// Returns the name part of a key with this prefix. The part after the prefix must not be empty.
pub(super) fn key_name(start: &str, rest: &str) -> String {
    let rest = trim_to(rest, MAX_LENGTH.saturating_sub(start.len()));
    let rest = if rest.is_empty() { "unnamed" } else { &rest };
    format!("{start}{rest}")
}

fn trim_to(text: &str, longest: usize) -> String {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let kept: String = text.chars().filter(allowed).collect();
    let at_the_ends = |c: char| !c.is_ascii_alphanumeric();
    let kept = kept.trim_start_matches(at_the_ends);
    let kept = &kept[..kept.len().min(longest)];
    kept.trim_end_matches(at_the_ends).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rule of the API server (kubernetes.io/docs/concepts/overview/working-with-objects/labels, read 2026-11).
    fn is_valid(value: &str) -> bool {
        let ends = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
        value.len() <= 63
            && ends(value.chars().next())
            && ends(value.chars().last())
            && value
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    }

    #[test]
    fn texts_become_label_values() {
        for (text, value) in [
            ("NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"),
            ("p5.48xlarge", "p5.48xlarge"),
            ("Google Compute Engine", "Google-Compute-Engine"),
            ("Standard (Q35 + ICH9, 2009)", "Standard-Q35-ICH9-2009"),
            ("---", ""),
        ] {
            assert_eq!(to_label_value(text), value);
        }
        assert_eq!(truncate_value(&"a-".repeat(40)).len(), 63);
        assert_eq!(truncate_value(&format!("{}-b", "a".repeat(62))).len(), 62);
    }

    #[test]
    fn long_name_keeps_its_suffix() {
        let long = "x".repeat(60);
        let value = truncate_before_suffix(&long, product::shared_label);
        assert_eq!((value.len(), value.ends_with("x-SHARED")), (63, true));
        assert_eq!(
            truncate_before_suffix("NVIDIA-L4", product::shared_label),
            "NVIDIA-L4-SHARED"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_becomes_a_valid_value(text in prop_oneof![any::<String>(), "[-a-z._ ]{0,90}"]) {
            prop_assert!(is_valid(&to_label_value(&text)));
            prop_assert!(is_valid(&truncate_value(&text)));
            prop_assert!(is_valid(&key_name("gpu-model.", &text)));
        }

        #[test]
        fn valid_values_are_unchanged(value in "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?") {
            prop_assert_eq!(to_label_value(&value), value);
        }
    }
}
