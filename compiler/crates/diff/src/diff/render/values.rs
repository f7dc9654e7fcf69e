//! Formats values, shortened.

use serde_json::Value as Json;

use gpuc_syntax::diag::render::visible;

/// The maximum length of a formatted value, in characters.
const LONGEST: usize = 80;

/// The length of the common prefix shown before the difference of two long values.
const BEFORE: usize = 20;

/// Formats a value, with its middle omitted if it is long.
pub(super) fn value(value: &Json) -> String {
    let text = words(value);
    let count = text.chars().count();
    if count <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST / 2).collect();
    let tail: String = text.chars().skip(count - LONGEST / 2 + 1).collect();
    format!("{head}…{tail}")
}

/// Formats two different values; long values are cut to the part that differs.
pub(super) fn pair(from: &Json, to: &Json) -> (String, String) {
    let (old, new) = (words(from), words(to));
    if old.chars().count() <= LONGEST && new.chars().count() <= LONGEST {
        return (old, new);
    }
    let both = old.chars().zip(new.chars());
    let same = both.take_while(|(old, new)| old == new).count();
    let start = same.saturating_sub(BEFORE);
    (window(&old, start), window(&new, start))
}

/// An excerpt of a text from `start` on.
fn window(text: &str, start: usize) -> String {
    let count = text.chars().count();
    let (head, room) = if start > 0 {
        ("…", LONGEST - 1)
    } else {
        ("", LONGEST)
    };
    if count - start <= room {
        return head.chars().chain(text.chars().skip(start)).collect();
    }
    let shown = text.chars().skip(start).take(room - 1);
    head.chars().chain(shown).chain(['…']).collect()
}

fn words(value: &Json) -> String {
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
    visible(&text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_short_and_visible() {
        assert_eq!(value(&json!({"min": 2, "max": 8})), "2-8");
        assert_eq!(value(&json!("a\u{1b}b")), "a\u{241b}b");
        assert_eq!(value(&json!("x".repeat(500))).chars().count(), LONGEST);
    }

    proptest! {
        #[test]
        fn different_values_stay_distinguishable(
            head in "[ab ]{0,200}", old in "[xy]{0,90}", new in "[xy]{0,90}", tail in "[ab ]{0,200}",
        ) {
            let (old, new) = (format!("{head}{old}{tail}"), format!("{head}{new}{tail}"));
            prop_assume!(old != new);
            let (was, is) = pair(&json!(old), &json!(new));
            prop_assume!(!old.is_empty() && !new.is_empty());
            prop_assert!(was != is, "{was}");
            prop_assert!(was.chars().count() <= LONGEST && is.chars().count() <= LONGEST);
        }
    }
}
