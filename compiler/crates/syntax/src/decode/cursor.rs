//! One node, and its comparison with the expected type.

use super::abbreviation::abbreviate;
use super::access::{Items, Keys};
use super::constraints::{DecodeProblem, plain_text};
use super::number_ranges;
use super::pass::{Finding, Pass};
use super::path::Path;
use super::{codes, misplaced_key};
use crate::diag::{Code, DiagnosticBuilder};
use crate::node::{Node, Origin, Scalar, Value};
use crate::schema;
use crate::source::Span;
use crate::yaml::core_schema::{CoreValue, resolve_scalar};

/// A node, its path, and the current pass.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'de, 'p> {
    pub(super) node: &'de Node,
    pub(super) path: &'p Path<'p>,
    pub(super) pass: &'p Pass<'p>,
}

impl<'de> Cursor<'de, '_> {
    /// The span where the node is written, even if an alias copied it.
    pub(super) fn source_span(&self) -> Span {
        match self.node.origin {
            Origin::Written { span, .. } => span,
            _ => self.node.span(),
        }
    }

    /// Reports a node of the wrong type and replaces it by a placeholder.
    pub(super) fn report_wrong_type(
        &self,
        code: &'static Code,
        required: &str,
        customize: impl FnOnce(DiagnosticBuilder<'_>) -> DiagnosticBuilder<'_>,
    ) {
        let path = self.path.quoted();
        let found = describe(self.node);
        self.reject(
            code,
            format!("{path} must be {required}, not {found}"),
            format!("expected {required}"),
            customize,
        );
    }

    /// Reports a problem of the node and replaces it by a placeholder.
    pub(super) fn reject(
        &self,
        code: &'static Code,
        message: String,
        label: String,
        more: impl FnOnce(DiagnosticBuilder<'_>) -> DiagnosticBuilder<'_>,
    ) {
        let finding = Finding {
            code,
            span: self.node.span(),
            source_span: self.source_span(),
            message,
            label,
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
        if self.source_span() == self.node.span() {
            builder.replace(self.node.span(), text)
        } else {
            builder
        }
    }

    /// Reports whether the node's type rejected its value.
    pub(super) fn report_if_rejected(&self) -> bool {
        let Some(message) = self.pass.constraints.rejection(self.node) else {
            return false;
        };
        let text = format!("{}: {}", self.path.quoted(), abbreviate(message));
        self.reject(&codes::WRONG_TYPE, text, String::new(), |builder| builder);
        true
    }

    /// Sets this node as the cause of an error, unless a nested node is already set.
    pub(super) fn attach_node<T>(
        &self,
        value: Result<T, DecodeProblem>,
    ) -> Result<T, DecodeProblem> {
        value.map_err(|problem| problem.with_node(self.node))
    }

    pub(super) fn core_value(&self) -> Option<CoreValue<'de>> {
        match &self.node.value {
            Value::Scalar(scalar) => Some(scalar.core_value()),
            _ => None,
        }
    }

    pub(super) fn expect_integer<N>(&self, min: N, max: N) -> Option<N>
    where
        N: Copy + TryFrom<i128> + Into<i128>,
    {
        if self.report_if_rejected() {
            return None;
        }
        if let Some(text) = plain_text(self.node)
            && let Some((decimal, octal)) = ambiguous_octal(text)
        {
            self.report_wrong_type(&codes::WRONG_TYPE, "an integer", |builder| {
                builder.help(format!(
                    "it is {decimal} in YAML 1.2 and {octal} in YAML 1.1: write `{decimal}`, or `0o{}` for {octal}",
                    text.trim_start_matches('0')
                ))
            });
            return None;
        }
        let Some(CoreValue::Integer(number)) = self.core_value() else {
            self.report_not_an_integer();
            return None;
        };
        let fits = N::try_from(number).ok();
        if fits.is_none() {
            let of_type = (min.into(), max.into());
            let (min, max) = number_ranges::key_range(&self.path.to_string(), of_type.0, of_type.1);
            let required = format!("an integer from {min} to {max}");
            let help = format!("write {required}");
            self.report_wrong_type(&codes::NUMBER_OUT_OF_RANGE, &required, |builder| {
                builder.help(help)
            });
        }
        fits
    }

    /// Reports that the node is not an integer.
    fn report_not_an_integer(&self) {
        let correction = match (&self.node.value, self.core_value()) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "compared with the original below"
            )]
            (_, Some(CoreValue::Float(number))) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Some((number as i64).to_string())
            }
            (Value::Scalar(Scalar::Written { text, .. }), Some(CoreValue::Text(_))) => {
                let digits = text.replace(['_', ',', ' '], "");
                matches!(resolve_scalar(&digits, true), CoreValue::Integer(_)).then_some(digits)
            }
            _ => None,
        };
        self.report_wrong_type(
            &codes::WRONG_TYPE,
            "an integer",
            |builder| match correction {
                Some(correction) => {
                    let builder = builder.help(format!("write `{correction}`"));
                    self.with_fix(builder, correction)
                }
                None => self.with_single_value_help(builder),
            },
        );
    }

    pub(super) fn expect_float(&self) -> Option<f64> {
        if self.report_if_rejected() {
            return None;
        }
        match self.core_value() {
            Some(CoreValue::Float(number)) if number.is_finite() => Some(number),
            #[expect(
                clippy::cast_precision_loss,
                reason = "that is what a float is asked for"
            )]
            Some(CoreValue::Integer(number)) => Some(number as f64),
            Some(CoreValue::Text(text))
                if matches!(
                    resolve_scalar(text, true),
                    CoreValue::Integer(_) | CoreValue::Float(_)
                ) =>
            {
                self.report_wrong_type(&codes::WRONG_TYPE, "a number", |builder| {
                    let builder =
                        builder.help(format!("write `{}` without quotes", abbreviate(text)));
                    self.with_fix(builder, text.to_owned())
                });
                None
            }
            _ => {
                self.report_wrong_type(&codes::WRONG_TYPE, "a number", |builder| {
                    self.with_single_value_help(builder)
                });
                None
            }
        }
    }

    pub(super) fn expect_bool(&self) -> Option<bool> {
        if self.report_if_rejected() {
            return None;
        }
        let text = match self.core_value() {
            Some(CoreValue::Bool(value)) => return Some(value),
            Some(CoreValue::Text(text)) => text.to_lowercase(),
            _ => String::new(),
        };
        let meant = match text.as_str() {
            "yes" | "on" | "y" | "true" | "enabled" => Some("true"),
            "no" | "off" | "n" | "false" | "disabled" => Some("false"),
            _ => None,
        };
        self.report_wrong_type(
            &codes::WRONG_TYPE,
            "`true` or `false`",
            |builder| match meant {
                Some(meant) => {
                    self.with_fix(builder.help(format!("write `{meant}`")), meant.to_owned())
                }
                None => self.with_single_value_help(builder),
            },
        );
        None
    }

    pub(super) fn expect_string(&self) -> Option<&'de str> {
        if self.report_if_rejected() {
            return None;
        }
        match self.core_value() {
            Some(CoreValue::Text(text)) => return Some(text),
            Some(CoreValue::Null) | None => {
                self.report_wrong_type(&codes::WRONG_TYPE, "a string", |builder| {
                    self.with_single_value_help(builder)
                });
            }
            Some(_) => self.report_wrong_type(&codes::WRONG_TYPE, "a string", |builder| {
                match plain_text(self.node) {
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
    pub(super) fn with_single_value_help<'d>(
        &self,
        builder: DiagnosticBuilder<'d>,
    ) -> DiagnosticBuilder<'d> {
        match &self.node.value {
            Value::Sequence(items) => match items.as_slice() {
                [item] => match item.text() {
                    Some(text) => {
                        let is_text = matches!(resolve_scalar(text, true), CoreValue::Text(_));
                        let is_written_as_text = plain_text(item).is_none();
                        let is_quoted = is_written_as_text && !is_text;
                        let quotes = if is_quoted { "\"" } else { "" };
                        let text = abbreviate(text);
                        builder.help(format!("write `{quotes}{text}{quotes}` instead of a list"))
                    }
                    None => builder.help("write a single value instead of a list"),
                },
                _ => builder.help("write a single value instead of a list"),
            },
            Value::Scalar(scalar) if scalar.core_value() == CoreValue::Null => {
                let is_required = schema::is_required(&self.path.to_string());
                builder.help(if is_required {
                    "write a value"
                } else {
                    "write a value, or remove the key if it is not needed"
                })
            }
            _ => builder,
        }
    }

    pub(super) fn expect_mapping(
        &self,
        fields: Option<&'static [&'static str]>,
    ) -> Option<Keys<'de, '_>> {
        if self.report_if_rejected() {
            return None;
        }
        if let Value::Mapping(entries) = &self.node.value {
            return Some(Keys::new(*self, entries, fields));
        }
        self.report_wrong_type(&codes::WRONG_TYPE, "a mapping", |builder| {
            match &self.node.value {
                Value::Scalar(scalar) if scalar.core_value() == CoreValue::Null => {
                    builder.help(match self.required_keys().as_str() {
                        "" => "write its keys indented below, write `{}`, or remove the key"
                            .to_owned(),
                        required => format!("write its keys indented below, at least {required}"),
                    })
                }
                Value::Sequence(items) => match names_and_values(items) {
                    Some(mapping) => {
                        let help = format!("write `{}`", abbreviate(&mapping));
                        self.with_fix(builder.help(help), mapping)
                    }
                    None => builder.help("write its keys without `-`"),
                },
                Value::Scalar(_) | Value::Mapping(_) => match fields {
                    Some(_) if let Some(taint) = self.taint_as_mapping() => {
                        let help = format!("write `{taint}`");
                        self.with_fix(builder.help(help), taint)
                    }
                    Some(fields) if !fields.is_empty() => {
                        let known = crate::diag::phrases::quoted_conjunction(fields, "and");
                        let is_true = self.node.text() == Some("true");
                        builder.help(match self.required_keys().as_str() {
                            "" if is_true => {
                                format!("write `{{}}` for the defaults; the keys are {known}")
                            }
                            "" => format!("the keys are {known}"),
                            required => format!("write a mapping with at least {required}"),
                        })
                    }
                    _ => builder,
                },
            }
        });
        None
    }

    /// The required keys of the mapping at this place, for a help; empty if there are none.
    fn required_keys(&self) -> String {
        match schema::required_keys(&self.path.to_string()).as_slice() {
            [] => String::new(),
            required => crate::diag::phrases::quoted_conjunction(required, "and"),
        }
    }

    /// The mapping for a taint in the notation of kubectl: `key=value:Effect`.
    fn taint_as_mapping(&self) -> Option<String> {
        let path = misplaced_key::without_indexes(&self.path.to_string());
        let text = self.node.text().filter(|_| path.ends_with("taints"))?;
        let (key_and_value, effect) = text.split_once(':')?;
        let (key, value) = key_and_value.split_once('=').unwrap_or((key_and_value, ""));
        let is_plain = |text: &str| {
            let mut bytes = text.bytes();
            bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
        };
        if key.is_empty() || ![key, value, effect].into_iter().all(is_plain) {
            return None;
        }
        let value = if value.is_empty() {
            String::new()
        } else {
            format!("value: \"{value}\", ")
        };
        Some(format!("{{key: {key}, {value}effect: {effect}}}"))
    }

    pub(super) fn expect_list(&self) -> Option<Items<'de, '_>> {
        if self.report_if_rejected() {
            return None;
        }
        match &self.node.value {
            Value::Sequence(items) => return Some(Items::new(*self, items)),
            Value::Scalar(scalar) if scalar.core_value() == CoreValue::Null => {
                self.report_wrong_type(&codes::WRONG_TYPE, "a list", |builder| {
                    builder.help("write `[]` for an empty list, or remove the key")
                });
            }
            Value::Scalar(_) => self.report_wrong_type(&codes::WRONG_TYPE, "a list", |builder| {
                let keys = schema::child_keys(&self.path.to_string());
                if !keys.is_empty() {
                    let keys = crate::diag::phrases::quoted_conjunction(&keys, "and");
                    return builder.help(format!(
                        "write a list of mappings; the keys of each are {keys}"
                    ));
                }
                let path = self.path.to_string();
                let key = path.rsplit('.').next();
                if matches!(key, Some("command" | "args")) {
                    let words = command_words(self.node.text().unwrap_or_default());
                    return builder.help(format!("write each word as an item: `{words}`"));
                }
                match plain_text(self.node) {
                    Some(text)
                        if text
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)) =>
                    {
                        let is_text = matches!(self.core_value(), Some(CoreValue::Text(_)));
                        let has_texts = schema::has_text_items(&self.path.to_string());
                        if !is_text && !has_texts {
                            return builder.help("write a list");
                        }
                        let item = if has_texts && !is_text {
                            format!("\"{text}\"")
                        } else {
                            text.to_owned()
                        };
                        self.with_fix(
                            builder.help(format!("write `[{}]`", abbreviate(&item))),
                            format!("[{item}]"),
                        )
                    }
                    _ => builder.help("enclose it in `[` and `]`"),
                }
            }),
            Value::Mapping(_) => self.report_wrong_type(&codes::WRONG_TYPE, "a list", |builder| {
                builder.help("start each item with `- `")
            }),
        }
        None
    }
}

