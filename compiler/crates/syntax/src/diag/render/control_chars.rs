//! Visible characters in place of control characters.

/// Text without control characters, which could change the display of other text.
pub fn replace_control_chars(text: &str) -> String {
    text.chars().map(replace_control_char).collect()
}

/// A visible character. Unicode has pictures for control characters, but not for bidirectional controls.
pub(super) fn replace_control_char(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{fffd}',
        _ => c,
    }
}
