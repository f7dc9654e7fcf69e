//! The MIG devices of a pool with the strategy `single` differ.

use gpuc_schema::config::MigStrategy;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, MigGpu, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2023",
        name: "mig-single-mixed-profiles",
        severity: Severity::Error,
        summary: "the MIG devices of a pool with the strategy `single` differ",
        checks: "Whether every GPU of a node is partitioned, and all MIG devices have the same profile, if
`sharing.mig.strategy` is `single`.",
        reason: "With this strategy all MIG devices are advertised as `nvidia.com/gpu`, so a pod could not select one
of them. Device plugins advertise nothing if MIG devices differ or a GPU is not partitioned.",
        remedy: "Partition all GPUs in the same way, or write `strategy: mixed`, which advertises each profile under
its own name.",
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
    sharing: {mig: {strategy: single, perGpu: [{gpus: "0", layout: [{profile: 2g.12gb, count: 2}]}, {gpus: "1", layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
        correction: Correction::Replace("strategy: single", "strategy: mixed"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(Sharing::Mig { strategy, gpus }) = pool.sharing.get() else {
            continue;
        };
        if strategy.value == MigStrategy::Single
            && let Some(message) = describe_difference(gpus)
        {
            report
                .diagnostic(&RULE.code, strategy.span, message)
                .primary_label("this strategy requires identical MIG devices")
                .label(pool.sharing_span, "the MIG geometry")
                .help("write `strategy: mixed`, or partition all GPUs in the same way")
                .replace(strategy.span, "mixed")
                .emit();
        }
    }
}

/// Describes the first difference between the GPUs of a node.
fn describe_difference(gpus: &[MigGpu]) -> Option<String> {
    if let Some(full) = gpus.iter().find(|gpu| gpu.placements.is_empty()) {
        return Some(format!(
            "GPU {} is not partitioned, but other GPUs are",
            full.index
        ));
    }
    let mut devices = gpus.iter().flat_map(|gpu| {
        gpu.placements
            .iter()
            .map(|placement| (gpu.index, placement.profile))
    });
    let (first, profile) = devices.next()?;
    let (other, other_profile) = devices.find(|(_, other)| *other != profile)?;
    Some(if first == other {
        format!("GPU {first} has MIG devices {profile} and {other_profile}")
    } else {
        format!("GPU {first} has MIG devices {profile}, GPU {other} has {other_profile}")
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

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
        assert_eq!(messages_with_id(&yaml, "GPUC2023"), expected);
    }

    #[test]
    fn differences_are_described() {
        check("[{layout: [{profile: 1g.6gb, count: 3}]}]", &[]);
        check(
            "[{gpus: '0', layout: [{profile: 1g.6gb, count: 4}]}, {gpus: '1', layout: [{profile: 1g.6gb, count: 1}]}]",
            &[],
        );
        check(
            "[{gpus: '1', layout: [{profile: 1g.6gb, count: 4}]}]",
            &["GPU 0 is not partitioned, but other GPUs are"],
        );
        check(
            "[{layout: [{profile: 2g.12gb, count: 1}, {profile: 1g.6gb, count: 2}]}]",
            &["GPU 0 has MIG devices 2g.12gb and 1g.6gb"],
        );
    }
}
