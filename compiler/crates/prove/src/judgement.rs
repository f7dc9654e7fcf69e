//! The result of a proof.

use serde::Serialize;

/// Whether a property is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The log proves that it works.
    Proven,
    /// The log does not prove that it works.
    NotProven,
}

/// A line of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The number of the line, from 1.
    pub line: u64,
    /// The line without colors, prefixes of `kubectl logs`, and what exceeds 300 characters.
    pub text: String,
}

/// A reason for a verdict, a warning or a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The stable identifier, in kebab-case: `tcp-fallback`.
    pub id: &'static str,
    /// The sentence, in lower case and without a full stop.
    pub text: String,
    /// The line that shows it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What the user can do; empty if nothing is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub help: String,
}

impl Reason {
    /// A reason without evidence and help.
    pub(crate) fn new(id: &'static str, text: impl Into<String>) -> Self {
        Self {
            id,
            text: text.into(),
            evidence: None,
            help: String::new(),
        }
    }

    /// Sets the evidence, if there is any.
    pub(crate) fn evidence<'e>(mut self, evidence: impl Into<Option<&'e Evidence>>) -> Self {
        self.evidence = evidence.into().cloned();
        self
    }

    /// Sets the help.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

/// A value that was read from a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// The name: `bus bandwidth`.
    pub name: &'static str,
    /// The value with its unit.
    pub value: String,
}

/// The judgement of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The judged property, for messages: `EFA between 2 nodes`.
    pub subject: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reasons why it is not proven, most important first; empty if it is proven.
    pub reasons: Vec<Reason>,
    /// Known causes of the reasons, from other lines of the log.
    pub causes: Vec<Reason>,
    /// Remarks that do not change the verdict.
    pub warnings: Vec<Reason>,
    /// The values that were read.
    pub measured: Vec<Measured>,
}

impl Judgement {
    /// A judgement whose verdict follows from its reasons.
    pub(crate) fn new(subject: String, reasons: Vec<Reason>) -> Self {
        let verdict = if reasons.is_empty() {
            Verdict::Proven
        } else {
            Verdict::NotProven
        };
        Self {
            subject,
            verdict,
            reasons,
            causes: Vec::new(),
            warnings: Vec::new(),
            measured: Vec::new(),
        }
    }

    /// Whether the property is proven.
    pub fn is_proven(&self) -> bool {
        self.verdict == Verdict::Proven
    }
}
