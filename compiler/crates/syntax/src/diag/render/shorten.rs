//! Long values in messages, shortened in the middle.

use crate::diag::Diagnostic;

/// The maximum length of a value in backticks that is not shortened, in characters. Names in Kubernetes and clouds are
/// shorter.
const MAX_VALUE: usize = 160;

/// The number of characters shown of the start and of the end of a longer one.
const VALUE_ENDS: (usize, usize) = (90, 40);

/// The maximum length of a message; a value can contain backticks.
const MAX_MESSAGE: usize = 2000;

/// The number of characters shown of the start and of the end of a longer one.
const MESSAGE_ENDS: (usize, usize) = (1500, 400);

/// The finding with shortened values.
pub(super) fn shorten_finding(found: &Diagnostic) -> Diagnostic {
    let mut short = found.clone();
    let labels = short.labels.iter_mut().map(|label| &mut label.text);
    let texts = labels.chain([&mut short.message, &mut short.primary.text]);
    for text in texts.chain(&mut short.help) {
        *text = shorten_message(text);
    }
    short
}

fn shorten_message(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(number, part)| {
        // Every other part is in backticks.
        if number % 2 == 1 {
            elide_middle(part, MAX_VALUE, VALUE_ENDS)
        } else {
            part.to_owned()
        }
    });
    let text = parts.collect::<Vec<_>>().join("`");
    elide_middle(&text, MAX_MESSAGE, MESSAGE_ENDS)
}

fn elide_middle(text: &str, longest: usize, (first, last): (usize, usize)) -> String {
    if text.chars().nth(longest).is_none() {
        return text.to_owned();
    }
    let byte = |count: usize| text.char_indices().nth(count).map_or(text.len(), |at| at.0);
    let count = text.chars().count();
    format!("{}…{}", &text[..byte(first)], &text[byte(count - last)..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_value_keeps_its_ends_and_context() {
        let value = format!("begin{}end", "ü".repeat(10_000));
        let short = shorten_message(&format!("`machine` cannot be `{value}`, which is too long"));
        assert!(short.starts_with("`machine` cannot be `beginüü"), "{short}");
        assert!(short.ends_with("üend`, which is too long"), "{short}");
        assert!(
            short.contains('…') && short.chars().count() < 200,
            "{short}"
        );
    }

    #[test]
    fn short_values_are_not_changed() {
        let name = "a".repeat(MAX_VALUE);
        let words = "and a sentence of many words that says what to type ".repeat(10);
        let text = format!("`{name}` {words}");
        assert_eq!(shorten_message(&text), text);
    }

    #[test]
    fn values_with_backticks_are_shortened() {
        let value = format!("{0}`{0}", "a".repeat(10_000));
        assert!(
            shorten_message(&format!("`{value}` is not known"))
                .chars()
                .count()
                <= MAX_MESSAGE
        );
    }
}
