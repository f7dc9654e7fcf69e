//! The reasons why Prometheus cannot read an expression.

use gpuc_syntax::diag::phrases::one_edit_away;

use super::parse::words;

/// The maximum length of a cause in a message.
const MAX_CAUSE: usize = 64;

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

/// The help for other causes.
const CORRECT: &str = "correct the expression";

/// The number of causes at the start of [`KNOWN_CAUSES`] that are errors in every query language.
const UNIVERSAL_CAUSES: usize = 3;

/// The beginnings of the parser's causes, the same in gpuc's words, and the help.
const KNOWN_CAUSES: &[(&str, &str, &str)] = &[
    (
        "unclosed left parenthesis",
        "a `(` is not closed",
        "add the missing `)`",
    ),
    (
        "unexpected right parenthesis",
        "a `)` has no `(`",
        "remove the `)`, or add the missing `(`",
    ),
    (
        "unterminated quoted string",
        "a string has no end",
        "add the missing quote",
    ),
    (
        "unknown escape sequence",
        "unknown escape in a string",
        "write two backslashes in place of one",
    ),
    (
        "no expression found",
        "it contains only a comment, or nothing",
        "write the expression below `expr: |`, which keeps line breaks: a comment ends with its line",
    ),
    (
        "expected type matrix in call to function",
        "the function needs a range",
        "write the metric directly in the function, with a range such as `[5m]`",
    ),
];

/// A reason why Prometheus cannot read an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// The cause, as a phrase.
    pub(crate) cause: String,
    /// The help.
    pub(crate) help: String,
}

impl SyntaxError {
    pub(super) fn new(cause: &str, help: &str) -> Self {
        Self {
            cause: cause.to_owned(),
            help: help.to_owned(),
        }
    }

    /// Whether it is an error in every query language: brackets and quotes.
    pub(crate) fn is_universal(&self) -> bool {
        KNOWN_CAUSES[..UNIVERSAL_CAUSES]
            .iter()
            .any(|it| it.1 == self.cause)
    }
}

/// The reason of the parser in gpuc's words. `None` if the expression may be valid.
pub(super) fn describe(cause: &str, code: &str) -> Option<SyntaxError> {
    if let Some(name) = cause.strip_prefix("unknown function with name '") {
        let name = name.strip_suffix('\'')?;
        return match one_edit_away(name, FUNCTIONS.iter().copied()).as_slice() {
            [function] => Some(SyntaxError {
                cause: format!("unknown function `{name}`"),
                help: format!("write `{function}`"),
            }),
            _ => None,
        };
    }
    let has_new_syntax = || NEW_SYNTAX.iter().any(|it| contains_symbol(code, it));
    let is_generic = cause == GENERIC_CAUSE;
    if is_generic && has_new_syntax() || DOUBTFUL_CAUSES.iter().any(|it| cause.contains(it)) {
        return None;
    }
    let known = KNOWN_CAUSES.iter().find(|it| cause.starts_with(it.0));
    let is_printable = cause.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    Some(match known {
        Some((_, cause, help)) => SyntaxError::new(cause, help),
        None if is_generic || !is_printable || cause.len() > MAX_CAUSE => {
            SyntaxError::new("unexpected word or symbol", CORRECT)
        }
        None => SyntaxError::new(&cause.replace(['\'', '"'], "`"), CORRECT),
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
