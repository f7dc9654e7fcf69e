//! Node selectors and required node affinity, as the scheduler reads them, where not every label is known.
//!
//! Source: kubernetes `staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go` and
//! `apimachinery/pkg/labels/selector.go` (`Requirement.Matches`): terms are alternatives, the expressions of a term
//! hold together, a term without any expression matches nothing, `NotIn` and `DoesNotExist` match a node without the
//! label, `Gt` and `Lt` compare whole numbers and match nothing else.

use gpuc_schema::Span;

use super::labels::{Held, NodeLabels};
use super::verdict::Answer;

/// One expression about a label of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what.
    pub values: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// It is one of the values.
    In,
    /// It is none of them, or is not there.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// It is a greater number.
    Gt,
    /// It is a smaller number.
    Lt,
}

/// An alternative: expressions that hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// About labels: `matchExpressions`.
    pub labels: Vec<Requirement>,
    /// About fields of the node, its name: `matchFields`. A pool's nodes have names that nobody knows beforehand.
    pub fields: Vec<Requirement>,
}

impl Operator {
    /// Reads the operator as Kubernetes writes it.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            _ => return None,
        })
    }

    /// As Kubernetes writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Gt => "Gt",
            Self::Lt => "Lt",
        }
    }
}

impl Requirement {
    /// A label with this value, as in a `nodeSelector`.
    pub fn equals(key: impl Into<String>, value: impl Into<String>, span: Span) -> Self {
        Self {
            key: key.into(),
            operator: Operator::In,
            values: vec![value.into()],
            span,
        }
    }

    /// Whether a node matches on which the label is so; `None` for one that does not have it.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let is_listed = |value: &str| self.values.iter().any(|listed| listed == value);
        let compares = |value: &str, than: fn(i64, i64) -> bool| {
            let [bound] = &self.values[..] else {
                return false;
            };
            let (value, bound) = (value.parse().ok(), bound.parse().ok());
            value
                .zip(bound)
                .is_some_and(|(value, bound)| than(value, bound))
        };
        match (self.operator, value) {
            (Operator::In, value) => value.is_some_and(is_listed),
            (Operator::NotIn, value) => !value.is_some_and(is_listed),
            (Operator::Exists, value) => value.is_some(),
            (Operator::DoesNotExist, value) => value.is_none(),
            (Operator::Gt, value) => value.is_some_and(|value| compares(value, |a, b| a > b)),
            (Operator::Lt, value) => value.is_some_and(|value| compares(value, |a, b| a < b)),
        }
    }

    /// Whether the nodes with these labels match.
    pub(super) fn answer(&self, labels: &NodeLabels) -> Answer {
        match labels.get(&self.key) {
            Held::Is(value) => Answer::of(self.matches(Some(&value))),
            Held::Absent => Answer::of(self.matches(None)),
            Held::Unknown => Answer::Perhaps,
            Held::Begins(starts) => {
                let begins = |value: &String| starts.iter().any(|start| value.starts_with(start));
                match self.operator {
                    Operator::In if !self.values.iter().any(begins) => Answer::No,
                    Operator::NotIn if !self.values.iter().any(begins) => Answer::Yes,
                    Operator::Exists => Answer::Yes,
                    Operator::DoesNotExist => Answer::No,
                    _ => Answer::Perhaps,
                }
            }
            Held::OneOf(values) => {
                let answers = values.iter().map(|value| self.matches(value.as_deref()));
                let answers: Vec<_> = answers.collect();
                match (answers.contains(&true), answers.contains(&false)) {
                    (true, false) => Answer::Yes,
                    (false, true) => Answer::No,
                    _ => Answer::Perhaps,
                }
            }
        }
    }
}

impl Term {
    /// Whether the nodes with these labels match.
    pub(super) fn answer(&self, labels: &NodeLabels) -> Answer {
        if self.labels.is_empty() && self.fields.is_empty() {
            return Answer::No;
        }
        let fields = self.fields.iter().map(|_| Answer::Perhaps);
        let labels = self.labels.iter().map(|it| it.answer(labels));
        labels.chain(fields).min().unwrap_or(Answer::Yes)
    }
}
