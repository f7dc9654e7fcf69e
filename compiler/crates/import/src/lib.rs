//! From a running cluster to the `gpu-cluster.yaml` that describes it.
//!
//! Every value of the file has its evidence: an object and a field. A value that the objects do not determine is a
//! guess, with a comment in the file. What the file cannot express, and what could not be read, is in the report.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "tests stop at the first surprise")
)]

mod alerts;
mod autoscaler;
mod charts;
mod claims;
mod cloud_files;
mod cloud_section;
mod configs;
mod context;
mod described;
mod differences;
mod driver;
mod emit;
mod gitops;
mod gpus;
mod groups;
mod identity;
mod json;
mod karpenter;
mod mirror;
mod monitoring;
mod names;
mod notebooks;
mod operator_labels;
mod os;
mod own_pool;
mod pool;
mod pool_name;
mod queues;
mod quotas;
mod rdma;
mod releases;
mod report;
mod selector;
mod settings;
mod sharing;
mod stack;
mod taints;
mod teams;
#[cfg(test)]
mod tests;
mod tree;
mod version;
mod workloads;

use std::collections::BTreeMap;
use std::fmt;

use gpuc_live::state::{ClusterState, Completeness, Kind};
use gpuc_model::Registry;

pub use cloud_files::{CloudFile, CloudFileError};
pub use differences::{Comparison, Difference, differences};
pub use identity::Conflict;
pub use report::{Entry, Report};
pub use workloads::Builder;

use cloud_files::CloudData;
use context::Context;
use queues::Queues;
use tree::{Entries, Item};
use workloads::Surroundings;

/// What is known about a cluster.
#[derive(Clone, Copy)]
pub struct Input<'s> {
    /// The objects.
    pub state: &'s ClusterState,
    /// The files of the cloud's command-line tool; may be empty.
    pub cloud: &'s [CloudFile],
    /// The name of the context in the kubeconfig, if the state was read from an API server.
    pub context: Option<&'s str>,
    /// Builds the objects of the new file; without it, the file has no workloads.
    pub builder: Option<&'s Builder<'s>>,
}

/// The new file and the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The text of `gpu-cluster.yaml`.
    pub yaml: String,
    /// What was imported, guessed and left out.
    pub report: Report,
}

/// Why nothing can be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// There are no nodes, and no pools in the files of the cloud.
    NoNodes(Completeness),
    /// The files of the cloud describe several clusters, or another one.
    OtherCluster(Conflict),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodes(completeness) => write!(
                f,
                "the cluster has no nodes to import: the list of nodes is {completeness}\nhelp: import needs the right \
                 to list nodes, or the node pools in files of the cloud"
            ),
            Self::OtherCluster(conflict) => write!(
                f,
                "{} describes {}, but {} is {}\nhelp: pass the files of one cluster",
                conflict.path, conflict.found, conflict.other, conflict.expected
            ),
        }
    }
}

impl std::error::Error for ImportError {}

/// The kinds without which the import is incomplete, and what then is missing.
const READ: &[(Kind, &str)] = &[
    (Kind::Node, "pools"),
    (Kind::Pod, "the device plugin and the driver of each pool"),
    (
        Kind::DaemonSet,
        "the device plugin and the driver of each pool",
    ),
    (
        Kind::ConfigMap,
        "the sharing of GPUs, and settings of components",
    ),
    (Kind::Deployment, "charts and autoscalers"),
    (Kind::Namespace, "teams"),
    (Kind::ResourceQuota, "the quotas of teams"),
    (Kind::LimitRange, "the limits of teams"),
    (Kind::RoleBinding, "the members of teams"),
    (Kind::NetworkPolicy, "the isolation of teams"),
    (Kind::PriorityClass, "priorities"),
    (Kind::StorageClass, "storage"),
    (Kind::PersistentVolume, "buckets"),
    (Kind::ValidatingAdmissionPolicyBinding, "admission"),
    (Kind::ClusterPolicy, "the settings of the GPU Operator"),
    (Kind::NvidiaDriver, "the version of the driver"),
    (Kind::ClusterQueue, "queues"),
    (Kind::LocalQueue, "queues"),
    (Kind::ResourceFlavor, "queues"),
    (Kind::Topology, "the topology of queues"),
    (Kind::PodMonitor, "monitoring"),
    (Kind::ServiceMonitor, "monitoring"),
    (Kind::Prometheus, "monitoring"),
    (Kind::NodePool, "autoscalers"),
    (Kind::Ec2NodeClass, "the pools of Karpenter"),
    (Kind::StatefulSet, "workloads"),
    (Kind::Job, "workloads"),
    (Kind::CronJob, "workloads"),
    (Kind::Service, "the services of workloads"),
    (
        Kind::HorizontalPodAutoscaler,
        "the autoscaling of workloads",
    ),
    (Kind::PodDisruptionBudget, "the budgets of workloads"),
    (Kind::PersistentVolumeClaim, "the volumes of workloads"),
    (Kind::ResourceClaimTemplate, "the GPUs of workloads"),
    (Kind::JobSet, "workloads"),
    (Kind::LeaderWorkerSet, "workloads"),
    (Kind::TrainJob, "workloads"),
    (Kind::TrainingRuntime, "workloads"),
    (Kind::PytorchJob, "workloads"),
    (Kind::PrometheusRule, "the thresholds of alerts"),
    (Kind::NicNodePolicy, "the networks of pools"),
    (Kind::ValidatingAdmissionPolicy, "the limits of teams"),
    (Kind::HelmRelease, "the values of charts"),
    (Kind::GitRepository, "the delivery by Flux"),
    (Kind::Kustomization, "the delivery by Flux"),
    (Kind::Application, "the delivery by Argo CD"),
];

