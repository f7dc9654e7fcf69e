//! The place in gpu-cluster.yaml that a finding belongs to, by its object: the pool, the workload, the quota or limits
//! of a team, its queue, or the chart.

use gpuc_model::{Cluster, TEAM_LABEL, Team, WORKLOAD_LABEL};
use gpuc_schema::config::Workload;
use gpuc_syntax::source::Span;

use super::context::Context;
use super::finding::{Finding, Layer};
use crate::objects::{Metadata, ObjectRef};

/// The place of a finding, if the file has one.
pub(super) fn locate(ctx: &Context<'_>, finding: &Finding) -> Option<Span> {
    let cluster = ctx.cluster?;
    let subject = finding.subjects.first()?;
    let metadata = metadata_of(ctx, subject);
    let workload = || workload_span(ctx, cluster, subject, metadata);
    let span = match (subject.kind.as_str(), finding.layer) {
        ("Node", _) => ctx.node(&subject.name)?.pool_span(),
        ("NodePool" | "EC2NodeClass" | "NodeClaim", _) => pool_span(cluster, subject, metadata),
        ("ClusterQueue" | "LocalQueue" | "Workload", _) => {
            queue_span(ctx, cluster, subject).or_else(|| chart_span(cluster, "kueue"))
        }
        ("ClusterPolicy", _) => chart_span(cluster, "gpu-operator"),
        ("ComputeDomain", _) => chart_span(cluster, "dra-driver-nvidia-gpu"),
        (_, Layer::Quota) => quota_span(cluster, finding, &subject.namespace).or_else(workload),
        _ => workload(),
    };
    span.or_else(|| chart_of(ctx, cluster, metadata))
}

/// The metadata of an object that was read.
fn metadata_of<'s>(ctx: &Context<'s>, object: &ObjectRef) -> Option<&'s Metadata> {
    let ObjectRef {
        kind,
        namespace,
        name,
    } = object;
    let key = |it: &'s Metadata| (it.namespace.as_str(), it.name.as_str());
    let wanted = (namespace.as_str(), name.as_str());
    // The lists are sorted: a cluster can have as many findings as pods.
    match kind.as_str() {
        "Pod" => {
            let pods = &ctx.state.pods.items;
            let index = pods.binary_search_by(|it| key(&it.metadata).cmp(&wanted));
            Some(&pods.get(index.ok()?)?.metadata)
        }
        "DaemonSet" => {
            let daemon_sets = &ctx.state.daemon_sets.items;
            let index = daemon_sets.binary_search_by(|it| key(&it.metadata).cmp(&wanted));
            Some(&daemon_sets.get(index.ok()?)?.metadata)
        }
        _ => {
            let info = crate::state::KINDS.iter().find(|info| info.name == kind)?;
            Some(&ctx.state.object(info.kind, namespace, name)?.metadata)
        }
    }
}

/// The workload that a pod or its controller belongs to.
fn workload_span(
    ctx: &Context<'_>,
    cluster: &Cluster,
    subject: &ObjectRef,
    metadata: Option<&Metadata>,
) -> Option<Span> {
    let label = metadata.and_then(|it| it.label(WORKLOAD_LABEL));
    if cluster.config.workloads.is_empty() || label.is_none() && subject.kind == "Pod" {
        return None;
    }
    let is_in_namespace = |workload: &Workload| cluster.namespace_of(workload) == subject.namespace;
    // A controller that was not read can have pods that name the workload.
    let of_pods = || {
        let mut pods = ctx.state.pods.items.iter().filter(|pod| {
            let owner = pod.metadata.controller();
            let is_owner =
                owner.is_some_and(|it| it.kind == subject.kind && it.name == subject.name);
            is_owner && pod.metadata.namespace == subject.namespace
        });
        pods.find_map(|pod| pod.metadata.label(WORKLOAD_LABEL))
    };
    let is_named = |workload: &Workload, name: &str| workload.name.value == name;
    let mut workloads = cluster.config.workloads.iter().map(|it| &it.value);
    let name = label.or_else(of_pods);
    let found = workloads.find(|workload| {
        let is_own = match name {
            Some(name) => is_named(workload, name),
            None => is_named(workload, &subject.name),
        };
        is_own && is_in_namespace(workload)
    })?;
    Some(found.name.span)
}

