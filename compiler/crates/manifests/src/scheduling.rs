//! Pods that no pool fits, with the reason.

use gpuc_schema::Spanned;

use gpuc_model::scheduling::{
    DefaultRequests, Demand, Feasibility, Image, MisfitCause, Operator, PoolFeasibility, Reason,
    Request, check_pools,
};
use gpuc_model::{Cluster, DEDICATED_TO, POOL_LABEL, QUEUE_LABEL};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use super::claims::{self, ClaimIndex};
use super::object::Object;
use super::operator_pods;
use super::pod::{Container, Pod};
use super::resources::{ResourceCount, is_gpu_name, is_unadvertised_gpu, parse_count};

/// A pod that no pool fits.
pub(crate) struct UnschedulablePod<'s> {
    /// The index of the pod.
    pub(crate) pod: usize,
    /// Its requirements.
    pub(crate) demand: Demand,
    /// The feasibility in each pool.
    pub(crate) evaluations: Vec<PoolFeasibility<'s>>,
    /// The cause to report.
    pub(crate) cause: UnschedulableCause,
}

/// The reason why no pool fits a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnschedulableCause {
    /// It selects nodes that no pool has.
    Selector,
    /// The taints of these pools, which it does not tolerate, are the only obstacle.
    Taints(Vec<usize>),
    /// It requests several replicas of this pool.
    SeveralReplicas(usize),
    /// Its CUDA version is not supported by the driver or the GPU model of this pool.
    Cuda(usize),
    /// It requests more than a node of any pool has.
    TooLarge,
    /// Different obstacles in different pools.
    Mixed,
}

/// The pods that no pool fits, as far as the manifests contain all of their fields.
pub(super) fn unschedulable_pods<'s>(
    cluster: &'s Cluster,
    claims: &ClaimIndex<'_>,
    pods: &[Pod<'_>],
) -> Vec<UnschedulablePod<'s>> {
    let mut found = Vec::new();
    for (index, pod) in pods.iter().enumerate() {
        let Some((demand, mut evaluations)) = evaluate_pools(cluster, claims, pod) else {
            continue;
        };
        // A claim that is not among the manifests may be for any device.
        let requests_only_unknown_devices = demand.claims.is_empty()
            && !demand.unresolved_claims.is_empty()
            && !demand
                .resources
                .iter()
                .any(|it| is_gpu_name(&it.resource.value));
        // So may nodes with devices of another vendor be outside of the file.
        let is_unknown = |reason: &Reason| {
            matches!(
                reason.cause,
                MisfitCause::ResourceUnknown { .. } | MisfitCause::DeviceClassUnknown { .. }
            )
        };
        let requests_other_devices = !pod.requests_gpus()
            && evaluations
                .iter()
                .flat_map(|it| &it.reasons)
                .any(is_unknown);
        if (requests_only_unknown_devices || requests_other_devices) && !selects_pool_nodes(&demand)
        {
            continue;
        }
        if !pod.requests_gpus() && !selects_pool_nodes(&demand) {
            retain_conclusive(cluster, &mut evaluations);
        }
        let mut feasibilities = evaluations.iter().map(PoolFeasibility::feasibility);
        if evaluations.is_empty()
            || feasibilities.any(|feasibility| feasibility != Feasibility::DoesNotFit)
        {
            continue;
        }
        let cause = classify(&evaluations);
        found.push(UnschedulablePod {
            pod: index,
            demand,
            evaluations,
            cause,
        });
    }
    found
}

