//! Formats values, shortened.

use serde_json::Value as Json;

use gpuc_syntax::diag::render::replace_control_chars;

/// The maximum length of a formatted value, in characters.
const MAX_VALUE_LENGTH: usize = 80;

/// The length of the common prefix shown before the difference of two long values.
const PREFIX_LENGTH: usize = 20;

/// Formats a value, with its middle omitted if it is long.
pub(super) fn format_value(value: &Json) -> String {
    let text = value_text(value);
    let count = text.chars().count();
    if count <= MAX_VALUE_LENGTH {
        return text;
    }
    let head: String = text.chars().take(MAX_VALUE_LENGTH / 2).collect();
    let tail: String = text
        .chars()
        .skip(count - MAX_VALUE_LENGTH / 2 + 1)
        .collect();
    format!("{head}…{tail}")
}

/// Formats two different values; long values are cut to the part that differs.
pub(super) fn format_pair(from: &Json, to: &Json) -> (String, String) {
    let (old, new) = (value_text(from), value_text(to));
    if old.chars().count() <= MAX_VALUE_LENGTH && new.chars().count() <= MAX_VALUE_LENGTH {
        return (old, new);
    }
    let both = old.chars().zip(new.chars());
    let common_length = both.take_while(|(old, new)| old == new).count();
    let start = common_length.saturating_sub(PREFIX_LENGTH);
    (excerpt(&old, start), excerpt(&new, start))
}

/// An excerpt of a text from `start` on.
fn excerpt(text: &str, start: usize) -> String {
    let count = text.chars().count();
    let (head, room) = if start > 0 {
        ("…", MAX_VALUE_LENGTH - 1)
    } else {
        ("", MAX_VALUE_LENGTH)
    };
    if count - start <= room {
        return head.chars().chain(text.chars().skip(start)).collect();
    }
    let shown = text.chars().skip(start).take(room - 1);
    head.chars().chain(shown).chain(['…']).collect()
}

fn value_text(value: &Json) -> String {
    let text = match value {
        Json::String(text) if !text.is_empty() => text.clone(),
        Json::Array(items) if items.is_empty() => "none".to_owned(),
        Json::Null => "none".to_owned(),
        Json::String(_) => "\"\"".to_owned(),
        Json::Object(fields) if fields.len() == 2 => match (fields.get("min"), fields.get("max")) {
            (Some(min), Some(max)) if min == max => min.to_string(),
            (Some(min), Some(max)) => format!("{min}-{max}"),
            _ => value.to_string(),
        },
        other => other.to_string(),
    };
    replace_control_chars(&text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_short_and_visible() {
        assert_eq!(format_value(&json!({"min": 2, "max": 8})), "2-8");
        assert_eq!(format_value(&json!("a\u{1b}b")), "a\u{241b}b");
        assert_eq!(
            format_value(&json!("x".repeat(500))).chars().count(),
            MAX_VALUE_LENGTH
        );
    }

    proptest! {
        #[test]
        fn different_values_stay_distinguishable(
            head in "[ab ]{0,200}", old in "[xy]{0,90}", new in "[xy]{0,90}", tail in "[ab ]{0,200}",
        ) {
            let (old, new) = (format!("{head}{old}{tail}"), format!("{head}{new}{tail}"));
            prop_assume!(old != new);
            let (was, is) = format_pair(&json!(old), &json!(new));
            prop_assume!(!old.is_empty() && !new.is_empty());
            prop_assert!(was != is, "{was}");
            prop_assert!(was.chars().count() <= MAX_VALUE_LENGTH && is.chars().count() <= MAX_VALUE_LENGTH);
        }
    }
}