/// A command as a list of words. A command with the syntax of a shell is started by a shell.
fn command_words(command: &str) -> String {
    let quoted = |word: &str| serde_json::Value::from(word).to_string();
    if command.contains(['|', '&', ';', '<', '>', '$', '`', '"', '\'', '*', '\n']) {
        return format!("[sh, -c, {}]", quoted(&abbreviate(command)));
    }
    let is_plain = |word: &str| {
        let mut bytes = word.bytes();
        let is_path = |byte: u8| byte.is_ascii_alphabetic() || byte == b'/';
        word.bytes().next().is_some_and(is_path)
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_./=".contains(&byte))
    };
    let words = command.split_whitespace();
    let words: Vec<_> = words
        .map(|word| {
            if is_plain(word) {
                word.to_owned()
            } else {
                quoted(word)
            }
        })
        .collect();
    format!("[{}]", abbreviate(&words.join(", ")))
}

/// The mapping for a list of items with a `name` and a `value`, as in Kubernetes.
fn names_and_values(items: &[Node]) -> Option<String> {
    let entry = |item: &Node| {
        let (name, value) = (item.get("name")?.text()?, item.get("value")?.text()?);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let value = serde_json::Value::from(value);
        (!name.is_empty() && name.chars().all(is_plain)).then(|| format!("{name}: {value}"))
    };
    let entries = items.iter().map(entry).collect::<Option<Vec<_>>>()?;
    (!entries.is_empty()).then(|| format!("{{{}}}", entries.join(", ")))
}

/// The values of a number with a leading zero in YAML 1.2 and YAML 1.1, if they differ.
fn ambiguous_octal(text: &str) -> Option<(u64, u64)> {
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
        Value::Scalar(scalar) => match (scalar.core_value(), scalar) {
            (CoreValue::Null, _) => "null".to_owned(),
            (CoreValue::Text(text), _) => format!("the string `{}`", abbreviate(text)),
            (_, Scalar::Written { text, .. }) => format!("`{}`", abbreviate(text)),
            (CoreValue::Bool(value), _) => format!("`{value}`"),
            (CoreValue::Integer(value), _) => format!("`{value}`"),
            (CoreValue::Float(value), _) => format!("`{value}`"),
        },
    }
}
