//! Values in messages, shortened.

/// Shortens a text to one line for a message.
pub(super) fn abbreviate(text: &str) -> String {
    const MAX_LENGTH: usize = 60;
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut short: String = text.chars().take(MAX_LENGTH).map(clean).collect();
    if text.chars().nth(MAX_LENGTH).is_some() {
        short.push('…');
    }
    short
}
