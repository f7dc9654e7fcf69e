//! A job requests a resource that its ClusterQueue has no quota for.

use crate::queued_workloads::is_in_generated_queue;
use crate::resources::{ResourceCount, advertised_resources, is_gpu_name, parse_count};
use crate::{CheckContext, Container, Rule};

use gpuc_model::Team;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4082",
        name: "manifest-resource-without-quota",
        severity: Severity::Error,
        summary: "a job requests a resource that its ClusterQueue has no quota for",
        checks: "Whether the ClusterQueue of a team has a quota for each device resource that pods in the team's
namespaces request, other than GPUs. It has one for the team's GPUs, and ignores the network interfaces
of pools, huge pages and ephemeral storage. The check applies with `queueing: kueue`. Custom
`charts.kueue.values` are not evaluated.",
        reason: "Kueue does not admit a job that requests a resource without a quota: `resource … unavailable in
ClusterQueue`. The job waits indefinitely.",
        remedy: "Remove the resource. If your own device plugin advertises it, set
`managerConfig.controllerManagerConfigYaml` in `charts.kueue.values`: gpuc's configuration with the
resource's name in `resources.excludeResourcePrefixes`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
  - {name: vision, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1, example.com/fuse: 1}}
"#,
        correction: Correction::Replace(", example.com/fuse: 1", ""),
    },
    run,
};

/// Resources that Kueue always ignores.
const IGNORED: &[&str] = &["ephemeral-storage", "hugepages-"];

/// Accelerators of other vendors, which `resource_not_nvidia` reports.
const OTHER_VENDORS: &[&str] = &["amd.com/gpu", "gpu.intel.com/", "habana.ai/"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let cluster = ctx.cluster;
    if cluster.config.charts.kueue.is_some() {
        return;
    }
    let of_clouds = cluster
        .registry
        .clouds
        .iter()
        .flat_map(|it| it.facts().other_accelerators);
    let of_clouds = of_clouds.map(|(name, _)| *name);
    let others: Vec<_> = OTHER_VENDORS.iter().copied().chain(of_clouds).collect();
    let interconnect = cluster.pools.iter().flat_map(|pool| &pool.interconnect);
    let interconnect = interconnect.map(|it| it.name.as_str());
    let ignored: Vec<_> = IGNORED.iter().copied().chain(interconnect).collect();
    for pod in ctx
        .pods
        .iter()
        .filter(|pod| is_in_generated_queue(cluster, pod))
    {
        let namespace = pod.object.namespace.as_deref().unwrap_or_default();
        let Some((team, _)) = cluster.team_of_namespace(namespace) else {
            continue;
        };
        for entry in pod
            .containers
            .iter()
            .flat_map(Container::requested_resources)
        {
            let name = entry.key.as_str();
            let has_prefix = |prefixes: &[&str]| prefixes.iter().any(|it| name.starts_with(it));
            let is_reported = is_gpu_name(name) || has_prefix(&others) || !name.contains('/');
            let is_requested = matches!(parse_count(&entry.value), ResourceCount::Whole(1..));
            let is_open = name.contains(['$', '{']);
            let is_counted = has_quota(team, name) || has_prefix(&ignored);
            if is_reported || is_open || !is_requested || is_counted {
                continue;
            }
            let message = format!(
                "{} requests `{name}`, which the team's ClusterQueue has no quota for",
                pod.title()
            );
            let help = if advertised_resources(cluster).contains(&name) {
                "add it to the team's quota, or remove it"
            } else {
                "remove it, or exclude it from Kueue's quotas in `charts.kueue.values`"
            };
            report
                .diagnostic(&RULE.code, entry.key_span, message)
                .label(
                    team.name.span,
                    "the ClusterQueue of this team only has quotas for its GPUs",
                )
                .help(help)
                .emit();
        }
    }
}

fn has_quota(team: &Team, resource: &str) -> bool {
    team.grants().any(|grant| grant.resource == resource)
}
