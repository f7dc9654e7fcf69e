//! A pool is overcommitted in word only.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Known};

/// A pool is overcommitted in word only.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2165",
        name: "overcommit-unused",
        severity: Severity::Warning,
        summary: "a pool is overcommitted in word only",
        explain: "### What it checks

Whether teams may have more of a pool with `overcommit: true` than it has at its most nodes.

### Why it matters

The word takes back every guarantee of the pool. Where nothing needs it, it would hide the day when
something does.

### What to do

Remove `overcommit`.
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
    hosts: [node-1, node-2]
    nodes: {count: 2}
    overcommit: true
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 4}]}
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
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 4}]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let promises = cluster.promises();
    let has_holes = cluster
        .teams
        .iter()
        .any(|it| it.grants.iter().any(Known::is_hole));
    for pool in cluster
        .pools
        .iter()
        .filter(|it| it.written.overcommit.value)
    {
        let mut own = promises.iter().filter(|it| it.pool == pool.index);
        let needed = own.any(|it| it.limit() > it.most());
        if !needed && !has_holes && !pool.nodes.is_hole() && !pool.offers.is_hole() {
            let message = format!(
                "teams may have no more of pool `{}` than it holds",
                pool.name
            );
            let span = pool.written.overcommit.span;
            let draft = report.draft(&RULE.code, span, message);
            draft.help("remove `overcommit`").emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(quota: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: train, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, overcommit: true}}
            teams: [{{name: a, quota: {{gpus: [{{pool: train, {quota}}}]}}}}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2165"), expected, "{quota}");
        assert_eq!(messages(&yaml, "GPUC2162"), [""; 0], "{quota}");
    }

    #[test]
    fn what_is_overcommitted_says_so() {
        check("guaranteed: 3", &[]);
        check("guaranteed: 1, limit: 3", &[]);
        let idle = "teams may have no more of pool `train` than it holds";
        check("guaranteed: 2", &[idle]);
    }
}
