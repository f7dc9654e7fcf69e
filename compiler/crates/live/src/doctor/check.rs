//! Checks of a running cluster.

use gpuc_syntax::diag::Code;

use super::context::Context;
use super::finding::{Finding, Layer};
use crate::state::Kind;

/// The container logs that a check needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logs {
    /// None.
    None,
    /// Those of the GPU stack, which snapshots contain.
    Stack,
    /// Those of workloads, which only must-gather folders and troubleshoot bundles contain.
    Workloads,
}

/// A check of a running cluster.
///
/// A check is a pure function of the cluster's state. It reports one finding for each object; findings with the same
/// code, message and help are merged after their causes are known, so a message must not name its subject.
#[derive(Debug)]
pub struct Check {
    /// The code. `bad` is a `gpu-cluster.yaml`, which may be empty, and after
    /// [`OBJECTS_SEPARATOR`](gpuc_syntax::diag::OBJECTS_SEPARATOR) the objects of a cluster with this fault only. The
    /// correction makes the cluster healthy.
    pub code: Code,
    /// The layer.
    pub layer: Layer,
    /// Whether the findings are symptoms: findings about the same objects in earlier layers explain them.
    pub is_symptom: bool,
    /// The kinds that the check needs. If one of them is not complete, the check is reported as not possible, and its
    /// findings in the objects that are known still count.
    pub needs: &'static [Kind],
    /// The container logs that the check needs as well.
    pub needs_logs: Logs,
    /// Finds faults.
    pub run: fn(&Context<'_>, &mut Vec<Finding>),
}