/// The keys that no import has, with their objects and the reason.
const NEVER_READ: &[(&str, &str, &str)] = &[
    (
        "charts",
        "Secrets of Helm",
        "the values of charts, and registries and digests of images (`mirror`, `digests`), are not read",
    ),
    (
        "nodePools",
        "Nodes",
        "Kubernetes has no order of pools: those without GPUs come first, and lists in generated objects follow it",
    ),
];

/// Imports a cluster.
///
/// # Errors
///
/// If there are no nodes, and no pools in the files of the cloud, or if these files describe another cluster.
pub fn import(input: Input<'_>, registry: &'static Registry) -> Result<Import, ImportError> {
    identity::verify(input.cloud, input.state).map_err(ImportError::OtherCluster)?;
    let files = CloudData::new(input.cloud);
    if input.state.nodes.items.is_empty() && files.pools.is_empty() {
        return Err(ImportError::NoNodes(input.state.nodes.completeness.clone()));
    }
    let cx = Context::new(input.state, files, input.context, registry);
    let mut report = Report::default();
    let root = root(&cx, registry, input.builder, &mut report);
    report.add_values("", &root);
    report_unread(&cx, &mut report);
    for (key, source, reason) in NEVER_READ {
        report.leave_out(Some(key), *source, *reason);
    }
    report.left_out.sort();
    report.left_out.dedup();
    let yaml = emit::to_yaml(&heading(&cx, &report), &root);
    Ok(Import { yaml, report })
}

/// The comment at the top of the file.
fn heading(cx: &Context<'_>, report: &Report) -> Vec<String> {
    let mut lines = vec![
        "Imported from a running cluster by gpuc. Verify the lines with `guessed`; the report of `gpuc import` lists what is left out."
            .to_owned(),
    ];
    if !report.not_read.is_empty() {
        let names: Vec<&str> = report
            .not_read
            .iter()
            .map(|it| it.source.as_str())
            .collect();
        lines.push(format!(
            "Not read, and therefore not in this file: {}.",
            names.join(", ")
        ));
    }
    if !cx.files.pools.is_empty() {
        lines.push(
            "gpuc did not create the pools without `existing`: apply.sh stops before it changes them, unless it gets `--adopt`."
                .to_owned(),
        );
    }
    lines
}

