//! Pools that cannot be placed by how their nodes are wired.

use gpuc_schema::Spanned;
use gpuc_schema::config::QueueTopology;

use super::Rule;
use super::syntax::key_problem;
use super::words::one_of;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Team};

/// `maxItems` of a Topology's `levels`.
const LEVELS: usize = 16;

/// The label of the narrowest level that Kueue takes.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Pools that cannot be placed by how their nodes are wired.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2175",
        name: "queue-topology-wrong",
        severity: Severity::Error,
        summary: "pools that cannot be placed by how their nodes are wired",
        explain: "### What it checks

Whether each pool of `kueue.topology` is one that a team has a quota of and has a fixed number of
nodes; whether it is known by which labels its nodes tell where they are; whether queues count no
CPU or memory beside it; and whether
`kubernetes.io/hostname` stands last among `levels`, none twice and
no more than 16.

### Why it matters

Kueue counts the nodes that are there, so that no job would ever make an empty pool grow. Nodes
without the labels it does not count at all. CPU and memory of a team are counted wherever they are
used, and a job that is placed by the network must have all that it asks for from the pool.

Source: `checkPodSetAndFlavorMatchForTAS` in kubernetes-sigs/kueue@03b5f360
`pkg/scheduler/flavorassigner/tas_flavorassigner.go`.

### What to do

Give the pool as many nodes as it has at most, or take it from the list. Write `levels` where the
cloud does not tell: labels of your own, from the widest part of the network to the node. Leave CPU
and memory out of the teams' quotas.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
queueing: kueue
kueue: {topology: {pools: [gpu], levels: [example.com/rack, kubernetes.io/hostname]}}
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let settings = cluster.written.kueue.as_ref();
    let Some(topology) = settings.and_then(|it| it.topology.as_ref()) else {
        return;
    };
    if topology.pools.is_empty() {
        let message = "no pool is placed by the network";
        let draft = report.draft(&RULE.code, topology.span, message);
        draft.help("name the pools, or remove `topology`").emit();
    }
    for (index, name) in topology.pools.iter().enumerate() {
        if topology.pools[..index].contains(name) {
            let message = format!("pool `{name}` stands twice");
            let draft = report.draft(&RULE.code, name.span, message);
            draft.help("keep one of them").emit();
        } else {
            of_pool(cluster, topology, name, report);
        }
    }
    let counted = cluster.teams.iter().flat_map(Team::counted_anywhere);
    for (name, _, span) in counted.filter(|(name, _, _)| *name != "pods") {
        let message = format!("a quota of `{name}` keeps jobs from being placed by the network");
        let draft = report.draft(&RULE.code, span, message);
        let draft = draft.label(topology.span, "jobs of these pools are placed by it");
        draft
            .help(format!(
                "remove `{name}` from the teams' quotas, or `topology`"
            ))
            .emit();
    }
    let levels = &topology.levels;
    for (index, level) in levels.iter().enumerate() {
        let message = if key_problem(level).is_some() {
            format!("no label of a node can be called `{level}`")
        } else if index == LEVELS {
            format!(
                "there are {} levels, and Kueue takes {LEVELS}",
                levels.len()
            )
        } else if levels[..index].contains(level) {
            format!("the level `{level}` stands twice")
        } else if level.value == HOSTNAME && index + 1 < levels.len() {
            format!("`{HOSTNAME}` is the last level, and others follow")
        } else {
            continue;
        };
        let draft = report.draft(&RULE.code, level.span, message);
        draft
            .help("write each once, from the widest to the node")
            .emit();
    }
}

fn of_pool(
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
        let message = format!("no pool is called `{name}`");
        report
            .draft(&RULE.code, name.span, message)
            .help(one_of(&names))
            .emit();
        return;
    };
    let mut grants = cluster.teams.iter().flat_map(Team::grants);
    let is_granted = grants.any(|grant| grant.pool == pool.index);
    if !is_granted && !cluster.teams.iter().any(Team::has_unknown_grants) {
        let message = format!("no team has a quota of pool `{name}`");
        let draft = report.draft(&RULE.code, name.span, message);
        draft
            .help("give a team a quota of it, or take it from the list")
            .emit();
    }
    if let Some(nodes) = pool.nodes.get().filter(|nodes| !nodes.is_fixed()) {
        let message = format!("the number of nodes of pool `{name}` changes");
        let draft = report.draft(&RULE.code, name.span, message);
        let draft = draft.label(nodes.max_span, "it grows up to this");
        let help = format!(
            "write `nodes: {{count: {}}}`, or take it from the list",
            nodes.max
        );
        draft.help(help).emit();
    }
    let told = cluster.cloud.network_levels(pool);
    if topology.levels.is_empty() && told.is_empty() {
        let message = format!("nobody tells where in the network the nodes of pool `{name}` are");
        let draft = report.draft(&RULE.code, name.span, message);
        let help = "add `levels` to `topology`, with labels that you put on the nodes";
        draft.help(help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(topology: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: train, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
              - {{name: infer, gpu: {{model: L4, perNode: 4}}, hosts: [b], nodes: {{count: 1}}}}
            queueing: kueue
            teams: [{{name: a, quota: {{gpus: [{{pool: train, guaranteed: 1}}]}}}}]
            kueue: {{topology: {topology}}}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2175"), expected, "{topology}");
    }

    #[test]
    fn levels_are_labels_from_the_widest_to_the_node() {
        check(
            "{pools: [train], levels: [example.com/rack, kubernetes.io/hostname]}",
            &[],
        );
        check(
            "{pools: [train], levels: ['bad label!', a, a, kubernetes.io/hostname, b]}",
            &[
                "no label of a node can be called `bad label!`",
                "the level `a` stands twice",
                "`kubernetes.io/hostname` is the last level, and others follow",
            ],
        );
        let many: Vec<_> = (0..18).map(|index| format!("l{index}")).collect();
        check(
            &format!("{{pools: [train], levels: [{}]}}", many.join(", ")),
            &["there are 18 levels, and Kueue takes 16"],
        );
    }

    #[test]
    fn pools_have_queues() {
        check(
            "{pools: [], levels: [a]}",
            &["no pool is placed by the network"],
        );
        check(
            "{pools: [train, train, infer, other], levels: [a]}",
            &[
                "pool `train` stands twice",
                "no team has a quota of pool `infer`",
                "no pool is called `other`",
            ],
        );
        check(
            "{pools: [train]}",
            &["nobody tells where in the network the nodes of pool `train` are"],
        );
    }
}
