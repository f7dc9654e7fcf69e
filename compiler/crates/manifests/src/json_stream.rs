//! Concatenated JSON objects, as `kubectl get -o json` prints and `kubectl apply` accepts them.

use gpuc_syntax::diag::{Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::{Sources, Span};
use gpuc_syntax::yaml;

use super::embedded_yaml::map_spans;

/// The objects of such a text, with their spans; `None` for any other text.
pub(super) fn parse_json_stream(text: &str, source: u32) -> Option<Vec<Node>> {
    let mut roots = Vec::new();
    for (start, end) in object_ranges(text)? {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("", &text[start..end]);
        let mut documents = yaml::parse_allow_empty(&sources, id, &mut report).into_iter();
        let mut root = documents.next()?.root;
        if report.count(Severity::Error) > 0 || documents.next().is_some() {
            return None;
        }
        let at = u32::try_from(start).ok()?;
        map_spans(&mut root, &mut |span| Span {
            source,
            start: span.start + at,
            end: span.end + at,
        });
        roots.push(root);
    }
    Some(roots)
}

/// The ranges of several objects that are separated only by whitespace.
fn object_ranges(text: &str) -> Option<Vec<(usize, usize)>> {
    let mut ranges = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    let (mut in_text, mut is_escaped) = (false, false);
    for (index, c) in text.char_indices() {
        if in_text {
            in_text = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        match c {
            '{' | '[' => {
                if depth == 0 {
                    start = index;
                }
                depth += 1;
            }
            '}' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    ranges.push((start, index + 1));
                }
            }
            '"' => in_text = true,
            c if depth == 0 && !c.is_whitespace() => return None,
            _ => {}
        }
    }
    (depth == 0 && !in_text && ranges.len() > 1).then_some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concatenated_objects_are_split() {
        let read = |text: &str| object_ranges(text).map(|it| it.len());
        assert_eq!(read("{\"a\": 1}\n{\"b\": [2]}\n"), Some(2));
        assert_eq!(read("{\"a\": \"}\\\"{\"}{}"), Some(2));
        for other in ["{\"a\": 1}", "{} a {}", "{}}", "{}{", "a: {}", "{}\"a\""] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn spans_are_offsets_in_the_whole_text() {
        let text = "{\"a\": 1}\n{\"bé\": 2}\n";
        let roots = super::parse_json_stream(text, 0).unwrap();
        let span = roots[1].entries()[0].value.span();
        assert_eq!(&text[span.start as usize..span.end as usize], "2");
    }
}