fn root(
    cx: &Context<'_>,
    registry: &'static Registry,
    builder: Option<&Builder<'_>>,
    report: &mut Report,
) -> Item {
    let names = names::names(cx, report);
    let mut root = Entries::default();
    root.push("apiVersion", Item::text("gpuc.dev/v1alpha1"));
    root.push("kind", Item::text("GpuCluster"));
    root.push("metadata", names.metadata);
    root.push("kubernetes", version::kubernetes(cx, report));
    let mut pools = pool::pools(cx, report);
    let scaled = autoscaler::of_described_pools(cx, &pools.pools);
    let cloud = cloud_section::cloud(cx, names.remote, scaled.clone(), report);
    root.push("cloud", cloud);
    let clusters = scaled.and_then(|it| it.evidence);
    let autoscaler = clusters.map(|evidence| Item::text("clusterAutoscaler").with(evidence));
    let provisioned = karpenter::provisioned(cx);
    let karpenter = provisioned
        .first()
        .map(|pool| Item::text("karpenter").sure(pool.object()));
    let autoscaler = karpenter.or(autoscaler);
    root.push_some("autoscaler", autoscaler);
    autoscaler::report_karpenter(cx, report);
    root.push_some("stack", pools.stack.take());
    root.push_some("storage", settings::storage(cx, report));
    let queues = Queues::new(cx);
    let teams = teams::teams(cx, &pools.pools, queues.as_ref(), report);
    let kueue = queues
        .as_ref()
        .filter(|_| !teams.is_empty())
        .map(|queues| queues.settings(cx, &pools.pools, report));
    overcommit(&mut pools.pools, &teams);
    let nodes = pools
        .pools
        .iter()
        .map(|pool| (pool.name.clone(), pool.group.nodes.clone()));
    let nodes: BTreeMap<_, _> = nodes.collect();
    let items = pools.pools.iter().map(pool::Pool::to_item);
    root.push("nodePools", Item::list(items));
    root.push_list("teams", teams.clone());
    root.push_list("priorities", settings::priorities(cx, report));
    if let Some(settings) = &kueue {
        let count = cx.state.objects(Kind::ClusterQueue).len();
        let at = format!("ClusterQueues = {count}");
        root.push("queueing", Item::text("kueue").sure(at));
        root.push_some("kueue", settings.clone());
    } else if queues.is_some() {
        report.leave_out(
            Some("queueing"),
            "ClusterQueues",
            "no namespace of a team has a LocalQueue",
        );
    }
    root.push_some("admission", settings::admission(cx));
    root.push_some("monitoring", monitoring::monitoring(cx, report));
    let (notebooks, hub) = notebooks::notebooks(cx, &pools.pools, report).unzip();
    root.push_some("notebooks", notebooks);
    releases::report_values(cx, report);
    let charts = charts::charts(cx, kueue.is_some(), hub.flatten(), report);
    root.push_some("charts", charts);
    root.push_some("gitops", gitops::gitops(cx, report));
    let mut root = root.into_item();
    operator_labels::add(&mut root, registry, &nodes);
    let text = emit::to_yaml(&[], &root);
    let (mirror, digests) = mirror::mirror(cx, &text, builder);
    for (key, item) in [("mirror", mirror), ("digests", digests)] {
        if let (Some(item), tree::Value::Map(entries)) = (item, &mut root.value) {
            let place = entries.iter().position(|(key, _)| key == "gitops");
            entries.insert(place.unwrap_or(entries.len()), (key.to_owned(), item));
        }
    }
    let surroundings = Surroundings {
        pools: &pools.pools,
        teams: &teams,
    };
    let with = |workloads: Vec<Item>| {
        let mut root = root.clone();
        if let tree::Value::Map(entries) = &mut root.value
            && !workloads.is_empty()
        {
            let after = ["notebooks", "charts", "mirror", "digests", "gitops"];
            let place = entries
                .iter()
                .position(|(key, _)| after.contains(&key.as_str()));
            let item = Item::list(workloads);
            entries.insert(
                place.unwrap_or(entries.len()),
                ("workloads".to_owned(), item),
            );
        }
        root
    };
    let found = workloads::workloads(cx, &surroundings, with, builder, report);
    with(found)
}

/// Sets `overcommit` on pools that have fewer GPUs than the teams' guarantees.
fn overcommit(pools: &mut [pool::Pool<'_>], teams: &[Item]) {
    for pool in pools {
        let guaranteed: u64 = teams.iter().map(|team| guaranteed(team, &pool.name)).sum();
        let largest = pool
            .resources
            .iter()
            .map(|(_, amount)| *amount)
            .max()
            .unwrap_or(0);
        let capacity = pool.max_nodes.map(|nodes| nodes.saturating_mul(largest));
        if let Some(capacity) = capacity.filter(|capacity| guaranteed > *capacity) {
            let reason = format!("the queues guarantee {guaranteed}, the nodes have {capacity}");
            pool.set_overcommit(Item::bool(true).guess("ClusterQueues", reason));
        }
    }
}

/// The amounts of a pool that a team's quota guarantees.
fn guaranteed(item: &Item, pool: &str) -> u64 {
    let mut sum = 0;
    if let tree::Value::Map(entries) = &item.value {
        let find = |name: &str| {
            entries
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, it)| &it.value)
        };
        let is_pool = matches!(find("pool"), Some(tree::Value::Text(text)) if text == pool);
        let amount = find("guaranteed").or_else(|| find("shares"));
        if let (true, Some(tree::Value::Plain(text))) = (is_pool, amount) {
            sum += text.parse().unwrap_or(0);
        }
    }
    sum + item
        .children()
        .map(|child| guaranteed(child, pool))
        .sum::<u64>()
}

/// Reports the kinds that are not complete.
fn report_unread(cx: &Context<'_>, report: &mut Report) {
    for (kind, about) in READ {
        let completeness = cx.state.completeness(*kind);
        if !completeness.is_complete() {
            report.not_read.push(Entry {
                key: None,
                source: gpuc_live::read::resource_name(*kind),
                reason: format!("{about} may be missing: the list is {completeness}"),
            });
        }
    }
}
