//! One node, and its comparison with the expected type.

use super::access::{Items, Keys};
use super::codes;
use super::constraints::{Problem, written};
use super::pass::{Finding, Pass, short};
use super::path::Path;
use super::ranges;
use crate::diag::{Code, DiagnosticBuilder};
use crate::node::{Node, Origin, Scalar, Value};
use crate::source::Span;
use crate::yaml::core_schema::{Core, read};

/// A node, its path, and the current pass.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'de, 'p> {
    pub(super) node: &'de Node,
    pub(super) path: &'p Path<'p>,
    pub(super) pass: &'p Pass<'p>,
}

impl<'de> Cursor<'de, '_> {
    /// The span where the node is written, even if an alias copied it.
    pub(super) fn written(&self) -> Span {
        match self.node.origin {
            Origin::Written { span, .. } => span,
            _ => self.node.span(),
        }
    }

    /// Reports a node of the wrong type and replaces it by a placeholder.
    pub(super) fn wrong(
        &self,
        code: &'static Code,
        needed: &str,
        more: impl FnOnce(DiagnosticBuilder<'_>) -> DiagnosticBuilder<'_>,
    ) {
        let path = self.path.quoted();
        let found = describe(self.node);
        self.reject(
            code,
            format!("{path} must be {needed}, not {found}"),
            format!("expected {needed}"),
            more,
        );
    }

    /// Reports a problem of the node and replaces it by a placeholder.
    pub(super) fn reject(
        &self,
        code: &'static Code,
        message: String,
        here: String,
        more: impl FnOnce(DiagnosticBuilder<'_>) -> DiagnosticBuilder<'_>,
    ) {
        let finding = Finding {
            code,
            span: self.node.span(),
            written: self.written(),
            message,
            here,
        };
        self.pass.record(finding, more);
        self.pass.poison(self.node.span());
    }

    /// Adds a fix that replaces the node, unless an alias copied it: the fix would then change other locations too.
    pub(super) fn with_fix<'d>(
        &self,
        builder: DiagnosticBuilder<'d>,
        text: String,
    ) -> DiagnosticBuilder<'d> {
        if self.written() == self.node.span() {
            builder.replace(self.node.span(), text)
        } else {
            builder
        }
    }

    /// Reports whether the node's type rejected its value.
    pub(super) fn is_rejected(&self) -> bool {
        let Some(message) = self.pass.constraints.rejected(self.node) else {
            return false;
        };
        let text = format!("{}: {}", self.path.quoted(), short(message));
        self.reject(&codes::WRONG_TYPE, text, String::new(), |builder| builder);
        true
    }

    /// Sets this node as the cause of an error, unless a nested node is already set.
    pub(super) fn at<T>(&self, value: Result<T, Problem>) -> Result<T, Problem> {
        value.map_err(|problem| problem.at(self.node))
    }

    pub(super) fn core(&self) -> Option<Core<'de>> {
        match &self.node.value {
            Value::Scalar(scalar) => Some(scalar.core()),
            _ => None,
        }
    }

    pub(super) fn integer<N>(&self, least: N, most: N) -> Option<N>
    where
        N: Copy + TryFrom<i128> + Into<i128>,
    {
        if self.is_rejected() {
            return None;
        }
        if let Some(text) = written(self.node)
            && let Some((decimal, octal)) = two_readings(text)
        {
            self.wrong(&codes::WRONG_TYPE, "an integer", |builder| {
                builder.help(format!(
                    "it is {decimal} in YAML 1.2 and {octal} in YAML 1.1: write `{decimal}`, or `0o{}` for {octal}",
                    text.trim_start_matches('0')
                ))
            });
            return None;
        }
        let Some(Core::Integer(number)) = self.core() else {
            self.report_not_an_integer();
            return None;
        };
        let fits = N::try_from(number).ok();
        if fits.is_none() {
            let of_type = (least.into(), most.into());
            let (least, most) = ranges::of_key(&self.path.to_string(), of_type.0, of_type.1);
            let needed = format!("an integer from {least} to {most}");
            let help = format!("write {needed}");
            self.wrong(&codes::NUMBER_OUT_OF_RANGE, &needed, |builder| {
                builder.help(help)
            });
        }
        fits
    }

    /// Reports that the node is not an integer.
    fn report_not_an_integer(&self) {
        let meant = match (&self.node.value, self.core()) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "compared with the original below"
            )]
            (_, Some(Core::Float(number))) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Some((number as i64).to_string())
            }
            (Value::Scalar(Scalar::Written { text, .. }), Some(Core::Text(_))) => {
                let digits = text.replace(['_', ',', ' '], "");
                matches!(read(&digits, true), Core::Integer(_)).then_some(digits)
            }
            _ => None,
        };
        self.wrong(&codes::WRONG_TYPE, "an integer", |builder| match meant {
            Some(meant) => {
                let builder = builder.help(format!("write `{meant}`"));
                self.with_fix(builder, meant)
            }
            None => self.one_value(builder),
        });
    }

    pub(super) fn float(&self) -> Option<f64> {
        if self.is_rejected() {
            return None;
        }
        match self.core() {
            Some(Core::Float(number)) if number.is_finite() => Some(number),
            #[expect(
                clippy::cast_precision_loss,
                reason = "that is what a float is asked for"
            )]
            Some(Core::Integer(number)) => Some(number as f64),
            Some(Core::Text(text))
                if matches!(read(text, true), Core::Integer(_) | Core::Float(_)) =>
            {
                self.wrong(&codes::WRONG_TYPE, "a number", |builder| {
                    let builder = builder.help(format!("write `{}` without quotes", short(text)));
                    self.with_fix(builder, text.to_owned())
                });
                None
            }
            _ => {
                self.wrong(&codes::WRONG_TYPE, "a number", |builder| {
                    self.one_value(builder)
                });
                None
            }
        }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        if self.is_rejected() {
            return None;
        }
        let text = match self.core() {
            Some(Core::Bool(value)) => return Some(value),
            Some(Core::Text(text)) => text.to_lowercase(),
            _ => String::new(),
        };
        let meant = match text.as_str() {
            "yes" | "on" | "y" | "true" | "enabled" => Some("true"),
            "no" | "off" | "n" | "false" | "disabled" => Some("false"),
            _ => None,
        };
        self.wrong(
            &codes::WRONG_TYPE,
            "`true` or `false`",
            |builder| match meant {
                Some(meant) => {
                    self.with_fix(builder.help(format!("write `{meant}`")), meant.to_owned())
                }
                None => self.one_value(builder),
            },
        );
        None
    }

    pub(super) fn string(&self) -> Option<&'de str> {
        if self.is_rejected() {
            return None;
        }
        match self.core() {
            Some(Core::Text(text)) => return Some(text),
            Some(Core::Null) | None => {
                self.wrong(&codes::WRONG_TYPE, "a string", |builder| {
                    self.one_value(builder)
                });
            }
            Some(_) => self.wrong(&codes::WRONG_TYPE, "a string", |builder| {
                match written(self.node) {
                    Some(text) => {
                        let quoted = format!("\"{text}\"");
                        self.with_fix(builder.help(format!("quote it: `{quoted}`")), quoted)
                    }
                    None => builder,
                }
            }),
        }
        None
    }

    /// The help for a list or null in place of a single value.
    pub(super) fn one_value<'d>(&self, builder: DiagnosticBuilder<'d>) -> DiagnosticBuilder<'d> {
        match &self.node.value {
            Value::Sequence(items) => match items.as_slice() {
                [item] => match item.text() {
                    Some(text) => {
                        builder.help(format!("write `{}` instead of a list", short(text)))
                    }
                    None => builder.help("write a single value instead of a list"),
                },
                _ => builder.help("write a single value instead of a list"),
            },
            Value::Scalar(scalar) if scalar.core() == Core::Null => {
                builder.help("write a value, or remove the key if it is not needed")
            }
            _ => builder,
        }
    }

    pub(super) fn keys(&self, fields: Option<&'static [&'static str]>) -> Option<Keys<'de, '_>> {
        if self.is_rejected() {
            return None;
        }
        if let Value::Mapping(entries) = &self.node.value {
            return Some(Keys::new(*self, entries, fields));
        }
        self.wrong(&codes::WRONG_TYPE, "a mapping", |builder| {
            match &self.node.value {
                Value::Scalar(scalar) if scalar.core() == Core::Null => {
                    builder.help("write its keys indented below, write `{}`, or remove the key")
                }
                Value::Sequence(_) => builder.help("write its keys without `-`"),
                Value::Scalar(_) | Value::Mapping(_) => match fields {
                    Some(fields) if !fields.is_empty() => {
                        let known = crate::diag::words::all(fields, "and");
                        builder.help(format!("the keys are {known}"))
                    }
                    _ => builder,
                },
            }
        });
        None
    }

    pub(super) fn list(&self) -> Option<Items<'de, '_>> {
        if self.is_rejected() {
            return None;
        }
        match &self.node.value {
            Value::Sequence(items) => return Some(Items::new(*self, items)),
            Value::Scalar(scalar) if scalar.core() == Core::Null => {
                self.wrong(&codes::WRONG_TYPE, "a list", |builder| {
                    builder.help("write `[]` for an empty list, or remove the key")
                });
            }
            Value::Scalar(_) => self.wrong(&codes::WRONG_TYPE, "a list", |builder| {
                match written(self.node) {
                    Some(text)
                        if text
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)) =>
                    {
                        self.with_fix(
                            builder.help(format!("write `[{}]`", short(text))),
                            format!("[{text}]"),
                        )
                    }
                    _ => builder.help("enclose it in `[` and `]`"),
                }
            }),
            Value::Mapping(_) => self.wrong(&codes::WRONG_TYPE, "a list", |builder| {
                builder.help("start each item with `- `")
            }),
        }
        None
    }
}

/// The values of a number with a leading zero in YAML 1.2 and YAML 1.1, if they differ.
fn two_readings(text: &str) -> Option<(u64, u64)> {
    let digits = text.strip_prefix('0')?;
    let octal = u64::from_str_radix(digits, 8).ok()?;
    let decimal = digits.parse().ok()?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    (plain && octal != decimal).then_some((decimal, octal))
}

/// A short description of a node.
fn describe(node: &Node) -> String {
    match &node.value {
        Value::Sequence(_) => "a list".to_owned(),
        Value::Mapping(_) => "a mapping".to_owned(),
        Value::Scalar(scalar) => match (scalar.core(), scalar) {
            (Core::Null, _) => "null".to_owned(),
            (Core::Text(text), _) => format!("the string `{}`", short(text)),
            (_, Scalar::Written { text, .. }) => format!("`{}`", short(text)),
            (Core::Bool(value), _) => format!("`{value}`"),
            (Core::Integer(value), _) => format!("`{value}`"),
            (Core::Float(value), _) => format!("`{value}`"),
        },
    }
}