/// For a pod that may run on any node: keeps the pools whose taints it tolerates if it is too large for all of them,
/// else none. A cluster that gpuc does not create may have nodes outside of pools.
fn retain_conclusive(cluster: &Cluster, evaluations: &mut Vec<PoolFeasibility<'_>>) {
    let is_complete = cluster.config.cloud.creates_cluster();
    let is_tainted = |evaluation: &PoolFeasibility<'_>| {
        let mut obstacles_of_pool = obstacles(evaluation);
        obstacles_of_pool.any(|reason| matches!(reason.cause, MisfitCause::Taint { .. }))
    };
    evaluations.retain(|evaluation| !is_tainted(evaluation));
    let is_too_small = |evaluation: &PoolFeasibility<'_>| {
        let is_size = |cause: &MisfitCause| cause.is_size();
        obstacles(evaluation).any(|reason| is_size(&reason.cause))
    };
    if !is_complete || !evaluations.iter().all(is_too_small) {
        evaluations.clear();
    }
}

/// The requirements of a pod and its feasibility in each pool, as far as the manifests contain all of its fields;
/// `None` if its requests are invalid.
pub(super) fn evaluate_pools<'s>(
    cluster: &'s Cluster,
    claim_index: &ClaimIndex<'_>,
    pod: &Pod<'_>,
) -> Option<(Demand, Vec<PoolFeasibility<'s>>)> {
    if !has_valid_requests(cluster, pod) {
        return None;
    }
    let mut demand = pod_demand(cluster, pod);
    claims::resolve_claims(cluster, claim_index, pod, &mut demand);
    let mut evaluations = check_pools(&demand, cluster);
    let mut counts = demand.resources.iter().map(|request| request.count);
    let claims = demand.claims.len() + demand.unresolved_claims.len();
    let requests_devices = claims > 0 || counts.any(|count| count > 0);
    // The object that completes the pod may add tolerations; its labels are added to the written ones.
    let is_completed = pod.is_partial && pod.workflow.is_none();
    let may_tolerate = is_completed && !operator_pods::has_all_tolerations(pod);
    // Kueue adds the tolerations and labels of the pool with the devices, and changes no existing ones.
    let is_tolerated = may_tolerate || (is_queued(cluster, pod) && requests_devices);
    let is_unknown = is_completed && pod.operator_placement.is_none();
    for evaluation in &mut evaluations {
        evaluation.reasons.retain(|reason| {
            let is_taint = matches!(reason.cause, MisfitCause::Taint { .. });
            !(is_taint && is_tolerated || is_unknown && is_placement_reason(reason))
        });
    }
    Some((demand, evaluations))
}

/// Whether every extended resource that a pod requests is known and has a valid quantity; other rules report the rest.
fn has_valid_requests(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    let requests = pod
        .containers
        .iter()
        .flat_map(Container::requested_resources);
    requests
        .filter(|entry| entry.key.contains('/'))
        .all(|entry| {
            !is_unadvertised_gpu(cluster, &entry.key)
                && matches!(parse_count(&entry.value), ResourceCount::Whole(_))
        })
}

/// The requirements of a pod. For a pod that a runtime completes, only the fields of its object are known.
fn pod_demand(cluster: &Cluster, pod: &Pod<'_>) -> Demand {
    if pod.operator_placement.is_some() {
        return operator_pods::min_demand(pod);
    }
    if pod.spec.get("containers").is_some() {
        let namespace = pod.object.namespace.as_deref();
        let defaults =
            namespace.map(|namespace| DefaultRequests::for_namespace(cluster, namespace));
        return Demand::from_pod_spec(pod.spec, &defaults.unwrap_or_default());
    }
    let resources = extended_requests(pod);
    let Some(workflow) = pod.workflow else {
        return Demand {
            resources,
            ..Demand::default()
        };
    };
    let scheduling = |spec| Demand::from_pod_spec(spec, &DefaultRequests::default());
    let (own, workflow) = (scheduling(pod.spec), scheduling(workflow));
    let images = pod.containers.iter().filter_map(Container::image);
    let image = |node: &Node| Some(Spanned::new(node.text()?.to_owned(), node.span()));
    Demand {
        resources,
        selector: own_or_workflow(own.selector, workflow.selector),
        affinity: own.affinity.or(workflow.affinity),
        tolerations: own_or_workflow(own.tolerations, workflow.tolerations),
        images: images.filter_map(image).map(Image::new).collect(),
        ..Demand::default()
    }
}

