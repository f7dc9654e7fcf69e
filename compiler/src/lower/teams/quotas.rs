//! What all pods of a namespace may use together: a `ResourceQuota`.
//!
//! Where there are queues, they count what a team's jobs use, over all of its namespaces, and make them wait: a quota
//! of the same would refuse what a queue has let through.
//!
//! Of extended resources only `requests.` counts, and what has no entry is not limited.
//!
//! Source: kubernetes `pkg/quota/v1/evaluator/core/pods.go`, `isExtendedResourceNameForQuota`;
//! <https://kubernetes.io/docs/concepts/policy/resource-quotas/>, read 2026-11-21.

use std::collections::BTreeMap;

use gpuc_schema::{Span, Spanned};
use serde_json::json;

use super::{COMPONENT, NAME, labels, places};
use crate::check::Checked;
use crate::model::{Cluster, DeviceClass, Team};
use crate::node::Origin;
use crate::plan::Object;

/// The DeviceClasses that the driver's chart makes, each for devices of one type on whichever node.
///
/// Source: NVIDIA/k8s-dra-driver-gpu docs and `values.yaml` (`resources.gpus.enabled`), 2026-11-22.
const CLASSES_OF_DRIVER: [&str; 3] = ["gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"];

/// The quota of a namespace; none where nothing is limited.
pub(super) fn object(cluster: &Checked<'_>, team: &Team, index: usize) -> Option<Object> {
    let quota = team.quota_of(index)?;
    let own = team.written.namespace_quotas.iter();
    let is_own = own
        .into_iter()
        .any(|it| it.namespace == team.namespaces[index]);
    // Of a whole team, queues count all that pods ask for.
    let by_queue = cluster.has_queues() && !is_own;
    let mut hard: BTreeMap<String, String> = BTreeMap::new();
    let mut inputs: Vec<Span> = places(team, index).into();
    let amounts = [
        ("requests.cpu", quota.cpu.as_ref().filter(|_| !by_queue)),
        (
            "requests.memory",
            quota.memory.as_ref().filter(|_| !by_queue),
        ),
        ("requests.storage", quota.storage.as_ref()),
    ];
    let mut parts: Vec<(String, Vec<Span>)> = Vec::new();
    for (key, amount) in amounts {
        if let Some(amount) = amount {
            parts.push((key.to_owned(), vec![amount.span]));
            hard.insert(key.to_owned(), amount.value.0.clone());
            inputs.push(amount.span);
        }
    }
    if let Some(pods) = quota.pods.filter(|_| !by_queue) {
        hard.insert("pods".to_owned(), pods.value.to_string());
        parts.push(("pods".to_owned(), vec![pods.span]));
        inputs.push(pods.span);
    }
    if !quota.gpus.is_empty() && !cluster.has_queues() {
        let limits = limits(cluster, team, is_own.then_some(index));
        inputs.extend(limits.values().flat_map(|(_, spans)| spans));
        let given = limits.iter().filter(|(_, (_, spans))| !spans.is_empty());
        parts.extend(given.map(|(key, (_, spans))| (key.clone(), spans.clone())));
        hard.extend(
            limits
                .into_iter()
                .map(|(key, (count, _))| (key, count.to_string())),
        );
    }
    if hard.is_empty() {
        return None;
    }
    let object = json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": NAME, "namespace": team.namespaces[index].value, "labels": labels(team)},
        "spec": {"hard": hard},
    });
    let why = "the team's quota, in the names of what pods ask for";
    let mut object = Object::new(COMPONENT, &object, Origin::rule(inputs, why));
    for (key, spans) in parts {
        let why = "as much of it as the team was given, of all pools together";
        let origin = Origin::rule(spans, why);
        object.node.because(&["spec", "hard", &key], origin);
    }
    Some(object)
}

/// How many of everything that the pools offer, by the quota's names. What the team was not given is 0.
fn limits(
    cluster: &Cluster,
    team: &Team,
    namespace: Option<usize>,
) -> BTreeMap<String, (u64, Vec<Span>)> {
    let offers = cluster.pools.iter().flat_map(|pool| {
        let offers = pool.offers.sure().iter();
        let offers = offers.map(|offer| format!("requests.{}", offer.resource));
        offers.chain(pool.classes.iter().map(DeviceClass::quota))
    });
    // Whoever claims by the driver's own classes takes any pool's GPUs.
    let claims = cluster.pools_claimed().next();
    let others = claims.into_iter().flat_map(|_| CLASSES_OF_DRIVER);
    let offers = offers.chain(others.map(DeviceClass::quota_of));
    let mut limits: BTreeMap<_, _> = offers.map(|name| (name, (0, Vec::new()))).collect();
    for grant in team.grants().filter(|it| it.namespace == namespace) {
        let (count, spans) = limits.entry(grant.quota_name.clone()).or_default();
        let Spanned { value, span } = grant.limit;
        *count += u64::from(value);
        spans.push(span);
    }
    limits
}
