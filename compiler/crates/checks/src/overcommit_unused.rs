//! `overcommit` is set on a pool that is not overcommitted.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Resolved};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2165",
        name: "overcommit-unused",
        severity: Severity::Warning,
        summary: "`overcommit` is set on a pool that is not overcommitted",
        checks: "Whether the quotas of a pool with `overcommit: true` exceed its capacity at its maximum node count.",
        reason: "`overcommit: true` revokes every guarantee of the pool. If it is not needed today, it hides a later
change that does need it.",
        remedy: "Remove `overcommit`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("    overcommit: true
", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let totals = cluster.quota_totals();
    let has_unresolved = cluster
        .teams
        .iter()
        .any(|it| it.grants.iter().any(Resolved::is_unresolved));
    for pool in cluster
        .pools
        .iter()
        .filter(|it| it.settings.overcommit.value)
    {
        let is_needed = totals
            .iter()
            .filter(|it| it.pool == pool.index)
            .any(|it| it.limit() > it.max_total());
        if !is_needed
            && !has_unresolved
            && !pool.nodes.is_unresolved()
            && !pool.advertised.is_unresolved()
        {
            let message = format!(
                "the quotas of pool `{}` do not exceed its capacity",
                pool.name
            );
            let span = pool.settings.overcommit.span;
            report
                .diagnostic(&RULE.code, span, message)
                .help("remove `overcommit`")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

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
        assert_eq!(messages_with_id(&yaml, "GPUC2165"), expected, "{quota}");
        assert_eq!(messages_with_id(&yaml, "GPUC2162"), [""; 0], "{quota}");
    }

    #[test]
    fn overcommit_without_need_is_found() {
        check("guaranteed: 3", &[]);
        check("guaranteed: 1, limit: 3", &[]);
        let unused = "the quotas of pool `train` do not exceed its capacity";
        check("guaranteed: 2", &[unused]);
    }
}
