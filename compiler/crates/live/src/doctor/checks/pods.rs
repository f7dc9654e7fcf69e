//! Findings about pending pods.

use std::sync::Arc;

use gpuc_model::Pool;
use gpuc_model::scheduling::Requirement;

use super::mig_configuration_failed::STATE_LABEL;
use super::node_class_not_ready::{has_gpus, node_pool_ref};
use crate::doctor::check::Check;
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Evidence, Finding};
use crate::doctor::pending::PendingPod;
use crate::doctor::verdict::{Verdict, waiting_seconds};
use crate::objects::ObjectRef;
use crate::state::Kind;

/// The seconds after which a pod waits for long. Before, other pods may end, and maintenance of nodes may be over.
pub(super) const PATIENCE_SECONDS: u64 = 600;

/// Whether the pod waits for so short a time that it may still be scheduled without a change, unless nodes that it
/// would fit on have a fault.
pub(super) fn may_wait(ctx: &Context<'_>, pending: &PendingPod<'_>) -> bool {
    let seconds = waiting_seconds(ctx, pending);
    pending.obstacles.would_fit.is_empty() && seconds.is_some_and(|it| it < PATIENCE_SECONDS)
}

/// A finding about a pending pod, with the messages of the scheduler and of the autoscaler. The nodes that the pod
/// would fit on explain it.
pub(super) fn report_pod(
    ctx: &Context<'_>,
    check: &'static Check,
    pending: &PendingPod<'_>,
    message: impl Into<String>,
) -> Finding {
    let metadata = &pending.pod.metadata;
    let object = ObjectRef::of_kind("Pod", metadata);
    let demand = &pending.obstacles.demand;
    let empty = ctx.empty_pools().filter(|pool| selects_pool(demand, pool));
    let mut sources: Vec<ObjectRef> = empty.map(pool_ref).collect();
    // A node whose MIG devices are not created may be the one that the pod waits for.
    if needs_mig_devices(demand) {
        let nodes = ctx.gpu_nodes().filter(|node| {
            let state = node.node.metadata.label(STATE_LABEL);
            state.is_some_and(|state| state != "success")
        });
        sources.extend(nodes.map(NodeFacts::object));
    }
    if matches!(pending.obstacles.verdict, Verdict::NotOffered { .. }) {
        // Only Node Feature Discovery would find their GPUs.
        sources.extend_from_slice(ctx.unlabeled_nodes());
    }
    if needs_nodes(&pending.obstacles.verdict) {
        let pools = ctx.state.objects(Kind::NodePool).iter();
        let pools = pools.filter(|pool| has_gpus(ctx, pool));
        sources.extend(pools.map(node_pool_ref));
    }
    let depends_on = match sources.as_slice() {
        [] => Arc::clone(&pending.obstacles.would_fit),
        _ => [&pending.obstacles.would_fit, sources.as_slice()]
            .concat()
            .into(),
    };
    let mut finding = Finding::new(&check.code, object.clone(), message)
        .depends_on(depends_on)
        .command(format!(
            "kubectl describe pod --namespace {} {}",
            metadata.namespace, metadata.name
        ));
    if let Some(evidence) = Evidence::pod_condition(pending.pod, "PodScheduled") {
        finding = finding.evidence(evidence);
    }
    for reason in ["NotTriggerScaleUp", "FailedScaleUp"] {
        if let Some(event) = ctx.recent_event(&object, reason) {
            finding = finding.evidence(Evidence::event(event));
        }
    }
    finding
}

/// Whether a pod requests MIG devices.
pub(super) fn needs_mig_devices(demand: &PodDemand) -> bool {
    let mut gpus = demand.gpus();
    gpus.any(|(name, _)| name.starts_with("nvidia.com/mig-"))
}

/// Whether more nodes of the same type would help.
pub(super) fn needs_nodes(verdict: &Verdict) -> bool {
    matches!(
        verdict,
        Verdict::NotOffered { .. }
            | Verdict::InUse { .. }
            | Verdict::Fragmented { .. }
            | Verdict::Stranded { .. }
            | Verdict::NotReady { .. }
            | Verdict::Cordoned { .. }
    )
}

/// A reference to a pool of gpu-cluster.yaml.
pub(super) fn pool_ref(pool: &Pool) -> ObjectRef {
    ObjectRef::new("Pool", "", &pool.name.value)
}

/// Whether a pod would run on nodes of a pool, by its selector, its affinity and its GPUs.
fn selects_pool(demand: &PodDemand, pool: &Pool) -> bool {
    let label = |key: &str| {
        let mut labels = pool.labels.iter().chain(&pool.selector);
        labels.find(|it| it.key == key).map(|it| it.value.as_str())
    };
    let matches = |requirement: &Requirement| requirement.matches(label(&requirement.key));
    let advertised = pool.advertised.get().map_or(&[][..], Vec::as_slice);
    let mut gpus = demand.gpus();
    let mut terms = demand.terms.iter().flatten();
    demand.selector.iter().all(matches)
        && (demand.terms.is_none() || terms.any(|term| term.labels.iter().all(matches)))
        && gpus.all(|(name, _)| advertised.iter().any(|it| it.name == name))
}

/// The path of a pod's request of a resource.
pub(super) fn request_path(resource: &str) -> String {
    format!("spec.containers[*].resources.requests[\"{resource}\"]")
}

/// An amount in thousandths as a quantity.
pub(super) fn amount_text(resource: &str, thousandths: u64) -> String {
    let is_bytes = resource == "memory"
        || resource == "ephemeral-storage"
        || resource.starts_with("hugepages-");
    match thousandths {
        _ if is_bytes => format!("{}Mi", (thousandths / 1000).div_ceil(1 << 20)),
        whole if whole.is_multiple_of(1000) => (whole / 1000).to_string(),
        part => format!("{part}m"),
    }
}
