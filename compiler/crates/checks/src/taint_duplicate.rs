//! A pool has a duplicate taint.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, DEDICATED_TO};
use gpuc_schema::config::TaintEffect;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2008",
        name: "taint-duplicate",
        severity: Severity::Error,
        summary: "a pool has a duplicate taint",
        checks: "Whether a pool's taints differ in key or effect, including the taint of `dedicatedTo`.",
        reason: "A node can have only one taint with a given key and effect. A second one is rejected or lost.",
        remedy: "Remove one of the taints.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    dedicatedTo: research
    taints: [{key: gpuc.dev/dedicated-to, value: infer, effect: NoSchedule}]
"#,
        correction: Correction::Replace(
            "    taints: [{key: gpuc.dev/dedicated-to, value: infer, effect: NoSchedule}]
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        for (index, taint) in pool.user_taints.iter().enumerate() {
            let (key, effect) = (&taint.value.key, taint.value.effect.value);
            let mut previous = pool.user_taints[..index].iter().map(|taint| &taint.value);
            let same = previous.find(|other| other.key == *key && other.effect.value == effect);
            let dedicated = pool
                .settings
                .dedicated_to
                .as_ref()
                .filter(|_| key.value == DEDICATED_TO && effect == TaintEffect::NoSchedule);
            let (first, reason) = match (same, dedicated) {
                (Some(same), _) => (same.key.span, "the first taint"),
                (None, Some(dedicated_to)) => {
                    (dedicated_to.span, "`dedicatedTo` sets the same taint")
                }
                (None, None) => continue,
            };
            let effect = keyword(&effect);
            let message = format!(
                "duplicate taint `{key}` with effect `{effect}` in pool `{}`",
                pool.name
            );
            report
                .diagnostic(&RULE.code, key.span, message)
                .label(first, reason)
                .help("remove one of the taints")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn taints_with_the_same_key_and_effect_are_found() {
        let found = messages_with_id(
            "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - name: a
                hosts: [a]
                nodes: {count: 1}
                taints:
                  - {key: k, value: a, effect: NoSchedule}
                  - {key: k, value: b, effect: NoExecute}
                  - {key: k, value: c, effect: NoSchedule}
            ",
            "GPUC2008",
        );
        assert_eq!(
            found,
            ["duplicate taint `k` with effect `NoSchedule` in pool `a`"]
        );
    }
}
