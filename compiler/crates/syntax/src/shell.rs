//! Quotes text as a single shell word.

use std::fmt::Write;

/// Quotes text as one word of bash, for an argument or the right side of an assignment. Words without special
/// characters are not quoted. Other words are enclosed in single quotes, or in `$'…'` with escapes if they contain
/// invisible characters, so that readers of the script see them. Bytes are escaped in octal, because `\u` depends on
/// the locale. An argument of a process cannot contain NUL; the reader of `gpu-cluster.yaml` rejects it. Here, NUL
/// would end the word.
pub fn quote(text: &str) -> String {
    if needs_no_quotes(text) {
        text.to_owned()
    } else if !is_printable_ascii(text) && text.chars().any(is_invisible) {
        quote_with_escapes(text)
    } else {
        let mut word = String::with_capacity(text.len() + 2);
        word.push('\'');
        for (index, part) in text.split('\'').enumerate() {
            if index > 0 {
                word.push_str(r"'\''");
            }
            word.push_str(part);
        }
        word.push('\'');
        word
    }
}

/// A fast check for the most common kind of text.
fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a shell reads the unquoted text as one literal word in any argument position.
fn needs_no_quotes(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    // `a=b` is an assignment at the start of a command; `--a=b` never is.
    let may_assign = text.contains('=') && !text.starts_with('-');
    !text.is_empty() && text.bytes().all(is_plain) && !may_assign
}

/// Whether a character is invisible or misleading: control characters, line separators, bidirectional marks and
/// zero-width characters.
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

fn quote_with_escapes(text: &str) -> String {
    let mut word = String::from("$'");
    for character in text.chars() {
        match character {
            '\n' => word.push_str(r"\n"),
            '\t' => word.push_str(r"\t"),
            '\r' => word.push_str(r"\r"),
            '\'' => word.push_str(r"\'"),
            '\\' => word.push_str(r"\\"),
            _ if is_invisible(character) => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    write!(word, "\\{byte:03o}").expect("a String takes everything");
                }
            }
            _ => word.push(character),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// The arguments that bash parses from words, as bytes.
    fn arguments(script: &str) -> Vec<String> {
        let output = Command::new("bash")
            .args(["-c", script])
            .env("LC_ALL", "C")
            .output()
            .expect("bash runs");
        assert!(output.status.success(), "{script}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("what went in was UTF-8");
        let mut parts: Vec<String> = text.split('\0').map(str::to_owned).collect();
        assert_eq!(parts.pop().as_deref(), Some(""));
        parts
    }

    fn through_bash(values: &[String]) -> Vec<String> {
        let words: Vec<String> = values.iter().map(|value| quote(value)).collect();
        arguments(&format!("printf '%s\\0' {}", words.join(" ")))
    }

    #[test]
    fn plain_words_are_not_quoted() {
        for text in ["a", "--min-nodes=3", "a.b/c:d@e", "100%", "x_y", "1,2"] {
            assert_eq!(quote(text), text);
        }
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("A=b"), "'A=b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("a\nb"), r"$'a\nb'");
        assert_eq!(quote("a\u{202e}b"), r"$'a\342\200\256b'");
        assert_eq!(quote("ä"), "'ä'");
    }

    #[test]
    fn hostile_text_reaches_a_program_unchanged() {
        let values = [
            "",
            " ",
            "'",
            "\"",
            "\\",
            "\\'",
            "'\\''",
            "$(touch x)",
            "`id`",
            "${HOME}",
            "$HOME",
            "~",
            "~root",
            "a;b",
            "a|b&c",
            "*",
            "?",
            "[a-z]",
            "{a,b}",
            "!!",
            "#x",
            "-n",
            "--",
            "-e",
            "a=b",
            "\n",
            "\n\n",
            "a\nb\n",
            "\t",
            "\r\n",
            "\u{1}\u{7f}\u{1b}[31m",
            "\u{85}\u{2028}\u{feff}",
            "ünïcödé 🚀",
            "\\n\\x41\\101",
            "$'\\n'",
            "<(id)",
            ">x",
            "(a)",
            "if",
            "\u{1}7",
            "%s%n",
        ];
        let mut values: Vec<String> = values.map(str::to_owned).to_vec();
        values.push("x'\"$(`\\ \n".repeat(1000));
        assert_eq!(through_bash(&values), values);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_text_is_one_word(values in prop::collection::vec("[^\0]{0,12}", 1..40)) {
            prop_assert_eq!(through_bash(&values), values);
        }
    }
}
