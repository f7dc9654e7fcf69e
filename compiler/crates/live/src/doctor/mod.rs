//! `gpuc doctor`: finds the causes of faults in a running cluster.
//!
//! [`diagnose`] is a pure function of the state of a cluster. Checks in `checks` report single objects, `causes`
//! finds which finding explains which others. A check whose kinds are not completely known is reported as not possible:
//! missing objects are never evidence that something is healthy.

mod advertiser;
mod causes;
mod check;
mod checks;
mod context;
mod demand;
#[cfg(test)]
mod examples;
mod finding;
mod input;
#[cfg(test)]
mod pairs;
mod pending;
mod placement;
pub mod render;
mod scope;
mod story;
#[cfg(test)]
mod testing;
mod unlabeled;
mod verdict;

pub use advertiser::{Advertiser, advertiser_of};
pub use causes::Cause;
pub use check::{Check, Logs};
pub use checks::CHECKS;
pub use context::{Context, ExpectedGpus, NodeFacts, POOL_LABELS};
pub use demand::{PodDemand, requests};
pub use finding::{Evidence, Finding, Layer};
pub use placement::{Misfit, misfits, usage};
pub use scope::Scope;
pub use story::{Outcome, Step, parse_pod, story};

use gpuc_model::{Cluster, Registry};
use gpuc_syntax::diag::Severity;
use gpuc_syntax::diag::phrases::pluralize;

use crate::read::resource_name;
use crate::state::{ClusterState, has_workload_logs};

/// The result of checking a running cluster.
#[derive(Debug)]
pub struct Diagnosis {
    /// The root causes, the most important first.
    pub causes: Vec<Cause>,
    /// The checks that were not possible, completely or in part.
    pub skipped: Vec<SkippedCheck>,
    /// The number of checks that ran on complete data.
    pub completed: usize,
    /// The numbers of objects.
    pub totals: Totals,
}

/// A check that was not possible.
#[derive(Debug)]
pub struct SkippedCheck {
    /// The check.
    pub check: &'static Check,
    /// The kinds that are not complete, and why: `pods: forbidden`.
    pub reasons: Vec<String>,
    /// Whether only data is missing that gpuc does not read from a cluster: logs of workloads, and descriptions of node
    /// pools by the cloud.
    pub lacks_optional_only: bool,
}

/// The numbers of objects in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The nodes.
    pub nodes: usize,
    /// The nodes with GPUs.
    pub gpu_nodes: usize,
    /// The pods.
    pub pods: usize,
}

impl Diagnosis {
    /// Whether nothing was found, and every check lacked objects, so that this means nothing.
    pub fn is_inconclusive(&self) -> bool {
        let incomplete = self.skipped.iter();
        let incomplete = incomplete.filter(|it| !it.lacks_optional_only);
        let needing = CHECKS.iter().filter(|it| !it.needs.is_empty());
        self.causes.is_empty() && incomplete.count() >= needing.count()
    }

    /// Whether a finding has at least this severity.
    pub fn has_severity(&self, severity: Severity) -> bool {
        let mut causes = self.causes.iter();
        causes.any(|cause| cause.finding.code.severity >= severity)
    }
}

/// Finds the causes of faults in a cluster.
pub fn diagnose(
    state: &ClusterState,
    cluster: Option<&Cluster>,
    registry: &'static Registry,
) -> Diagnosis {
    let ctx = Context::new(state, cluster, registry);
    let (mut findings, mut skipped) = (Vec::new(), Vec::new());
    let has_workload_logs = has_workload_logs(state);
    for check in CHECKS {
        let first = findings.len();
        (check.run)(&ctx, &mut findings);
        for finding in &mut findings[first..] {
            finding.layer = check.layer;
            finding.is_symptom = check.is_symptom;
            if finding.input.is_none() {
                finding.input = input::locate(&ctx, finding).filter(|it| it.is_written());
            }
        }
        let mut reasons: Vec<String> = (check.needs.iter())
            .filter(|kind| !state.completeness(**kind).is_complete())
            .map(|kind| format!("{}: {}", resource_name(*kind), state.completeness(*kind)))
            .collect();
        if check.needs_logs == Logs::Stack && state.logs.is_empty() {
            reasons.push("container logs: not read".to_owned());
        }
        if check.needs_logs == Logs::Stack && state.unread_logs > 0 {
            let count = pluralize(state.unread_logs, "container log");
            reasons.push(format!("{count} could not be read"));
        }
        let lacks_optional_only = reasons.is_empty();
        if check.needs_logs == Logs::Workloads && !has_workload_logs {
            reasons.push("logs of workloads: not read".to_owned());
        }
        // A check that needs no kind of Kubernetes reads what the cloud says about its pools.
        if check.needs.is_empty() && state.cloud_pools.is_empty() {
            reasons.push("descriptions of node pools by the cloud: not read".to_owned());
        }
        if !reasons.is_empty() {
            skipped.push(SkippedCheck {
                check,
                reasons,
                lacks_optional_only,
            });
        }
    }
    Diagnosis {
        causes: causes::link(findings),
        completed: CHECKS.len() - skipped.len(),
        skipped,
        totals: Totals {
            nodes: ctx.nodes.len(),
            gpu_nodes: ctx.gpu_nodes().count(),
            pods: state.pods.items.len(),
        },
    }
}

/// The beginnings of the taints of nodes that are about to be removed.
///
/// Source: kubernetes-sigs/karpenter `pkg/apis/v1/taints.go`, kubernetes-sigs/cluster-autoscaler `utils/taints`,
/// kubernetes `staging/src/k8s.io/cloud-provider/api/well_known_taints.go`, aws/aws-node-termination-handler
/// `pkg/node/node.go`, 2026-11-28.
const REMOVAL_TAINTS: &[&str] = &[
    "DeletionCandidateOfClusterAutoscaler",
    "ToBeDeletedByClusterAutoscaler",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "node.cloudprovider.kubernetes.io/shutdown",
];

/// Whether a node with this taint is about to be removed.
pub(crate) fn is_removal_taint(key: &str) -> bool {
    REMOVAL_TAINTS.iter().any(|taint| key.starts_with(taint))
}

/// Whether a taint is removed by gpuc-runtime or by a node provisioner when the node is ready for pods.
pub(crate) fn is_startup_taint(key: &str) -> bool {
    key.starts_with("startup-taint.cluster-autoscaler.kubernetes.io/")
        || key == "karpenter.sh/unregistered"
        || key == "node.cloudprovider.kubernetes.io/uninitialized"
}
