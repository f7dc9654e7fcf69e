//! A pool cannot be used with Topology Aware Scheduling.

use gpuc_kubernetes::names::label_key_problem;
use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Team};
use gpuc_schema::Spanned;
use gpuc_schema::config::QueueTopology;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::one_of_help;

/// `maxItems` of a Topology's `levels`.
const MAX_LEVELS: usize = 16;

/// The label of the narrowest level that Kueue accepts.
const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2175",
        name: "queue-topology-unsupported",
        severity: Severity::Error,
        summary: "a pool cannot be used with Topology Aware Scheduling",
        checks: "Whether a team has a quota of each pool in `kueue.topology`, and the pool has a fixed number of
nodes. Whether it is known which node labels describe the network topology. Whether the teams'
quotas contain neither CPU nor memory. Whether `levels` has unique entries, at most 16, with
`kubernetes.io/hostname` last.",
        reason: "Kueue counts existing nodes only, so that a job never scales up an empty pool. Kueue ignores nodes
without the labels. A team's CPU and memory are counted in every pool that it uses, and a job with
topology-aware placement must take all its requests from one pool.

Source: `checkPodSetAndFlavorMatchForTAS` in kubernetes-sigs/kueue@03b5f360
`pkg/scheduler/flavorassigner/tas_flavorassigner.go`.",
        remedy: "Set the pool's `nodes.count`, or remove the pool from the list. Set `levels` if the cloud has no
topology labels: your own labels, from the widest part of the network to the node. Remove CPU and
memory from the teams' quotas.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
queueing: kueue
kueue: {topology: {pools: [gpu]}}
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
        correction: Correction::Replace("pools: [gpu]", "pools: [gpu], levels: [example.com/rack, kubernetes.io/hostname]"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let settings = cluster.config.kueue.as_ref();
    let Some(topology) = settings.and_then(|it| it.topology.as_ref()) else {
        return;
    };
    if topology.pools.is_empty() {
        let message = "`kueue.topology` lists no pools";
        report
            .diagnostic(&RULE.code, topology.span, message)
            .help("list pools, or remove `topology`")
            .emit();
    }
    for (index, name) in topology.pools.iter().enumerate() {
        if topology.pools[..index].contains(name) {
            let message = format!("duplicate pool `{name}` in `kueue.topology`");
            report
                .diagnostic(&RULE.code, name.span, message)
                .help("remove one of the entries")
                .emit();
        } else {
            check_pool(cluster, topology, name, report);
        }
    }
    let counted = cluster.teams.iter().flat_map(Team::unpinned_resources);
    for (name, _, span) in counted.filter(|(name, _, _)| *name != "pods") {
        let message = format!("a quota of `{name}` prevents topology-aware placement of jobs");
        report
            .diagnostic(&RULE.code, span, message)
            .label(topology.span, "this enables topology-aware placement")
            .help(format!(
                "remove `{name}` from the teams' quotas, or remove `topology`"
            ))
            .emit();
    }
    let levels = &topology.levels;
    for (index, level) in levels.iter().enumerate() {
        let message = if label_key_problem(level).is_some() {
            format!("invalid label key `{level}` for a topology level")
        } else if index == MAX_LEVELS {
            format!(
                "`levels` has {} entries, and Kueue accepts {MAX_LEVELS}",
                levels.len()
            )
        } else if levels[..index].contains(level) {
            format!("duplicate topology level `{level}`")
        } else if level.value == HOSTNAME_LABEL && index + 1 < levels.len() {
            format!("`{HOSTNAME_LABEL}` must be the last topology level")
        } else {
            continue;
        };
        report
            .diagnostic(&RULE.code, level.span, message)
            .help("list each level once, from the widest to the node")
            .emit();
    }
}

fn check_pool(
    cluster: &Cluster,
    topology: &QueueTopology,
    name: &Spanned<String>,
    report: &mut Report,
) {
    let names: Vec<_> = cluster
        .pools
        .iter()
        .map(|pool| pool.name.as_str())
        .collect();
    let Some(pool) = cluster.pool(name) else {
        let message = format!("unknown pool `{name}`");
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(one_of_help(&names))
            .emit();
        return;
    };
    let mut grants = cluster.teams.iter().flat_map(Team::grants);
    let is_granted = grants.any(|grant| grant.pool == pool.index);
    if !is_granted && !cluster.teams.iter().any(Team::has_unknown_grants) {
        let message = format!("no team has a quota of pool `{name}`");
        report
            .diagnostic(&RULE.code, name.span, message)
            .help("add a quota of it to a team, or remove it from the list")
            .emit();
    }
    if let Some(nodes) = pool.nodes.get().filter(|nodes| !nodes.is_fixed()) {
        let message = format!("pool `{name}` does not have a fixed number of nodes");
        let help = format!(
            "set `nodes: {{count: {}}}`, or remove the pool from the list",
            nodes.max
        );
        report
            .diagnostic(&RULE.code, name.span, message)
            .label(nodes.max_span, "the pool scales up to this number")
            .help(help)
            .emit();
    }
    let cloud_levels = cluster.cloud.network_levels(pool);
    if topology.levels.is_empty() && cloud_levels.is_empty() {
        let message = format!("the nodes of pool `{name}` have no network topology labels");
        let help = "add `levels` to `topology`, with labels that you add to the nodes";
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(topology: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: train, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}
              - {name: infer, gpu: {model: L4, perNode: 4}, hosts: [b], nodes: {count: 1}}
            queueing: kueue
            teams: [{name: a, quota: {gpus: [{pool: train, guaranteed: 1}]}}]
            kueue: {topology: <rest>}
            ";
        check_in(file, "GPUC2175", topology, expected);
    }

    #[test]
    fn invalid_levels_are_found() {
        check(
            "{pools: [train], levels: [example.com/rack, kubernetes.io/hostname]}",
            &[],
        );
        check(
            "{pools: [train], levels: ['bad label!', a, a, kubernetes.io/hostname, b]}",
            &[
                "invalid label key `bad label!` for a topology level",
                "duplicate topology level `a`",
                "`kubernetes.io/hostname` must be the last topology level",
            ],
        );
        let many: Vec<_> = (0..18).map(|index| format!("l{index}")).collect();
        check(
            &format!("{{pools: [train], levels: [{}]}}", many.join(", ")),
            &["`levels` has 18 entries, and Kueue accepts 16"],
        );
    }

    #[test]
    fn invalid_pools_are_found() {
        check(
            "{pools: [], levels: [a]}",
            &["`kueue.topology` lists no pools"],
        );
        check(
            "{pools: [train, train, infer, other], levels: [a]}",
            &[
                "duplicate pool `train` in `kueue.topology`",
                "no team has a quota of pool `infer`",
                "unknown pool `other`",
            ],
        );
        check(
            "{pools: [train]}",
            &["the nodes of pool `train` have no network topology labels"],
        );
    }
}
