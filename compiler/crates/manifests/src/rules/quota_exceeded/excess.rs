//! The excess of a quota: its effect on the pods, and the code that reports it.

use gpuc_syntax::diag::Code;

/// The help for a Job whose pods run one after the other.
pub(super) const SEQUENTIAL_HELP: &str = "lower `parallelism`, or raise the quota of the team";

/// An effect of a quota, and the code of the diagnostic about it.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules) struct Excess {
    pub(in crate::rules) kind: ExcessKind,
    pub(in crate::rules) code: &'static Code,
}

/// The effect of a quota on pods that exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum ExcessKind {
    /// Some or all of the pods never run.
    Never,
    /// The pods run one after the other, as in a Job.
    Sequential,
}

impl ExcessKind {
    pub(in crate::rules) fn from_is_sequential(in_turn: bool) -> Self {
        if in_turn {
            Self::Sequential
        } else {
            Self::Never
        }
    }

    /// The problem, as it follows the object's title in the message.
    pub(super) fn problem(self) -> &'static str {
        match self {
            Self::Never => "exceeds the quota of its team",
            Self::Sequential => "cannot run all of its pods at once within the quota of its team",
        }
    }
}
