//! Pods that no pool holds, and what it is that keeps them from the nearest.

use gpuc_schema::Spanned;

use crate::model::{Cluster, DEDICATED_TO, POOL_LABEL, QUEUE_LABEL};
use crate::node::Node;
use crate::placement::{
    Answer, Defaults, Demand, Image, Operator, Reason, Request, Verdict, Why, places,
};
use crate::source::Span;

use super::claims::{self, Given};
use super::completed;
use super::pod::{Container, Pod};
use super::read::Object;
use super::resources::{Amount, amount, is_unknown};

/// A pod that no pool holds.
pub(crate) struct Unplaced<'s> {
    /// The pod, by its index.
    pub(crate) pod: usize,
    /// What it asks for.
    pub(crate) demand: Demand,
    /// Why not, pool by pool.
    pub(crate) verdicts: Vec<Verdict<'s>>,
    /// What to speak of.
    pub(crate) cause: Cause,
}

/// What keeps a pod from the pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It chooses nodes that no pool has.
    Selector,
    /// It does not tolerate these pools' taints, and that is all.
    Taints(Vec<usize>),
    /// It asks for several shares of this pool's.
    Shares(usize),
    /// Its CUDA is newer than this pool's driver, or drives the card no more.
    Cuda(usize),
    /// It asks for more than a node of any pool has.
    TooMany,
    /// One thing here, another there.
    Otherwise,
}

/// The pods that no pool holds, as far as the manifests say all of them.
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

/// Keeps, of a pod that may run on any node, the pools whose nodes it may get to, where it is too large for all of
/// them; else none. Of a cluster that others make there may be nodes that are in no pool.
fn keep_open(cluster: &Cluster, verdicts: &mut Vec<Verdict<'_>>) {
    let is_whole = cluster.written.cloud.creates_cluster();
    let is_barred = |verdict: &Verdict<'_>| {
        let mut against = against(verdict);
        against.any(|reason| matches!(reason.why, Why::Taint { .. }))
    };
    verdicts.retain(|verdict| !is_barred(verdict));
    let is_small = |verdict: &Verdict<'_>| {
        let is_size = |why: &Why| why.is_size();
        against(verdict).any(|reason| is_size(&reason.why))
    };
    if !is_whole || !verdicts.iter().all(is_small) {
        verdicts.clear();
    }
}

/// What a pod asks for and what each pool says to it, as far as the manifests say all of it; nothing where they do not
/// make sense.
pub(super) fn held<'s>(
    cluster: &'s Cluster,
    given: &Given<'_>,
    pod: &Pod<'_>,
) -> Option<(Demand, Vec<Verdict<'s>>)> {
    if !is_understood(cluster, pod) {
        return None;
    }
    let mut demand = demand(cluster, pod);
    claims::read(cluster, given, pod, &mut demand);
    let mut verdicts = places(&demand, cluster);
    let mut counts = demand.resources.iter().map(|request| request.count);
    let claims = demand.claims.len() + demand.unread_claims.len();
    let asks_for_devices = claims > 0 || counts.any(|count| count > 0);
    // What completes the pod may tolerate taints; what it says of labels comes to what is written.
    let is_completed = pod.is_open && pod.around.is_none();
    let may_tolerate = is_completed && !completed::tolerates_no_more(pod);
    // Kueue adds the tolerations and labels of the pool that has the devices, and changes none that are there.
    let is_tolerated = may_tolerate || (is_queued(cluster, pod) && asks_for_devices);
    let is_unknown = is_completed && pod.placed.is_none();
    for verdict in &mut verdicts {
        verdict.reasons.retain(|reason| {
            let is_taint = matches!(reason.why, Why::Taint { .. });
            !(is_taint && is_tolerated || is_unknown && is_of_nodes(reason))
        });
    }
    Some((demand, verdicts))
}

/// Whether every GPU that it asks for has a name and an amount that make sense; if not, that is the finding.
fn is_understood(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    let asks = pod.containers.iter().flat_map(Container::asks);
    asks.filter(|entry| entry.key.contains('/')).all(|entry| {
        !is_unknown(cluster, &entry.key) && matches!(amount(&entry.value), Amount::Whole(_))
    })
}

