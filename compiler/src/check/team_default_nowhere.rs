//! What a team's containers are given has no room on any node.

use gpuc_schema::Spanned;
use gpuc_schema::config::Quantity;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};
use crate::placement::What;

/// What a team's containers are given has no room on any node.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2214",
        name: "team-default-nowhere",
        severity: Severity::Error,
        summary: "what a team's containers are given has no room on any node",
        explain: "### What it checks

Whether a node of some pool has as much CPU and memory as a team's `limits.defaultRequest`, where the
sizes of all pools are known.

### Why it matters

Kubernetes writes it into every container that does not say what it asks for. No node would have room
for such a pod, and it would wait for ever.

### What to do

Write no more than a container needs that says nothing.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
    allocatable: {cpu: 32, memory: 128Gi}
teams:
  - {name: research, limits: {defaultRequest: {cpu: 33}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
    allocatable: {cpu: 32, memory: 128Gi}
teams:
  - {name: research, limits: {defaultRequest: {cpu: 4}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        let given = &team.default_request;
        let of_cpu = |pool: &Pool| cluster.room(pool).0.map(|room| room.left);
        let of_memory = |pool: &Pool| cluster.room(pool).1.map(|room| room.left);
        let name = team.name.as_str();
        look(
            cluster,
            name,
            (&What::Cpu, given.cpu.as_ref(), 1),
            of_cpu,
            report,
        );
        look(
            cluster,
            name,
            (&What::Memory, given.memory.as_ref(), 1000),
            of_memory,
            report,
        );
    }
}

fn look(
    cluster: &Cluster,
    team: &str,
    (what, given, unit): (&What, Option<&Spanned<Quantity>>, u64),
    room: impl Fn(&Pool) -> Option<u64>,
    report: &mut Report,
) {
    let Some(given) = given.filter(|it| it.span.is_written()) else {
        return;
    };
    let rooms = cluster.pools.iter().map(room);
    let Some(rooms) = rooms.collect::<Option<Vec<_>>>() else {
        return;
    };
    let most = rooms.into_iter().zip(&cluster.pools).max_by_key(|it| it.0);
    let (Some((most, pool)), Some(asked)) = (most, given.thousandths()) else {
        return;
    };
    let asked = asked.div_ceil(unit);
    if asked <= most {
        return;
    }
    let message = format!(
        "no node has room for what containers of team `{team}` are given: {}",
        what.words(asked)
    );
    let has = format!(
        "a node of pool `{}` has {} for pods",
        pool.name,
        what.words(most)
    );
    let draft = report.draft(&RULE.code, given.span, message);
    draft
        .label(pool.name.span, has)
        .help("write what a container needs that says nothing")
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(pools: &str, limits: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: cpu, hosts: [a], nodes: {{count: 1}}, {pools}}}
              - {{name: more, hosts: [b], nodes: {{count: 1}}, allocatable: {{cpu: 8, memory: 64Gi}}}}
            teams: [{{name: t, limits: {{{limits}}}}}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2214"), expected, "{limits}");
    }

    #[test]
    fn the_largest_node_has_room_for_what_is_given() {
        let cpu = "no node has room for what containers of team `t` are given: 17 cores";
        let memory = "no node has room for what containers of team `t` are given: 65 GiB of memory";
        let size = "allocatable: {cpu: 16, memory: 32Gi}";
        check(size, "defaultRequest: {cpu: 16, memory: 64Gi}", &[]);
        check(
            size,
            "defaultRequest: {cpu: 17, memory: 65Gi}",
            &[cpu, memory],
        );
        // What nobody says may be enough.
        check("labels: {}", "defaultRequest: {cpu: 17, memory: 65Gi}", &[]);
        check(size, "max: {cpu: 64, memory: 1Ti}", &[]);
    }
}
