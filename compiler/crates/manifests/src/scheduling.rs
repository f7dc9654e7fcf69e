//! Pods that no pool fits, with the reason.

use gpuc_schema::Spanned;

use gpuc_model::scheduling::{
    Answer, Defaults, Demand, Image, Operator, Reason, Request, Verdict, Why, places,
};
use gpuc_model::{Cluster, DEDICATED_TO, POOL_LABEL, QUEUE_LABEL};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use super::claims::{self, Given};
use super::operator_pods;
use super::pod::{Container, Pod};
use super::read::Object;
use super::resources::{Amount, amount, is_unknown};

/// A pod that no pool fits.
pub(crate) struct Unplaced<'s> {
    /// The index of the pod.
    pub(crate) pod: usize,
    /// Its requirements.
    pub(crate) demand: Demand,
    /// The feasibility in each pool.
    pub(crate) verdicts: Vec<Verdict<'s>>,
    /// The cause to report.
    pub(crate) cause: Cause,
}

/// The reason why no pool fits a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It selects nodes that no pool has.
    Selector,
    /// The taints of these pools, which it does not tolerate, are the only obstacle.
    Taints(Vec<usize>),
    /// It requests several replicas of this pool.
    Shares(usize),
    /// Its CUDA version is not supported by the driver or the GPU model of this pool.
    Cuda(usize),
    /// It requests more than a node of any pool has.
    TooMany,
    /// Different obstacles in different pools.
    Otherwise,
}

/// The pods that no pool fits, as far as the manifests contain all of their fields.
pub(super) fn unplaced<'s>(
    cluster: &'s Cluster,
    given: &Given<'_>,
    pods: &[Pod<'_>],
) -> Vec<Unplaced<'s>> {
    let mut found = Vec::new();
    for (index, pod) in pods.iter().enumerate() {
        let Some((demand, mut verdicts)) = held(cluster, given, pod) else {
            continue;
        };
        if !pod.asks_for_gpus() && !chooses_a_pool(&demand) {
            keep_open(cluster, &mut verdicts);
        }
        let mut answers = verdicts.iter().map(Verdict::answer);
        if verdicts.is_empty() || answers.any(|answer| answer != Answer::No) {
            continue;
        }
        let cause = cause(&verdicts);
        found.push(Unplaced {
            pod: index,
            demand,
            verdicts,
            cause,
        });
    }
    found
}

/// For a pod that may run on any node: keeps the pools whose taints it tolerates if it is too large for all of them,
/// else none. A cluster that gpuc does not create may have nodes outside of pools.
fn keep_open(cluster: &Cluster, verdicts: &mut Vec<Verdict<'_>>) {
    let is_complete = cluster.config.cloud.creates_cluster();
    let is_tainted = |verdict: &Verdict<'_>| {
        let mut against = against(verdict);
        against.any(|reason| matches!(reason.why, Why::Taint { .. }))
    };
    verdicts.retain(|verdict| !is_tainted(verdict));
    let is_too_small = |verdict: &Verdict<'_>| {
        let is_size = |why: &Why| why.is_size();
        against(verdict).any(|reason| is_size(&reason.why))
    };
    if !is_complete || !verdicts.iter().all(is_too_small) {
        verdicts.clear();
    }
}

/// The requirements of a pod and its feasibility in each pool, as far as the manifests contain all of its fields;
/// `None` if its requests are invalid.
pub(super) fn held<'s>(
    cluster: &'s Cluster,
    given: &Given<'_>,
    pod: &Pod<'_>,
) -> Option<(Demand, Vec<Verdict<'s>>)> {
    if !is_understood(cluster, pod) {
        return None;
    }
    let mut demand = demand(cluster, pod);
    claims::resolve(cluster, given, pod, &mut demand);
    let mut verdicts = places(&demand, cluster);
    let mut counts = demand.resources.iter().map(|request| request.count);
    let claims = demand.claims.len() + demand.unread_claims.len();
    let requests_devices = claims > 0 || counts.any(|count| count > 0);
    // The object that completes the pod may add tolerations; its labels are added to the written ones.
    let is_completed = pod.is_open && pod.workflow.is_none();
    let may_tolerate = is_completed && !operator_pods::tolerates_no_more(pod);
    // Kueue adds the tolerations and labels of the pool with the devices, and changes no existing ones.
    let is_tolerated = may_tolerate || (is_queued(cluster, pod) && requests_devices);
    let is_unknown = is_completed && pod.placed.is_none();
    for verdict in &mut verdicts {
        verdict.reasons.retain(|reason| {
            let is_taint = matches!(reason.why, Why::Taint { .. });
            !(is_taint && is_tolerated || is_unknown && is_of_nodes(reason))
        });
    }
    Some((demand, verdicts))
}