/// The team of a namespace.
fn team_of<'c>(cluster: &'c Cluster, namespace: &str) -> Option<&'c Team> {
    let mut teams = cluster.teams.iter();
    teams.find(|team| team.namespaces.iter().any(|it| it.value == namespace))
}

/// The grant, quota or limits of a team that a message is about, otherwise its name.
fn quota_span(cluster: &Cluster, finding: &Finding, namespace: &str) -> Option<Span> {
    let team = team_of(cluster, namespace)?;
    if finding.code.name.starts_with("limit-range") {
        return Some(team.limits.as_ref().map_or(team.name.span, |it| it.span));
    }
    let index = team.namespaces.iter().position(|it| it.value == namespace);
    let quoted: Vec<&str> = finding.message.split('`').skip(1).step_by(2).collect();
    let mut grants = team.grants.iter().filter_map(|grant| grant.get());
    let grant = grants.find(|grant| {
        quoted.contains(&grant.quota_name.as_str())
            && grant.namespace.is_none_or(|it| Some(it) == index)
    });
    let quota = index
        .and_then(|index| team.namespace_quota(index))
        .or(team.quota.as_ref());
    let span = grant.map(|it| it.span).or_else(|| quota.map(|it| it.span));
    Some(span.unwrap_or(team.name.span))
}

/// The team of a queue: by its label, its name, its namespace, or that of the queue of a Workload.
fn queue_span(ctx: &Context<'_>, cluster: &Cluster, subject: &ObjectRef) -> Option<Span> {
    let metadata = metadata_of(ctx, subject);
    let label = metadata.and_then(|it| it.label(TEAM_LABEL));
    let mut teams = cluster.teams.iter();
    let named = teams.find(|team| {
        let name = team.name.value.as_str();
        label == Some(name) || subject.kind == "ClusterQueue" && subject.name == name
    });
    let team = named.or_else(|| team_of(cluster, &subject.namespace))?;
    let quota = team.quota.as_ref().map(|it| it.span);
    Some(quota.unwrap_or(team.name.span))
}

/// The pool of a `NodePool` of Karpenter.
fn pool_span(cluster: &Cluster, subject: &ObjectRef, metadata: Option<&Metadata>) -> Option<Span> {
    let label = metadata.and_then(|it| it.label("karpenter.sh/nodepool"));
    let name = label.unwrap_or(&subject.name);
    let mut pools = cluster.pools.iter();
    let found = pools.find(|pool| pool.name.value == name)?;
    Some(found.name.span)
}

/// The label with the name and version of a chart, such as `gpu-operator-v26.7.0`.
///
/// Source: <https://helm.sh/docs/chart_best_practices/labels/>, 2026-11-28.
const CHART_LABEL: &str = "helm.sh/chart";

/// The settings of the chart that created an object, or the controller of a pod.
fn chart_of(ctx: &Context<'_>, cluster: &Cluster, metadata: Option<&Metadata>) -> Option<Span> {
    let metadata = metadata?;
    let controller = metadata
        .controller()
        .map(|owner| ObjectRef::new(&owner.kind, &metadata.namespace, &owner.name));
    let controller = controller.and_then(|it| metadata_of(ctx, &it));
    let label = [Some(metadata), controller]
        .into_iter()
        .flatten()
        .find_map(|it| it.label(CHART_LABEL))?;
    let mut charts = cluster.config.charts.configured();
    let (_, settings) = charts.find(|(name, _)| {
        let version = label.strip_prefix(name).and_then(|it| it.strip_prefix('-'));
        version.is_some_and(|it| {
            it.trim_start_matches('v')
                .starts_with(|it: char| it.is_ascii_digit())
        })
    })?;
    Some(settings.span)
}

fn chart_span(cluster: &Cluster, chart: &str) -> Option<Span> {
    let mut charts = cluster.config.charts.configured();
    let (_, settings) = charts.find(|(name, _)| *name == chart)?;
    Some(settings.span)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{diagnose_objects, event, list_objects, pending_pod};

    const CONFIGURATION: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: infer, machine: g6.2xlarge, nodes: {count: 2}}
queueing: kueue
teams:
  - name: ml
    members: [{serviceAccount: "ci:runner"}]
    quota:
      gpus: [{pool: infer, guaranteed: 2}]
      cpu: 10
      memory: 48Gi
    limits: {max: {memory: 24Gi}}
