//! Evaluation of node selectors and required node affinity, as in the scheduler, with partially known labels.
//!
//! Source: kubernetes `staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go` and
//! `apimachinery/pkg/labels/selector.go` (`Requirement.Matches`): terms are alternatives, the expressions of a term
//! must all match, a term without any expression matches nothing, `NotIn` and `DoesNotExist` match a node without the
//! label, `Gt` and `Lt` compare whole numbers and match nothing else.

use gpuc_schema::Span;

use super::feasibility::Feasibility;
use super::node_labels::{LabelValue, NodeLabels};

/// An expression about a node label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// The comparison.
    pub operator: Operator,
    /// The values to compare with.
    pub values: Vec<String>,
    /// Whether it is an expression of a node affinity, instead of an entry of `nodeSelector`.
    pub is_expression: bool,
    /// The location of the expression.
    pub span: Span,
}

/// A comparison with a label's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The value is one of the listed values.
    In,
    /// The value is not one of the listed values, or the label is absent.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The value is a greater number.
    Gt,
    /// The value is a smaller number.
    Lt,
}

/// A node selector term: all of its expressions must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// Expressions about labels: `matchExpressions`.
    pub labels: Vec<Requirement>,
    /// Expressions about the node's name: `matchFields`. The names of a pool's nodes are not known in advance.
    pub fields: Vec<Requirement>,
}

impl Operator {
    /// Parses the name of an operator in Kubernetes.
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

    /// The name of the operator in Kubernetes.
    pub fn as_str(self) -> &'static str {
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
    /// A requirement of a label with this value, as in a `nodeSelector`.
    pub fn equals(key: impl Into<String>, value: impl Into<String>, span: Span) -> Self {
        Self {
            key: key.into(),
            operator: Operator::In,
            values: vec![value.into()],
            is_expression: false,
            span,
        }
    }

    /// Whether a node with this value of the label matches; `None` means that the label is absent.
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

    /// Whether nodes with these labels match.
    pub(super) fn feasibility(&self, labels: &NodeLabels) -> Feasibility {
        match labels.get(&self.key) {
            LabelValue::Known(value) => Feasibility::from_condition(self.matches(Some(&value))),
            LabelValue::Absent => Feasibility::from_condition(self.matches(None)),
            LabelValue::Unknown => Feasibility::Unknown,
            LabelValue::Prefix(starts) => {
                let begins = |value: &String| starts.iter().any(|start| value.starts_with(start));
                match self.operator {
                    Operator::In if !self.values.iter().any(begins) => Feasibility::DoesNotFit,
                    Operator::NotIn if !self.values.iter().any(begins) => Feasibility::Fits,
                    Operator::Exists => Feasibility::Fits,
                    Operator::DoesNotExist => Feasibility::DoesNotFit,
                    _ => Feasibility::Unknown,
                }
            }
            LabelValue::OneOf(values) => {
                let matches = values.iter().map(|value| self.matches(value.as_deref()));
                let matches: Vec<_> = matches.collect();
                match (matches.contains(&true), matches.contains(&false)) {
                    (true, false) => Feasibility::Fits,
                    (false, true) => Feasibility::DoesNotFit,
                    _ => Feasibility::Unknown,
                }
            }
        }
    }
}

impl Term {
    /// Whether nodes with these labels match.
    pub(super) fn feasibility(&self, labels: &NodeLabels) -> Feasibility {
        if self.labels.is_empty() && self.fields.is_empty() {
            return Feasibility::DoesNotFit;
        }
        let fields = self.fields.iter().map(|_| Feasibility::Unknown);
        let labels = self.labels.iter().map(|it| it.feasibility(labels));
        labels.chain(fields).min().unwrap_or(Feasibility::Fits)
    }
}
