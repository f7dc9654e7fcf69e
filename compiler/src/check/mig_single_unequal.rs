//! The slices of a pool with strategy `single` differ.

use gpuc_schema::config::MigStrategy;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, MigGpu, Sharing};

/// The slices of a pool with strategy `single` differ.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2023",
        name: "mig-single-unequal",
        severity: Severity::Error,
        summary: "the slices of a pool with strategy `single` differ",
        explain: "### What it checks

Whether every GPU of a node is cut, and all slices have one profile, where `sharing.mig.strategy`
is `single`.

### Why it matters

With this strategy all slices are called `nvidia.com/gpu`, so a pod could not say which it wants.
Device plugins offer none at all when slices differ or a GPU is left whole.

### What to do

Cut all GPUs alike, or write `strategy: mixed`, where each profile has a name of its own.
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
    sharing: {mig: {strategy: single, perGpu: [{gpus: "0", layout: [{profile: 2g.12gb, count: 2}]}, {gpus: "1", layout: [{profile: 1g.6gb, count: 4}]}]}}
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
    sharing: {mig: {strategy: mixed, perGpu: [{gpus: "0", layout: [{profile: 2g.12gb, count: 2}]}, {gpus: "1", layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(Sharing::Mig { strategy, gpus }) = pool.sharing.get() else {
            continue;
        };
        if strategy.value == MigStrategy::Single
            && let Some(message) = difference(gpus)
        {
            let draft = report.draft(&RULE.code, strategy.span, message);
            let draft = draft.here("all slices must be alike");
            let draft = draft.label(pool.written.sharing.span, "how the GPUs are cut");
            draft
                .help("write `strategy: mixed`, or cut all GPUs alike")
                .replace(strategy.span, "mixed")
                .emit();
        }
    }
}

/// How the GPUs of a node differ.
fn difference(gpus: &[MigGpu]) -> Option<String> {
    let whole = gpus.iter().find(|gpu| gpu.slices.is_empty());
    if let Some(whole) = whole {
        return Some(format!(
            "GPU {} is not cut, and the others are",
            whole.index
        ));
    }
    let slices = gpus
        .iter()
        .flat_map(|gpu| gpu.slices.iter().map(|slice| (gpu.index, slice.profile)));
    let mut slices = slices;
    let (first, profile) = slices.next()?;
    let (other, another) = slices.find(|(_, other)| *other != profile)?;
    Some(if first == other {
        format!("GPU {first} has slices {profile} and {another}")
    } else {
        format!("GPU {first} has slices {profile}, GPU {other} has {another}")
    })
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(per_gpu: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - name: gpu
                gpu: {{model: A30, perNode: 2}}
                hosts: [a]
                nodes: {{count: 1}}
                sharing: {{mig: {{strategy: single, perGpu: {per_gpu}}}}}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2023"), expected);
    }

    #[test]
    fn differences_are_named() {
        check("[{layout: [{profile: 1g.6gb, count: 3}]}]", &[]);
        check(
            "[{gpus: '0', layout: [{profile: 1g.6gb, count: 4}]}, {gpus: '1', layout: [{profile: 1g.6gb, count: 1}]}]",
            &[],
        );
        check(
            "[{gpus: '1', layout: [{profile: 1g.6gb, count: 4}]}]",
            &["GPU 0 is not cut, and the others are"],
        );
        check(
            "[{layout: [{profile: 2g.12gb, count: 1}, {profile: 1g.6gb, count: 2}]}]",
            &["GPU 0 has slices 2g.12gb and 1g.6gb"],
        );
    }
}