/// The extended resources of a pod: the sum of its containers, or the maximum of its init containers.
fn extended_requests(pod: &Pod<'_>) -> Vec<Request> {
    let mut all: Vec<Request> = Vec::new();
    // Init containers come last: they count only if they exceed the sum of the others.
    let by_order = [false, true].map(|is_init| {
        let own = pod.containers.iter();
        own.filter(move |it| it.is_init == is_init)
    });
    for container in by_order.into_iter().flatten() {
        for entry in container
            .requested_resources()
            .filter(|entry| entry.key.contains('/'))
        {
            let ResourceCount::Whole(count) = parse_count(&entry.value) else {
                continue;
            };
            let span = entry.value.span();
            let Some(own) = all.iter_mut().find(|it| it.resource.value == entry.key) else {
                let name = Spanned::new(entry.key.clone(), entry.key_span);
                all.push(Request::new(&name, count, span));
                continue;
            };
            own.container_max = own.container_max.max(count);
            own.count = if container.is_init {
                own.count.max(count)
            } else {
                own.count.saturating_add(count)
            };
        }
    }
    all
}

/// The list of the template, or else that of its workflow.
fn own_or_workflow<T>(own: Vec<T>, workflow: Vec<T>) -> Vec<T> {
    if own.is_empty() { workflow } else { own }
}

/// Whether a pod selects nodes by labels of gpuc or of GPUs, which only the nodes of pools have.
pub(super) fn selects_pool_nodes(demand: &Demand) -> bool {
    let terms = demand.affinity.iter().flatten();
    let labels = terms.flat_map(|term| &term.labels);
    let mut labels = demand.selector.iter().chain(labels);
    labels.any(|label| {
        let is_positive = matches!(label.operator, Operator::In | Operator::Exists);
        let is_gpu_label = label.key.starts_with("nvidia.com/") && is_positive;
        is_gpu_label || label.key == POOL_LABEL || label.key == DEDICATED_TO
    })
}

/// Whether a pod waits in a queue of Kueue, which adds the labels and tolerations of a pool on admission. In the
/// namespace of a team, pods wait without naming a queue.
pub(super) fn is_queued(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    is_queued_object(cluster, pod.object)
}

/// Whether an object waits in a queue.
pub(super) fn is_queued_object(cluster: &Cluster, object: &Object) -> bool {
    let has_queue_label = queue_label(object).is_some();
    let namespace = object.namespace.as_deref();
    let has_team = namespace.is_some_and(|it| cluster.team_of_namespace(it).is_some());
    cluster.has_queues() && (has_queue_label || has_team)
}

/// The queue that an object names.
pub(super) fn queue_label(object: &Object) -> Option<&Node> {
    let metadata = object.root.get("metadata")?;
    metadata.get("labels")?.get(QUEUE_LABEL)
}

/// Whether a reason is about the selection of nodes: labels or taints.
fn is_placement_reason(reason: &Reason) -> bool {
    is_label_cause(&reason.cause) || matches!(reason.cause, MisfitCause::Taint { .. })
}

fn is_label_cause(cause: &MisfitCause) -> bool {
    cause.is_label()
}

/// Whether a reason is that the nodes do not advertise the devices.
fn is_not_advertised(cause: &MisfitCause) -> bool {
    matches!(
        cause,
        MisfitCause::NotAdvertised { .. } | MisfitCause::DeviceClassNotInPool { .. }
    )
}