workloads:
  - name: train
    team: ml
    job: {gpus: 1, image: "registry.example.com/train:1", command: [train], cpu: 4, memory: 16Gi}
charts:
  kueue: {values: {controllerManager: {replicas: 2}}}
"#;

    /// The line of the file that the text names for objects.
    fn line(objects: &[&str]) -> String {
        let node = r#"{"kind": "Node", "apiVersion": "v1",
          "metadata": {"name": "gpu-1", "labels": {"gpuc.dev/pool": "infer"}},
          "status": {"capacity": {"nvidia.com/gpu": "1"}, "allocatable": {"pods": "9", "nvidia.com/gpu": "1"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}]}}"#;
        let objects: Vec<&str> = std::iter::once(node)
            .chain(objects.iter().copied())
            .collect();
        let (diagnosis, text) = diagnose_objects(CONFIGURATION, &list_objects(&objects));
        assert_eq!(diagnosis.causes.len(), 1, "{text}");
        let place = text
            .split_once("input: gpu-cluster.yaml:")
            .map_or("", |(_, it)| it);
        let line: usize = place
            .split(':')
            .next()
            .unwrap()
            .parse()
            .unwrap_or_else(|_| panic!("{text}"));
        CONFIGURATION
            .lines()
            .nth(line - 1)
            .unwrap()
            .trim()
            .to_owned()
    }

    #[test]
    fn refusals_name_the_quota_or_the_limits_of_the_team() {
        let refused = |message: &str| {
            let message = format!("Error creating: pods \"x\" is forbidden: {message}");
            line(&[&event(
                "StatefulSet",
                "a",
                "FailedCreate",
                &message,
                "11:50:00",
            )])
        };
        let quota = refused(
            "exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, \
             limited: requests.nvidia.com/gpu=2",
        );
        assert_eq!(quota, "gpus: [{pool: infer, guaranteed: 2}]");
        let cpu = refused(
            "exceeded quota: cpu, requested: requests.cpu=1, used: requests.cpu=10, limited: requests.cpu=10",
        );
        assert!(
            ["quota:", "gpus: [{pool: infer, guaranteed: 2}]"].contains(&cpu.as_str()),
            "{cpu}"
        );
        let limits = refused("maximum memory usage per Container is 512Gi, but limit is 600Gi");
        assert_eq!(limits, "limits: {max: {memory: 24Gi}}");
    }

    #[test]
    fn pods_and_jobs_name_their_workload() {
        let labels = r#""namespace": "ml", "labels": {"gpuc.dev/workload": "train"}"#;
        let pod = pending_pod("nvidia.com/gpu.shared", "11:00:00")
            .replace(r#""namespace": "ml""#, labels);
        assert_eq!(line(&[&pod]), "- name: train");
        let message =
            "Error creating: pods \"x\" is forbidden: no PriorityClass with name high was found";
        let refused = event("Job", "train", "FailedCreate", message, "11:50:00");
        assert_eq!(line(&[&refused]), "- name: train");
    }

    #[test]
    fn queues_name_the_quota_of_their_team() {
        let queue = r#"{"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {"name": "ml"},
          "status": {"conditions": [{"type": "Active", "status": "False", "reason": "FlavorNotFound",
            "message": "Can't admit new workloads: references missing ResourceFlavor(s): infer."}]}}"#;
        let found = line(&[queue]);
        assert!(
            ["quota:", "gpus: [{pool: infer, guaranteed: 2}]"].contains(&found.as_str()),
            "{found}"
        );
    }

    #[test]
    fn objects_of_charts_name_the_chart() {
        let daemon_set = r#"{"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": {"name": "a", "namespace": "ml-x",
          "labels": {"helm.sh/chart": "kueue-0.19.2"}}}"#;
        let message =
            "Error creating: pods \"x\" is forbidden: no PriorityClass with name high was found";
        let refused = event("DaemonSet", "a", "FailedCreate", message, "11:50:00")
            .replace(r#""namespace": "ml""#, r#""namespace": "ml-x""#);
        let found = line(&[daemon_set, &refused]);
        assert_eq!(found, "kueue: {values: {controllerManager: {replicas: 2}}}");
    }
}
