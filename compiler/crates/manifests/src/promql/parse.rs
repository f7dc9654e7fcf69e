//! Parses an expression, within limits.

use gpuc_syntax::diag::phrases::one_edit_away;
use promql_parser::parser::{Expr, parse as parse_promql};

/// The maximum length of an expression in bytes.
const MAX_LENGTH: usize = 16 * 1024;

/// The maximum number of operators and brackets. It limits the depth of the tree, and thereby the stack.
const MAX_OPERATORS: usize = 1000;

/// The maximum length of a cause in a message.
const MAX_CAUSE: usize = 64;

/// The beginnings of text that another program replaces: Helm, kustomize, Flux, Jinja.
const TEMPLATE_MARKS: &[&str] = &["{{", "{%", "<%", "$(", "${"];

/// Grafana's variables, which only Grafana replaces.
const GRAFANA_VARIABLE: &str = "$__";

/// The parser's reason for most errors.
const GENERIC_CAUSE: &str = "invalid promql query";

/// Words and operators after which Prometheus accepts more than the parser. Then [`GENERIC_CAUSE`] may be wrong.
///
/// Source: the parser on the expressions in prometheus/prometheus@v3.9.1 `promql/promqltest/testdata`, 2026-11-28.
const NEW_SYNTAX: &[&str] = &["anchored", "smoothed", "fill", "offset", "</", ">/", "@"];

/// Other causes that are wrong for some version of Prometheus: Go's regular expressions differ from Rust's, and newer
/// versions calculate durations. `info()` accepts selectors that match everything.
const DOUBTFUL_CAUSES: &[&str] = &[
    "illegal regex",
    "inside brackets",
    "duration",
    "non-empty matcher",
];

/// Functions of Prometheus, to recognize misspelled ones.
///
/// Source: prometheus/prometheus@v3.9.1 `promql/parser/functions.go`, 2026-11-28.
const FUNCTIONS: &[&str] = &[
    "absent",
    "absent_over_time",
    "avg_over_time",
    "changes",
    "clamp",
    "clamp_max",
    "clamp_min",
    "count_over_time",
    "delta",
    "deriv",
    "histogram_quantile",
    "idelta",
    "increase",
    "irate",
    "label_join",
    "label_replace",
    "last_over_time",
    "max_over_time",
    "min_over_time",
    "predict_linear",
    "present_over_time",
    "quantile_over_time",
    "rate",
    "resets",
    "round",
    "scalar",
    "sort_desc",
    "stddev_over_time",
    "sum_over_time",
    "timestamp",
    "vector",
];

/// Parses an expression. `None` if it is too long, may be a template, or may be valid for another version of Prometheus
/// or another program.
pub(super) fn parse(text: &str) -> Option<Result<Expr, String>> {
    if text.len() > MAX_LENGTH || TEMPLATE_MARKS.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let code = without_strings(text);
    if code.contains(GRAFANA_VARIABLE) {
        return Some(Err("only Grafana replaces variables".to_owned()));
    }
    // Some collectors read LogQL from the same kind of object; only LogQL has pipes. `[[` and `$` are templates.
    let is_other_language = code.contains(['|', '$']) || code.contains("[[");
    if is_other_language || operator_count(&code) > MAX_OPERATORS {
        return None;
    }
    match parse_promql(text) {
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

/// The number of operators and opening brackets, which is at least the depth of the tree.
fn operator_count(code: &str) -> usize {
    let symbols = code.matches(|c| "+-*/%^<>=!([{".contains(c)).count();
    let operators = ["and", "or", "unless", "atan2", "offset"];
    let is_operator = |word: &&str| operators.iter().any(|it| word.eq_ignore_ascii_case(it));
    symbols + words(code).filter(is_operator).count()
}

/// The reason of the parser in gpuc's words. `None` if the expression may be valid.
fn describe(cause: &str, code: &str) -> Option<String> {
    if let Some(name) = cause.strip_prefix("unknown function with name '") {
        let name = name.strip_suffix('\'')?;
        return match one_edit_away(name, FUNCTIONS.iter().copied()).as_slice() {
            [function] => Some(format!("`{name}` is unknown, use `{function}`")),
            _ => None,
        };
    }
    let has_new_syntax = || NEW_SYNTAX.iter().any(|it| contains_symbol(code, it));
    let is_generic = cause == GENERIC_CAUSE;
    if is_generic && has_new_syntax() || DOUBTFUL_CAUSES.iter().any(|it| cause.contains(it)) {
        return None;
    }
    let is_printable = cause.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    Some(if is_generic || !is_printable || cause.len() > MAX_CAUSE {
        "invalid syntax".to_owned()
    } else if cause.starts_with("no expression found") {
        "no expression".to_owned()
    } else {
        cause.replace(['\'', '"'], "`")
    })
}

/// Whether code contains an operator or a word.
fn contains_symbol(code: &str, symbol: &str) -> bool {
    if symbol.starts_with(|c: char| c.is_ascii_alphabetic()) {
        words(code).any(|word| word.eq_ignore_ascii_case(symbol))
    } else {
        code.contains(symbol)
    }
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(text: &str) -> Option<String> {
        parse(text).and_then(Result::err)
    }

    #[test]
    fn errors_have_causes() {
        for (text, expected) in [
            ("sum(rate(a[5m])", "unclosed left parenthesis"),
            ("a)) > 1", "unexpected right parenthesis `)`"),
            ("a{b=\"c} > 1", "unterminated quoted string `"),
            ("a > 1 for 5m", "invalid syntax"),
            ("# a", "no expression"),
            ("rte(a[5m])", "`rte` is unknown, use `rate`"),
            ("a{b=~\"10\\.0\"}", "unknown escape sequence `.`"),
            (
                "rate(a[$__rate_interval])",
                "only Grafana replaces variables",
            ),
            (
                "rate(a)",
                "expected type matrix in call to function `rate`, got vector",
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
