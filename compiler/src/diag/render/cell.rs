//! Text in a comment of GitHub's or GitLab's, in a table or not: what people wrote does nothing there but stand there.

use super::visible;

/// What keeps two characters apart and is not seen.
const NOTHING: &str = "&#8203;";

/// Text as code on one line. Nothing in it is read, so that it calls nobody by an `@` and leads nowhere.
pub(crate) fn code(text: &str) -> String {
    let text = visible(&text.replace('\n', " "));
    // An end of a cell is one in code as well; after a backslash another one would end it all the same.
    let text = text.replace("\\|", "\\\u{200b}|").replace('|', "\\|");
    let fence = "`".repeat(longest_run(&text) + 1);
    // One blank at either end belongs to the fence.
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

/// Sentences for a cell: what stands in a pair of backticks is code, and of the rest nothing means anything: no cell
/// ends, there is no HTML, nobody is called, and nothing is a link.
pub(crate) fn cell(text: &str) -> String {
    let mut safe = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let run = rest[start..].chars().take_while(|c| *c == '`').count();
        let inside = &rest[start + run..];
        let Some(end) = closing(inside, run) else {
            break;
        };
        safe.push_str(&prose(&rest[..start]));
        safe.push_str(&code(&inside[..end]));
        rest = &inside[end + run..];
    }
    safe.push_str(&prose(rest));
    safe
}

/// Where code ends that so many backticks began.
fn closing(text: &str, run: usize) -> Option<usize> {
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

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

/// Whether a word has ended where this follows.
fn ends_word(rest: &str) -> bool {
    rest.chars().next().is_none_or(char::is_whitespace)
}

fn prose(text: &str) -> String {
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
            // `@somebody`, `#12`, `!12` and the like call somebody or lead somewhere.
            '@' | '#' | '!' | '%' if !ends_word(&text[at + 1..]) => {
                safe.push(c);
                safe.push_str(NOTHING);
            }
            // `https://`, `www.`
            ':' if text[at..].starts_with("://") => {
                safe.push(c);
                safe.push_str(NOTHING);
            }
            '.' if ends_with_www(&safe) => {
                safe.push_str(NOTHING);
                safe.push(c);
            }
            _ => safe.push_str(&visible(&c.to_string())),
        }
    }
    safe
}

fn ends_with_www(text: &str) -> bool {
    let end = text.get(text.len().saturating_sub(3)..);
    end.is_some_and(|end| end.eq_ignore_ascii_case("www"))
}