/// Whether every extended resource that a pod requests is known and has a valid quantity; other rules report the rest.
fn is_understood(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    let asks = pod.containers.iter().flat_map(Container::asks);
    asks.filter(|entry| entry.key.contains('/')).all(|entry| {
        !is_unknown(cluster, &entry.key) && matches!(amount(&entry.value), Amount::Whole(_))
    })
}

/// The requirements of a pod. For a pod that a runtime completes, only the fields of its object are known.
fn demand(cluster: &Cluster, pod: &Pod<'_>) -> Demand {
    if pod.placed.is_some() {
        return operator_pods::demand(pod);
    }
    if pod.spec.get("containers").is_some() {
        let namespace = pod.object.namespace.as_deref();
        let defaults = namespace.map(|namespace| Defaults::of(cluster, namespace));
        return Demand::of_pod(pod.spec, &defaults.unwrap_or_default());
    }
    let resources = extended(pod);
    let Some(workflow) = pod.workflow else {
        return Demand {
            resources,
            ..Demand::default()
        };
    };
    let scheduling = |spec| Demand::of_pod(spec, &Defaults::default());
    let (own, workflow) = (scheduling(pod.spec), scheduling(workflow));
    let images = pod.containers.iter().filter_map(Container::image);
    let image = |node: &Node| Some(Spanned::new(node.text()?.to_owned(), node.span()));
    Demand {
        resources,
        selector: own_or(own.selector, workflow.selector),
        affinity: own.affinity.or(workflow.affinity),
        tolerations: own_or(own.tolerations, workflow.tolerations),
        images: images.filter_map(image).map(Image::new).collect(),
        ..Demand::default()
    }
}

