//! Tags: `!!str` and its like are honoured, all others refused.

use granit_parser::Tag;

use super::codes;
use super::core_schema::{Core, read};
use crate::diag::Report;
use crate::node::{Scalar, Value};
use crate::source::Span;

/// Applies a tag to a value.
pub(super) fn apply(tag: Option<&Tag>, value: Value, span: Span, report: &mut Report) -> Value {
    let Some(tag) = tag else {
        return value;
    };
    let known = tag.core_suffix();
    if known.is_none() && tag.original() != "!" {
        let message = format!("the tag `{}` means nothing to gpuc", tag.original());
        report
            .diagnostic(&codes::TAG_UNKNOWN, span, message)
            .help("delete the tag")
            .emit();
        return value;
    }
    match (known, value) {
        (None | Some("str"), Value::Scalar(Scalar::Written { text, .. })) => {
            Value::Scalar(Scalar::Written { text, plain: false })
        }
        (Some(name), Value::Scalar(Scalar::Written { text, .. }))
            if kind(read(&text, true)) == name
                || (name == "float" && kind(read(&text, true)) == "int") =>
        {
            Value::Scalar(Scalar::Written { text, plain: true })
        }
        (None, value)
        | (Some("seq"), value @ Value::Sequence(_))
        | (Some("map"), value @ Value::Mapping(_)) => value,
        (Some(name), value) => {
            report
                .diagnostic(
                    &codes::TAG_UNKNOWN,
                    span,
                    format!("the value does not match its tag `!!{name}`"),
                )
                .help("delete the tag")
                .emit();
            value
        }
    }
}

fn kind(core: Core<'_>) -> &'static str {
    match core {
        Core::Null => "null",
        Core::Bool(_) => "bool",
        Core::Integer(_) => "int",
        Core::Float(_) => "float",
        Core::Text(_) => "str",
    }
}
