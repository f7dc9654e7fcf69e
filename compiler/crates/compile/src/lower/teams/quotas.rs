//! The total that the pods of a namespace may use: a ResourceQuota.
//!
//! With Kueue, the queues count the usage of a team across its namespaces and make jobs wait. A ResourceQuota of the
//! same amounts would reject pods of admitted jobs. Only devices of DeviceClasses have one, with the limit of the team,
//! because Kueue ignores claims that pods name directly (kubernetes-sigs/kueue@ff69552e `pkg/dra/claims.go`).
//!
//! Extended resources only support `requests.`, and a resource without an entry is not limited.
//!
//! Source: kubernetes `pkg/quota/v1/evaluator/core/pods.go`, `isExtendedResourceNameForQuota`;
//! <https://kubernetes.io/docs/concepts/policy/resource-quotas/>, read 2026-11-21.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_kubernetes::api_server::priority::SYSTEM_CLASSES;
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{Cluster, DeviceClass, Team};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::node::Origin;
use serde_json::json;

use super::{COMPONENT, NAME, labels, spans};

/// The DeviceClasses that the driver's chart creates, each for devices of one type on any node.
///
/// Source: NVIDIA/k8s-dra-driver-gpu docs and `values.yaml` (`resources.gpus.enabled`), 2026-11-22.
const DRIVER_CLASSES: [&str; 3] = ["gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"];

/// The end of the names of DeviceClasses in a ResourceQuota.
const CLAIMED_DEVICES: &str = ".deviceclass.resource.k8s.io/devices";

/// The ResourceQuota of a namespace; `None` if nothing is limited.
pub(super) fn object(cluster: &Checked<'_>, team: &Team, index: usize) -> Option<Object> {
    let quota = team.namespace_quota(index)?;
    let is_namespace_quota = team.has_namespace_quota(index);
    // Kueue counts all requests of a team.
    let counted_by_queue = cluster.has_queues() && !is_namespace_quota;
    let mut hard: BTreeMap<String, String> = BTreeMap::new();
    let mut inputs: Vec<Span> = spans(team, index).into();
    let amounts = [
        (
            "requests.cpu",
            quota.cpu.as_ref().filter(|_| !counted_by_queue),
        ),
        (
            "requests.memory",
            quota.memory.as_ref().filter(|_| !counted_by_queue),
        ),
        ("requests.storage", quota.storage.as_ref()),
    ];
    let mut origins: Vec<(String, Vec<Span>)> = Vec::new();
    for (key, amount) in amounts {
        if let Some(amount) = amount {
            origins.push((key.to_owned(), vec![amount.span]));
            hard.insert(key.to_owned(), amount.text.clone());
            inputs.push(amount.span);
        }
    }
    if let Some(pods) = quota.pods.filter(|_| !counted_by_queue) {
        hard.insert("pods".to_owned(), pods.value.to_string());
        origins.push(("pods".to_owned(), vec![pods.span]));
        inputs.push(pods.span);
    }
    if quota.has_gpus() {
        let mut limits = limits(cluster, team, is_namespace_quota.then_some(index));
        if cluster.has_queues() {
            // Queues count the templates of claims, but not claims that pods name directly.
            limits.retain(|key, _| key.ends_with(CLAIMED_DEVICES));
        }
        inputs.extend(limits.values().flat_map(|(_, spans)| spans));
        let granted = limits.iter().filter(|(_, (_, spans))| !spans.is_empty());
        origins.extend(granted.map(|(key, (_, spans))| (key.clone(), spans.clone())));
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
    let reason = "the team's quota, by the resource names that pods request";
    let mut object = Object::new(COMPONENT, &object, Origin::rule(inputs, reason));
    for (key, spans) in origins {
        let reason = "the team's quota of this resource, summed over all pools";
        let origin = Origin::rule(spans, reason);
        object.node.set_origin(&["spec", "hard", &key], origin);
    }
    Some(object)
}

/// The ResourceQuota that refuses pods with the priority of system components: such a pod preempts every other pod, on
/// every node. Kubernetes has admitted these classes in any namespace since 1.17.
///
/// Source: <https://kubernetes.io/docs/concepts/policy/resource-quotas/#limit-priority-class-consumption-by-default>,
/// read 2026-11-26.
pub(super) fn system_priorities(team: &Team, index: usize) -> Object {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {
            "name": "team-system-priorities",
            "namespace": team.namespaces[index].value,
            "labels": labels(team),
        },
        "spec": {
            "hard": {"pods": "0"},
            "scopeSelector": {"matchExpressions": [{
                "scopeName": "PriorityClass",
                "operator": "In",
                "values": SYSTEM_CLASSES,
            }]},
        },
    });
    let reason = "pods of teams do not preempt system components";
    Object::new(COMPONENT, &object, Origin::rule(spans(team, index), reason))
}

/// The limit of everything that the pools advertise, by the quota's resource names; 0 without a grant.
fn limits(
    cluster: &Cluster,
    team: &Team,
    namespace: Option<usize>,
) -> BTreeMap<String, (u64, Vec<Span>)> {
    let resources = cluster.pools.iter().flat_map(|pool| {
        let resources = pool.advertised.expect_resolved().iter();
        let resources = resources.map(|resource| format!("requests.{}", resource.name));
        let named = pool.classes.iter().filter_map(|class| {
            let name = class.extended_resource.as_ref()?;
            Some(format!("requests.{name}"))
        });
        let classes = pool.classes.iter().map(DeviceClass::quota_resource);
        resources.chain(named).chain(classes)
    });
    // The driver's own DeviceClasses allocate GPUs of any pool.
    let claims = cluster.dra_pools().next();
    let driver_classes = claims.into_iter().flat_map(|_| DRIVER_CLASSES);
    let resources = resources.chain(driver_classes.map(DeviceClass::quota_resource_named));
    let mut limits: BTreeMap<_, _> = resources.map(|name| (name, (0, Vec::new()))).collect();
    for grant in team.grants().filter(|it| it.namespace == namespace) {
        // A claim of a DeviceClass with an extended resource counts under both names.
        let named = (cluster.extended_resource_of(grant)).map(|name| format!("requests.{name}"));
        let keys: BTreeSet<String> = named
            .into_iter()
            .chain([grant.quota_name.clone()])
            .collect();
        for key in keys {
            let (count, spans) = limits.entry(key).or_default();
            let Spanned { value, span } = grant.limit;
            *count += u64::from(value);
            spans.push(span);
        }
    }
    limits
}