/// The extended resources of a pod: the sum of its containers, or the maximum of its init containers.
fn extended(pod: &Pod<'_>) -> Vec<Request> {
    let mut all: Vec<Request> = Vec::new();
    // Init containers come last: they count only if they exceed the sum of the others.
    let by_order = [false, true].map(|is_init| {
        let own = pod.containers.iter();
        own.filter(move |it| it.is_init == is_init)
    });
    for container in by_order.into_iter().flatten() {
        for entry in container.asks().filter(|entry| entry.key.contains('/')) {
            let Amount::Whole(count) = amount(&entry.value) else {
                continue;
            };
            let span = entry.value.span();
            let Some(own) = all.iter_mut().find(|it| it.resource.value == entry.key) else {
                let name = Spanned::new(entry.key.clone(), entry.key_span);
                all.push(Request::new(&name, count, span));
                continue;
            };
            own.largest = own.largest.max(count);
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
fn own_or<T>(own: Vec<T>, workflow: Vec<T>) -> Vec<T> {
    if own.is_empty() { workflow } else { own }
}

/// Whether a pod selects nodes by labels of gpuc or of GPUs, which only the nodes of pools have.
pub(super) fn chooses_a_pool(demand: &Demand) -> bool {
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
    waits_in_one(cluster, pod.object)
}

/// Whether an object waits in a queue.
pub(super) fn waits_in_one(cluster: &Cluster, object: &Object) -> bool {
    let names_one = queue_named(object).is_some();
    let namespace = object.namespace.as_deref();
    let is_a_teams = namespace.is_some_and(|it| cluster.team_of(it).is_some());
    cluster.has_queues() && (names_one || is_a_teams)
}

/// The queue that an object names.
pub(super) fn queue_named(object: &Object) -> Option<&Node> {
    let metadata = object.root.get("metadata")?;
    metadata.get("labels")?.get(QUEUE_LABEL)
}

/// Whether a reason is about the selection of nodes: labels or taints.
fn is_of_nodes(reason: &Reason) -> bool {
    is_of_labels(&reason.why) || matches!(reason.why, Why::Taint { .. })
}

fn is_of_labels(why: &Why) -> bool {
    why.is_of_label()
}

/// Whether a reason is that the nodes do not advertise the devices.
fn is_not_advertised(why: &Why) -> bool {
    matches!(why, Why::NotOffered { .. } | Why::ClassNotHere { .. })
}

fn cause(verdicts: &[Verdict<'_>]) -> Cause {
    let all = |verdict: &Verdict<'_>, is: fn(&Why) -> bool| {
        let mut against = against(verdict);
        against.all(|reason| is(&reason.why))
    };
    let any = |verdict: &Verdict<'_>, is: fn(&Why) -> bool| {
        let mut against = against(verdict);
        against.any(|reason| is(&reason.why))
    };
    let first = |is: fn(&Why) -> bool| verdicts.iter().position(|verdict| all(verdict, is));
    let taints = |why: &Why| matches!(why, Why::Taint { .. });
    let only_taints = verdicts.iter().enumerate();
    let only_taints = only_taints.filter(|(_, verdict)| all(verdict, taints));
    let only_taints: Vec<_> = only_taints.map(|(index, _)| index).collect();
    let too_many = |why: &Why| matches!(why, Why::TooMany { .. }) || why.is_size();
    let shares = |why: &Why| matches!(why, Why::Shares { .. } | Why::Slices { .. });
    let cuda = |why: &Why| matches!(why, Why::Driver { .. } | Why::Card { .. });
    if verdicts.iter().all(|verdict| any(verdict, is_of_labels)) {
        return Cause::Selector;
    }
    if !only_taints.is_empty() {
        return Cause::Taints(only_taints);
    }
    if let Some(index) = first(shares) {
        return Cause::Shares(index);
    }
    if let Some(index) = first(cuda) {
        return Cause::Cuda(index);
    }
    let mut advertising = verdicts
        .iter()
        .filter(|verdict| !any(verdict, is_not_advertised))
        .peekable();
    let is_advertised = advertising.peek().is_some();
    if is_advertised && advertising.all(|verdict| any(verdict, too_many)) {
        return Cause::TooMany;
    }
    Cause::Otherwise
}

/// The reasons why a pool does not fit.
pub(super) fn against<'v>(verdict: &'v Verdict<'_>) -> impl Iterator<Item = &'v Reason> {
    let reasons = verdict.reasons.iter();
    reasons.filter(|reason| reason.answer == Answer::No)
}

impl<'s> Unplaced<'s> {
    /// The closest pool: the one that the pod names, then one that advertises its devices, then the one with the fewest
    /// obstacles.
    pub(crate) fn closest(&self) -> Option<&Verdict<'s>> {
        let is_named = |verdict: &Verdict<'_>| {
            let mut selector = self.demand.selector.iter();
            selector.any(|label| {
                let is_pool = |value: &String| *value == verdict.pool.name.value;
                label.key == POOL_LABEL && label.values.iter().any(is_pool)
            })
        };
        let distance = |verdict: &&Verdict<'_>| {
            let lacks = against(verdict).any(|reason| is_not_advertised(&reason.why));
            (!is_named(verdict), lacks, against(verdict).count())
        };
        self.verdicts.iter().min_by_key(distance)
    }

    /// The span to report: the first GPUs of the pod, or else its node selector or its containers.
    pub(crate) fn span(&self, pods: &[Pod<'_>]) -> Span {
        let pod = &pods[self.pod];
        let mut gpus = pod.containers.iter().filter_map(Container::gpus);
        let gpus = gpus.next().map(|entry| entry.key_span);
        gpus.or_else(|| Some(pod.nodes().get("nodeSelector")?.span()))
            .or_else(|| pod.spec.get("containers").map(Node::span))
            .unwrap_or_else(|| pod.spec.span())
    }
}
