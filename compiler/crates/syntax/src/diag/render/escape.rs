//! Escapes text for comments on GitHub and GitLab, so that user input has no effect there.

use super::control_chars::replace_control_chars;

/// An invisible separator between two characters.
const INVISIBLE_SEPARATOR: &str = "&#8203;";

/// Text as inline code, so that it creates no mention and no link.
pub fn inline_code(text: &str) -> String {
    let text = replace_control_chars(&text.replace('\n', " "));
    // `|` ends a cell even in code, and even after an escaped backslash.
    let text = text.replace("\\|", "\\\u{200b}|").replace('|', "\\|");
    let fence = "`".repeat(longest_backtick_run(&text) + 1);
    // One space at each end is part of the fence.
    let is_padded = text.starts_with('`') || text.ends_with('`') || text.starts_with(' ');
    let pad = if is_padded && !text.trim().is_empty() {
        " "
    } else {
        ""
    };
    if text.is_empty() {
        return String::new();
    }
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Text for a table cell: text in backticks is code, and the rest is escaped, so that it cannot end the cell or create
/// HTML, mentions or links.
pub fn table_cell(text: &str) -> String {
    let mut safe = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let run = rest[start..].chars().take_while(|c| *c == '`').count();
        let inside = &rest[start + run..];
        let Some(end) = code_end(inside, run) else {
            break;
        };
        safe.push_str(&escape_prose(&rest[..start]));
        safe.push_str(&inline_code(&inside[..end]));
        rest = &inside[end + run..];
    }
    safe.push_str(&escape_prose(rest));
    safe
}

/// The end of inline code that starts with this number of backticks.
fn code_end(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let length = text[start..].chars().take_while(|c| *c == '`').count();
        if length == run {
            return Some(start);
        }
        at = start + length;
    }
    None
}

fn longest_backtick_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

/// Whether this character follows the end of a word.
fn is_word_end(rest: &str) -> bool {
    rest.chars().next().is_none_or(char::is_whitespace)
}

fn escape_prose(text: &str) -> String {
    let mut safe = String::new();
    for (at, c) in text.char_indices() {
        match c {
            '\n' => safe.push_str("<br>"),
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '`' | '|' | '\\' | '[' | ']' | '*' | '_' | '~' | '$' => {
                safe.push('\\');
                safe.push(c);
            }
            // `@user`, `#12`, `!12` and similar create mentions or links.
            '@' | '#' | '!' | '%' if !is_word_end(&text[at + 1..]) => {
                safe.push(c);
                safe.push_str(INVISIBLE_SEPARATOR);
            }
            // `https://`, `www.`
            ':' if text[at..].starts_with("://") => {
                safe.push(c);
                safe.push_str(INVISIBLE_SEPARATOR);
            }
            '.' if ends_with_www(&safe) => {
                safe.push_str(INVISIBLE_SEPARATOR);
                safe.push(c);
            }
            _ => safe.push_str(&replace_control_chars(&c.to_string())),
        }
    }
    safe
}

fn ends_with_www(text: &str) -> bool {
    let end = text.get(text.len().saturating_sub(3)..);
    end.is_some_and(|end| end.eq_ignore_ascii_case("www"))
}
