//! Words for a POSIX-like shell: one quoting rule for every script.

use std::fmt::Write;

/// The text as one word of bash, whatever is in it.
///
/// What can be printed stands in single quotes. Control characters, and those that reorder or hide text on a terminal,
/// are escaped in `$'…'`, so that a script shows everything it does.
pub fn quote(text: &str) -> String {
    if !text.chars().any(is_hidden) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str(r"\\"),
            '\'' => quoted.push_str(r"\'"),
            '\n' => quoted.push_str(r"\n"),
            '\t' => quoted.push_str(r"\t"),
            // Bytes, not code points: what `\u` means depends on the locale of the shell.
            c if is_hidden(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    write!(quoted, "\\{byte:03o}").expect("a string can be written to");
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

/// Control characters, and the invisible ones that change how text around them is shown.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        for (text, quoted) in [
            ("", "''"),
            ("train", "'train'"),
            ("it's $HOME `id` \\", r"'it'\''s $HOME `id` \'"),
            ("ä", "'ä'"),
            ("a\nb'\\\t", r"$'a\nb\'\\\t'"),
            ("\u{1}1", r"$'\0011'"),
            ("\u{202e}x", r"$'\342\200\256x'"),
        ] {
            assert_eq!(quote(text), quoted);
        }
    }
}