/// What a pod asks for. Of one that a runtime completes only what its object says is known.
fn demand(cluster: &Cluster, pod: &Pod<'_>) -> Demand {
    if pod.placed.is_some() {
        return completed::demand(pod);
    }
    if pod.spec.get("containers").is_some() {
        let namespace = pod.object.namespace.as_deref();
        let given = namespace.map(|namespace| Defaults::of(cluster, namespace));
        return Demand::of_pod(pod.spec, &given.unwrap_or_default());
    }
    let resources = extended(pod);
    let Some(around) = pod.around else {
        return Demand {
            resources,
            ..Demand::default()
        };
    };
    let of_pod = |spec| Demand::of_pod(spec, &Defaults::default());
    let (own, around) = (of_pod(pod.spec), of_pod(around));
    let images = pod.containers.iter().filter_map(Container::image);
    let image = |node: &Node| Some(Spanned::new(node.text()?.to_owned(), node.span()));
    Demand {
        resources,
        selector: first(own.selector, around.selector),
        affinity: own.affinity.or(around.affinity),
        tolerations: first(own.tolerations, around.tolerations),
        images: images.filter_map(image).map(Image::new).collect(),
        ..Demand::default()
    }
}

/// The extended resources of the containers: those beside each other together, or the most that one before them has.
fn extended(pod: &Pod<'_>) -> Vec<Request> {
    let mut all: Vec<Request> = Vec::new();
    // Those that run before count where the others together do not ask for more.
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

/// What a template says itself, or else what its workflow says.
fn first<T>(own: Vec<T>, around: Vec<T>) -> Vec<T> {
    if own.is_empty() { around } else { own }
}

/// Whether it chooses nodes by gpuc's own labels or by those of GPUs, which no other node has.
pub(super) fn chooses_a_pool(demand: &Demand) -> bool {
    let terms = demand.affinity.iter().flatten();
    let labels = terms.flat_map(|term| &term.labels);
    let mut labels = demand.selector.iter().chain(labels);
    labels.any(|label| {
        let is_there = matches!(label.operator, Operator::In | Operator::Exists);
        let is_of_gpus = label.key.starts_with("nvidia.com/") && is_there;
        is_of_gpus || label.key == POOL_LABEL || label.key == DEDICATED_TO
    })
}

/// Whether it waits in a queue of Kueue's, which gives it the labels and tolerations of a pool when its turn has come.
/// In a team's namespace it does without naming one.
pub(super) fn is_queued(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    waits_in_one(cluster, pod.object)
}

/// Whether an object waits in a queue as a whole.
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

/// Whether a reason is about which nodes the pod may run on.
fn is_of_nodes(reason: &Reason) -> bool {
    is_of_labels(&reason.why) || matches!(reason.why, Why::Taint { .. })
}

fn is_of_labels(why: &Why) -> bool {
    why.is_of_label()
}

/// Whether a reason is that nodes have no such devices at all.
fn is_not_here(why: &Why) -> bool {
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
    let mut offering = verdicts
        .iter()
        .filter(|verdict| !any(verdict, is_not_here))
        .peekable();
    let is_there = offering.peek().is_some();
    if is_there && offering.all(|verdict| any(verdict, too_many)) {
        return Cause::TooMany;
    }
    Cause::Otherwise
}

/// What makes a verdict a no.
pub(super) fn against<'v>(verdict: &'v Verdict<'_>) -> impl Iterator<Item = &'v Reason> {
    let reasons = verdict.reasons.iter();
    reasons.filter(|reason| reason.answer == Answer::No)
}

impl<'s> Unplaced<'s> {
    /// The pool that the pod is nearest to: the one that it names, then one that has the devices that it asks for, then
    /// the one with the least in the way.
    pub(crate) fn nearest(&self) -> Option<&Verdict<'s>> {
        let is_named = |verdict: &Verdict<'_>| {
            let mut selector = self.demand.selector.iter();
            selector.any(|label| {
                let is_it = |value: &String| *value == verdict.pool.name.value;
                label.key == POOL_LABEL && label.values.iter().any(is_it)
            })
        };
        let distance = |verdict: &&Verdict<'_>| {
            let lacks = against(verdict).any(|reason| is_not_here(&reason.why));
            (!is_named(verdict), lacks, against(verdict).count())
        };
        self.verdicts.iter().min_by_key(distance)
    }

    /// Where the pod asks for what it does not get: its first GPUs, or else its containers.
    pub(crate) fn span(&self, pods: &[Pod<'_>]) -> Span {
        let pod = &pods[self.pod];
        let mut gpus = pod.containers.iter().filter_map(Container::gpus);
        let gpus = gpus.next().map(|entry| entry.key_span);
        gpus.or_else(|| Some(pod.nodes().get("nodeSelector")?.span()))
            .or_else(|| pod.spec.get("containers").map(Node::span))
            .unwrap_or_else(|| pod.spec.span())
    }
}
