//! One node, and whether it is what is needed.

use super::access::{Items, Keys};
use super::codes;
use super::learned::{Problem, written};
use super::path::Path;
use super::ranges;
use super::run::{Finding, Run, short};
use crate::diag::{Code, Draft};
use crate::node::{Node, Origin, Scalar, Value};
use crate::source::Span;
use crate::yaml::core_schema::{Core, read};

/// A node, where it stands, and the pass that looks at it.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'de, 'p> {
    pub(super) node: &'de Node,
    pub(super) path: &'p Path<'p>,
    pub(super) run: &'p Run<'p>,
}

impl<'de> Cursor<'de, '_> {
    /// Where the node was written, wherever an alias may have brought it.
    pub(super) fn written(&self) -> Span {
        match self.node.origin {
            Origin::Written { span, .. } => span,
            _ => self.node.span(),
        }
    }

    /// Notes that the node is not what is needed here, and that a made-up value takes its place.
    pub(super) fn wrong(
        &self,
        code: &'static Code,
        needed: &str,
        more: impl FnOnce(Draft<'_>) -> Draft<'_>,
    ) {
        let path = self.path.quoted();
        let found = describe(self.node);
        self.reject(
            code,
            format!("{path} needs {needed}, not {found}"),
            format!("expected {needed}"),
            more,
        );
    }

    /// Notes what is wrong with the node, and that a made-up value takes its place.
    pub(super) fn reject(
        &self,
        code: &'static Code,
        message: String,
        here: String,
        more: impl FnOnce(Draft<'_>) -> Draft<'_>,
    ) {
        let finding = Finding {
            code,
            span: self.node.span(),
            written: self.written(),
            message,
            here,
        };
        self.run.note(finding, more);
        self.run.poison(self.node.span());
    }

    /// Replaces the node in a finding's fix, unless an alias brought it: then other places would change too.
    pub(super) fn mend<'d>(&self, draft: Draft<'d>, text: String) -> Draft<'d> {
        if self.written() == self.node.span() {
            draft.replace(self.node.span(), text)
        } else {
            draft
        }
    }

    /// Whether the node's type has refused its very value. That is noted.
    pub(super) fn is_unfit(&self) -> bool {
        let Some(message) = self.run.learned.unfit(self.node) else {
            return false;
        };
        let text = format!("{}: {}", self.path.quoted(), short(message));
        self.reject(&codes::WRONG_TYPE, text, String::new(), |draft| draft);
        true
    }

    /// Says of an error that this node is its reason, unless one inside of it is.
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
        if self.is_unfit() {
            return None;
        }
        if let Some(text) = written(self.node)
            && let Some((decimal, octal)) = two_readings(text)
        {
            self.wrong(&codes::WRONG_TYPE, "a whole number", |draft| {
                draft.help(format!(
                    "YAML 1.2 reads it as {decimal} and YAML 1.1 as {octal}: write `{decimal}`, or `0o{}` for {octal}",
                    text.trim_start_matches('0')
                ))
            });
            return None;
        }
        let Some(Core::Integer(number)) = self.core() else {
            self.no_integer();
            return None;
        };
        let fits = N::try_from(number).ok();
        if fits.is_none() {
            let of_type = (least.into(), most.into());
            let (least, most) = ranges::of_key(&self.path.to_string(), of_type.0, of_type.1);
            let needed = format!("a whole number from {least} to {most}");
            let help = format!("write {needed}");
            self.wrong(&codes::NUMBER_OUT_OF_RANGE, &needed, |draft| {
                draft.help(help)
            });
        }
        fits
    }

    /// Notes that the node is no whole number.
    fn no_integer(&self) {
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
        self.wrong(&codes::WRONG_TYPE, "a whole number", |draft| match meant {
            Some(meant) => {
                let draft = draft.help(format!("write `{meant}`"));
                self.mend(draft, meant)
            }
            None => self.one_value(draft),
        });
    }

    pub(super) fn float(&self) -> Option<f64> {
        if self.is_unfit() {
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
                self.wrong(&codes::WRONG_TYPE, "a number", |draft| {
                    let draft = draft.help(format!("write `{}` without quotes", short(text)));
                    self.mend(draft, text.to_owned())
                });
                None
            }
            _ => {
                self.wrong(&codes::WRONG_TYPE, "a number", |draft| {
                    self.one_value(draft)
                });
                None
            }
        }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        if self.is_unfit() {
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
            |draft| match meant {
                Some(meant) => self.mend(draft.help(format!("write `{meant}`")), meant.to_owned()),
                None => self.one_value(draft),
            },
        );
        None
    }

    pub(super) fn string(&self) -> Option<&'de str> {
        if self.is_unfit() {
            return None;
        }
        match self.core() {
            Some(Core::Text(text)) => return Some(text),
            Some(Core::Null) | None => {
                self.wrong(&codes::WRONG_TYPE, "text", |draft| self.one_value(draft));
            }
            Some(_) => self.wrong(&codes::WRONG_TYPE, "text", |draft| {
                match written(self.node) {
                    Some(text) => {
                        let quoted = format!("\"{text}\"");
                        self.mend(draft.help(format!("quote it: `{quoted}`")), quoted)
                    }
                    None => draft,
                }
            }),
        }
        None
    }

    /// The help for a list or nothing where one value is needed.
    pub(super) fn one_value<'d>(&self, draft: Draft<'d>) -> Draft<'d> {
        match &self.node.value {
            Value::Sequence(items) => match items.as_slice() {
                [item] => match item.text() {
                    Some(text) => {
                        draft.help(format!("write `{}` alone, not as a list", short(text)))
                    }
                    None => draft.help("write one value, not a list"),
                },
                _ => draft.help("write one value, not a list"),
            },
            Value::Scalar(scalar) if scalar.core() == Core::Null => {
                draft.help("write a value, or leave the key out if it is not needed")
            }
            _ => draft,
        }
    }

    pub(super) fn keys(&self, fields: Option<&'static [&'static str]>) -> Option<Keys<'de, '_>> {
        if self.is_unfit() {
            return None;
        }
        if let Value::Mapping(entries) = &self.node.value {
            return Some(Keys::new(*self, entries, fields));
        }
        self.wrong(&codes::WRONG_TYPE, "a mapping", |draft| {
            match &self.node.value {
                Value::Scalar(scalar) if scalar.core() == Core::Null => draft.help(
                    "write its keys indented below, `{}` for none of them, or leave the key out",
                ),
                Value::Sequence(_) => draft.help("write its keys without `-`"),
                Value::Scalar(_) | Value::Mapping(_) => match fields {
                    Some(fields) if !fields.is_empty() => {
                        let known = crate::diag::words::all(fields, "and");
                        draft.help(format!("its keys are {known}"))
                    }
                    _ => draft,
                },
            }
        });
        None
    }

    pub(super) fn list(&self) -> Option<Items<'de, '_>> {
        if self.is_unfit() {
            return None;
        }
        match &self.node.value {
            Value::Sequence(items) => return Some(Items::new(*self, items)),
            Value::Scalar(scalar) if scalar.core() == Core::Null => {
                self.wrong(&codes::WRONG_TYPE, "a list", |draft| {
                    draft.help("write `[]` for an empty list, or leave the key out")
                });
            }
            Value::Scalar(_) => self.wrong(&codes::WRONG_TYPE, "a list", |draft| {
                match written(self.node) {
                    Some(text)
                        if text
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)) =>
                    {
                        self.mend(
                            draft.help(format!("write `[{}]`", short(text))),
                            format!("[{text}]"),
                        )
                    }
                    _ => draft.help("put it in `[` and `]`"),
                }
            }),
            Value::Mapping(_) => self.wrong(&codes::WRONG_TYPE, "a list", |draft| {
                draft.help("start each item with `- `")
            }),
        }
        None
    }
}

/// A leading zero: what YAML 1.2 and YAML 1.1 make of it, if that differs.
fn two_readings(text: &str) -> Option<(u64, u64)> {
    let digits = text.strip_prefix('0')?;
    let octal = u64::from_str_radix(digits, 8).ok()?;
    let decimal = digits.parse().ok()?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    (plain && octal != decimal).then_some((decimal, octal))
}

/// A node in a few words.
fn describe(node: &Node) -> String {
    match &node.value {
        Value::Sequence(_) => "a list".to_owned(),
        Value::Mapping(_) => "a mapping".to_owned(),
        Value::Scalar(scalar) => match (scalar.core(), scalar) {
            (Core::Null, _) => "nothing".to_owned(),
            (Core::Text(text), _) => format!("the text `{}`", short(text)),
            (_, Scalar::Written { text, .. }) => format!("`{}`", short(text)),
            (Core::Bool(value), _) => format!("`{value}`"),
            (Core::Integer(value), _) => format!("`{value}`"),
            (Core::Float(value), _) => format!("`{value}`"),
        },
    }
}
