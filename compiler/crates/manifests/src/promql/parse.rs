//! Parses an expression, within limits.

use promql_parser::parser::{Expr, parse as parse_promql};

use super::syntax_error::{SyntaxError, describe};

/// The maximum length of an expression in bytes.
const MAX_LENGTH: usize = 16 * 1024;

/// The maximum number of operators and brackets. It limits the depth of the tree, and thereby the stack.
const MAX_OPERATORS: usize = 1000;

/// The maximum number of digits of a number in a duration.
const MAX_DIGITS: usize = 9;

/// What stands before a duration.
const DURATION_MARKS: &[&str] = &["offset", "[", ":"];

/// The beginnings of text that another program replaces: Helm, kustomize, Flux, Jinja.
const TEMPLATE_MARKS: &[&str] = &["{{", "{%", "<%", "$(", "${"];

/// Grafana's variables, which only Grafana replaces.
const GRAFANA_VARIABLE: &str = "$__";

/// Parses an expression. `None` if it is too long, may be a template, or may be valid for another version of Prometheus
/// or another program.
pub(super) fn parse(text: &str) -> Option<Result<Expr, SyntaxError>> {
    if text.len() > MAX_LENGTH || TEMPLATE_MARKS.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let code = without_strings(text);
    if code.contains(GRAFANA_VARIABLE) {
        let help = "write a duration such as `5m` in place of the variable";
        return Some(Err(SyntaxError::new("a variable of Grafana", help)));
    }
    // Some collectors read LogQL from the same kind of object; only LogQL has pipes. `[[` and `$` are templates.
    let is_other_language = code.contains(['|', '$']) || code.contains("[[");
    if is_other_language || operator_count(&code) > MAX_OPERATORS || has_odd_duration(&code) {
        return None;
    }
    // The parser reads escapes in backticks, which Prometheus does not.
    let has_raw_escape = text.contains('`') && text.contains('\\');
    match parse_promql(text) {
        Err(_) if has_raw_escape => None,
        Ok(expression) => Some(Ok(expression)),
        Err(cause) => Some(Err(describe(&cause, &code)?)),
    }
}

/// The text without comments and without the contents of strings.
fn without_strings(text: &str) -> String {
    let mut code = String::new();
    let mut characters = text.chars();
    let mut quote: Option<char> = None;
    while let Some(c) = characters.next() {
        match quote {
            Some(open) => match c {
                '\\' if open != '`' => _ = characters.next(),
                _ if c == open => {
                    quote = None;
                    code.push(c);
                }
                _ => {}
            },
            None if c == '#' => {
                let rest = characters.as_str();
                let end = rest.find('\n').unwrap_or(rest.len());
                characters = rest[end..].chars();
            }
            None => {
                quote = matches!(c, '"' | '\'' | '`').then_some(c);
                code.push(c);
            }
        }
    }
    code
}

/// Whether a duration is a number without a unit that may be too large, or not finite. The parser panics on these.
fn has_odd_duration(code: &str) -> bool {
    let code = code.to_ascii_lowercase();
    let is_odd = |rest: &str| {
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "+-(".contains(c));
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_');
        let token = &rest[..end.unwrap_or(rest.len())];
        let is_number = token.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            || ["inf", "nan"].contains(&token);
        let mut digits = token.split(|c| "smhdwy".contains(c));
        let is_short = |it: &str| it.len() <= MAX_DIGITS && it.bytes().all(|c| c.is_ascii_digit());
        is_number && !digits.all(is_short)
    };
    DURATION_MARKS.iter().any(|mark| {
        let mut marks = code.match_indices(mark);
        marks.any(|(index, _)| is_odd(&code[index + mark.len()..]))
    })
}

/// The number of operators and opening brackets, which is at least the depth of the tree.
fn operator_count(code: &str) -> usize {
    let symbols = code.matches(|c| "+-*/%^<>=!([{".contains(c)).count();
    let operators = ["and", "or", "unless", "atan2", "offset"];
    let is_operator = |word: &&str| operators.iter().any(|it| word.eq_ignore_ascii_case(it));
    symbols + words(code).filter(is_operator).count()
}

pub(super) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(text: &str) -> Option<String> {
        let error = parse(text)?.err()?;
        Some(error.cause)
    }

    #[test]
    fn errors_have_causes() {
        for (text, expected) in [
            ("sum(rate(a[5m])", "a `(` is not closed"),
            ("a)) > 1", "a `)` has no `(`"),
            ("a{b=\"c} > 1", "a string has no end"),
            ("a > 1 for 5m", "unexpected word or symbol"),
            ("# a", "it contains only a comment, or nothing"),
            ("rte(a[5m])", "unknown function `rte`"),
            ("a{b=~\"10\\.0\"}", "unknown escape in a string"),
            ("rate(a[$__rate_interval])", "a variable of Grafana"),
            ("rate(a)", "the function needs a range"),
            (
                "a{b=c}",
                "unexpected identifier `c` in label matching, expected string",
            ),
        ] {
            assert_eq!(cause(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn doubtful_expressions_are_skipped() {
        for text in [
            "{{ .Values.expr }}",
            "a > ${LIMIT}",
            "a > $LIMIT",
            "sum(rate({app=\"a\"} |= \"error\" [5m]))",
            "rate(a[1h/2])",
            "increase(a[5m] smoothed)",
            "a offset (1h + 5m)",
            "a{b=~\"(\\\\Qx\\\\E\"}",
            "new_function(a)",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn valid_expressions_are_parsed() {
        for text in [
            "1",
            "vector(1)",
            "a{b=~\"x|y$\"} # comment (",
            "{\"utf8.name\", a='{'} == bool 1",
            "label_replace(a, \"b\", \"$1\", \"c\", \"(.*)\")",
            "a offset 5m > on (b) group_left () c",
            "quantile_over_time(0.9, a[1h:1m])",
        ] {
            assert!(matches!(parse(text), Some(Ok(_))), "{text}");
        }
    }

    /// The parser panics on these.
    #[test]
    fn odd_durations_are_skipped() {
        for text in [
            "a offset NaN",
            "a OFFSET -Inf",
            "a offset # b\n 1e400",
            "a offset 18446744073709551615",
            "a offset 0xFFFFFFFFFFFFFFFF",
            "a[1e400]",
            "a[ 18446744073709551615 ]",
            "a[5m:1e+400]",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
        for text in [
            "a[5m] offset -1h30m",
            "a[300]",
            "max_over_time(a[1h:1m]) > 1e400",
        ] {
            assert!(matches!(parse(text), Some(Ok(_))), "{text}");
        }
    }

    /// Threads of tests have a stack of 2 MiB.
    #[test]
    fn nesting_is_bounded() {
        for (open, close) in [
            ("(", ")"),
            ("-", ""),
            ("abs(", ")"),
            ("sum by (a) (", ")"),
            ("a+", ""),
            ("a^", ""),
            ("a and ", ""),
            ("a or on () ", ""),
            ("max_over_time(", "[1m:])"),
            ("{", "}"),
            ("[", "]"),
            ("a[1m:", "]"),
        ] {
            for count in [100, 499, 990, 5000, 100_000] {
                let text = format!("{}a{}", open.repeat(count), close.repeat(count));
                if let Some(Ok(expression)) = parse(&text) {
                    drop(expression.clone());
                }
                parse(&open.repeat(count));
            }
        }
    }
}