fn classify(evaluations: &[PoolFeasibility<'_>]) -> UnschedulableCause {
    let all = |evaluation: &PoolFeasibility<'_>, is: fn(&MisfitCause) -> bool| {
        let mut obstacles_of_pool = obstacles(evaluation);
        obstacles_of_pool.all(|reason| is(&reason.cause))
    };
    let any = |evaluation: &PoolFeasibility<'_>, is: fn(&MisfitCause) -> bool| {
        let mut obstacles_of_pool = obstacles(evaluation);
        obstacles_of_pool.any(|reason| is(&reason.cause))
    };
    let first = |is: fn(&MisfitCause) -> bool| {
        evaluations
            .iter()
            .position(|evaluation| all(evaluation, is))
    };
    let taints = |cause: &MisfitCause| matches!(cause, MisfitCause::Taint { .. });
    let only_taints = evaluations.iter().enumerate();
    let only_taints = only_taints.filter(|(_, evaluation)| all(evaluation, taints));
    let only_taints: Vec<_> = only_taints.map(|(index, _)| index).collect();
    let too_many = |cause: &MisfitCause| {
        matches!(cause, MisfitCause::TooManyDevices { .. }) || cause.is_size()
    };
    let several_devices = |cause: &MisfitCause| {
        matches!(
            cause,
            MisfitCause::SeveralReplicas { .. } | MisfitCause::SeveralMigDevices { .. }
        )
    };
    let cuda = |cause: &MisfitCause| {
        matches!(
            cause,
            MisfitCause::Driver { .. } | MisfitCause::GpuModel { .. }
        )
    };
    if evaluations
        .iter()
        .all(|evaluation| any(evaluation, is_label_cause))
    {
        return UnschedulableCause::Selector;
    }
    if !only_taints.is_empty() {
        return UnschedulableCause::Taints(only_taints);
    }
    if let Some(index) = first(several_devices) {
        return UnschedulableCause::SeveralReplicas(index);
    }
    if let Some(index) = first(cuda) {
        return UnschedulableCause::Cuda(index);
    }
    let mut advertising = evaluations
        .iter()
        .filter(|evaluation| !any(evaluation, is_not_advertised))
        .peekable();
    let is_advertised = advertising.peek().is_some();
    if is_advertised && advertising.all(|evaluation| any(evaluation, too_many)) {
        return UnschedulableCause::TooLarge;
    }
    UnschedulableCause::Mixed
}

/// The reasons why a pool does not fit.
pub(super) fn obstacles<'v>(
    evaluation: &'v PoolFeasibility<'_>,
) -> impl Iterator<Item = &'v Reason> {
    let reasons = evaluation.reasons.iter();
    reasons.filter(|reason| reason.feasibility == Feasibility::DoesNotFit)
}

impl<'s> UnschedulablePod<'s> {
    /// The closest pool: the one that the pod names, then one that advertises its devices, then the one with the fewest
    /// obstacles.
    pub(crate) fn closest_pool(&self) -> Option<&PoolFeasibility<'s>> {
        let is_named = |evaluation: &PoolFeasibility<'_>| {
            let mut selector = self.demand.selector.iter();
            selector.any(|label| {
                let is_pool = |value: &String| *value == evaluation.pool.name.value;
                label.key == POOL_LABEL && label.values.iter().any(is_pool)
            })
        };
        let requests_devices = !self.demand.resources.is_empty() || !self.demand.claims.is_empty();
        let distance = |evaluation: &&PoolFeasibility<'_>| {
            let lacks = obstacles(evaluation).any(|reason| is_not_advertised(&reason.cause));
            // A pool without GPUs has fewer obstacles, and no devices.
            let lacks_gpus = requests_devices && !evaluation.pool.has_gpus();
            (
                !is_named(evaluation),
                lacks_gpus,
                lacks,
                obstacles(evaluation).count(),
            )
        };
        self.evaluations.iter().min_by_key(distance)
    }

    /// The span to report: the first GPUs of the pod, or else its node selector or its containers.
    pub(crate) fn span(&self, pods: &[Pod<'_>]) -> Span {
        let pod = &pods[self.pod];
        let mut gpus = pod.containers.iter().filter_map(Container::gpu_request);
        let gpus = gpus.next().map(|entry| entry.key_span);
        gpus.or_else(|| Some(pod.placement().get("nodeSelector")?.span()))
            .or_else(|| pod.spec.get("containers").map(Node::span))
            .unwrap_or_else(|| pod.spec.span())
    }
}
