//! Long values in messages, shortened in the middle.

use crate::diag::Diagnostic;

/// The longest value between backticks that is shown whole, in characters. Names of Kubernetes and the clouds are
/// shorter, with what stands around them.
const VALUE: usize = 160;

/// How much of the beginning and of the end of a longer one is shown.
const ENDS_OF_VALUE: (usize, usize) = (90, 40);

/// The longest message; a value may have backticks of its own.
const MESSAGE: usize = 2000;

/// How much of the beginning and of the end of a longer one is shown.
const ENDS_OF_MESSAGE: (usize, usize) = (1500, 400);

/// The finding as people read it.
pub(super) fn finding(found: &Diagnostic) -> Diagnostic {
    let mut short = found.clone();
    let labels = short.labels.iter_mut().map(|label| &mut label.text);
    let texts = labels.chain([&mut short.message, &mut short.primary.text]);
    for text in texts.chain(&mut short.help) {
        *text = message(text);
    }
    short
}

fn message(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(number, part)| {
        // Every other part stands between backticks.
        if number % 2 == 1 {
            middle_out(part, VALUE, ENDS_OF_VALUE)
        } else {
            part.to_owned()
        }
    });
    let text = parts.collect::<Vec<_>>().join("`");
    middle_out(&text, MESSAGE, ENDS_OF_MESSAGE)
}

fn middle_out(text: &str, longest: usize, (first, last): (usize, usize)) -> String {
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
    fn a_long_value_keeps_its_ends_and_what_stands_around_it() {
        let value = format!("begin{}end", "ü".repeat(10_000));
        let short = message(&format!("`machine` cannot be `{value}`, which is too long"));
        assert!(short.starts_with("`machine` cannot be `beginüü"), "{short}");
        assert!(short.ends_with("üend`, which is too long"), "{short}");
        assert!(
            short.contains('…') && short.chars().count() < 200,
            "{short}"
        );
    }

    #[test]
    fn what_is_not_long_is_left_alone() {
        let name = "a".repeat(VALUE);
        let words = "and a sentence of many words that says what to type ".repeat(10);
        let text = format!("`{name}` {words}");
        assert_eq!(message(&text), text);
    }

    #[test]
    fn a_value_with_backticks_is_shortened_too() {
        let value = format!("{0}`{0}", "a".repeat(10_000));
        assert!(message(&format!("`{value}` is not known")).chars().count() <= MESSAGE);
    }
}
