//! A pool has a taint twice.

use gpuc_schema::config::TaintEffect;

use super::Rule;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, DEDICATED_TO};

/// A pool has a taint twice.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2008",
        name: "taint-duplicate",
        severity: Severity::Error,
        summary: "a pool has a taint twice",
        explain: "### What it checks

Whether a pool's taints differ in key or effect, the one that `dedicatedTo` brings among them.

### Why it matters

A node has one taint of a key and effect; a second value for it is refused or lost.

### What to do

Remove one of them.
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
    hosts: [node-1]
    nodes: {count: 1}
    dedicatedTo: research
    taints: [{key: gpuc.dev/dedicated-to, value: infer, effect: NoSchedule}]
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
    hosts: [node-1]
    nodes: {count: 1}
    dedicatedTo: research
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let written = &pool.written;
        for (index, taint) in written.taints.iter().enumerate() {
            let (key, effect) = (&taint.value.key, taint.value.effect.value);
            let mut before = written.taints[..index].iter().map(|taint| &taint.value);
            let same = before.find(|other| other.key == *key && other.effect.value == effect);
            let dedicated = written
                .dedicated_to
                .as_ref()
                .filter(|_| key.value == DEDICATED_TO && effect == TaintEffect::NoSchedule);
            let (first, why) = match (same, dedicated) {
                (Some(same), _) => (same.key.span, "the first one"),
                (None, Some(whom)) => (whom.span, "`dedicatedTo` brings it"),
                (None, None) => continue,
            };
            let effect = word(&effect);
            let message = format!(
                "pool `{}` has the taint `{key}` twice with {effect}",
                pool.name
            );
            let draft = report
                .draft(&RULE.code, key.span, message)
                .label(first, why);
            draft.help("remove one of them").emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn effects_tell_taints_of_one_key_apart() {
        let found = messages(
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
        assert_eq!(found, ["pool `a` has the taint `k` twice with NoSchedule"]);
    }
}
