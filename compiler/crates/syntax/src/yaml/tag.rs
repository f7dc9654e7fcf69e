//! Tags: `!!str` and its like are honoured, all others refused.

use granit_parser::Tag;

use super::codes;
use super::core_schema::{CoreValue, resolve_scalar};
use crate::diag::Report;
use crate::node::{Scalar, Value};
use crate::source::Span;

/// Applies a tag to a value.
pub(super) fn apply_tag(tag: Option<&Tag>, value: Value, span: Span, report: &mut Report) -> Value {
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
            if tag_name(resolve_scalar(&text, true)) == name
                || (name == "float" && tag_name(resolve_scalar(&text, true)) == "int") =>
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

fn tag_name(core: CoreValue<'_>) -> &'static str {
    match core {
        CoreValue::Null => "null",
        CoreValue::Bool(_) => "bool",
        CoreValue::Integer(_) => "int",
        CoreValue::Float(_) => "float",
        CoreValue::Text(_) => "str",
    }
}
