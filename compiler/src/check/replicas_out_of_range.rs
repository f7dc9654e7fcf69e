//! A GPU cannot be shared by so many.

use gpuc_schema::config::DevicePlugin;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool, Sharing};

/// A GPU cannot be shared by so many.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2022",
        name: "replicas-out-of-range",
        severity: Severity::Error,
        summary: "a GPU cannot be shared by so many",
        explain: "### What it checks

Whether a shared GPU is shared by at least two containers, and by no more than can be: 48 by
time-slicing, and by MPS what the card takes, which is 48 from Volta on and 16 before. NVIDIA's
device plugin allows 16 below compute capability 7.5.

### Why it matters

The device plugin would offer shares that fail when a container uses them, or would not start.

### What to do

Write a number in the range that the help gives.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    gpu: {model: v100-sxm2-16gb, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mps: {replicas: 20}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    gpu: {model: v100-sxm2-16gb, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mps: {replicas: 16}}
"#,
    },
    run,
};

/// As many as take turns on a GPU. The driver has no limit; more than this many leave each a sliver of memory. Google
/// has the same limit (GKE, "Share GPUs with multiple workloads using GPU time-sharing", 2026-11-21).
const TIME_SLICES: u32 = 48;

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        let (replicas, most, why) = match pool.sharing.get() {
            Some(Sharing::TimeSlicing { replicas, .. }) => {
                (replicas, TIME_SLICES, "by turns".to_owned())
            }
            Some(Sharing::Mps { replicas, .. }) if is_nvidias(pool) => {
                let most = gpus.model.mps_clients_nvidia_plugin();
                (
                    replicas,
                    most,
                    format!("by MPS, on {} under NVIDIA's device plugin", gpus.model.key),
                )
            }
            Some(Sharing::Mps { replicas, .. }) => {
                let most = gpus.model.mps_max_clients();
                (replicas, most, format!("by MPS, on {}", gpus.model.key))
            }
            Some(Sharing::Exclusive | Sharing::Mig { .. }) | None => continue,
        };
        if (2..=most).contains(&replicas.value) {
            continue;
        }
        let message = format!("a GPU cannot be shared by {replicas}");
        let draft = report.draft(&RULE.code, replicas.span, message);
        let draft = draft.label(gpus.chosen, "the card is chosen here");
        let draft = draft.help(format!(
            "write 2 to {most}: that many can share a GPU {why}"
        ));
        if replicas.value > most {
            draft.replace(replicas.span, most.to_string()).emit();
        } else {
            draft
                .help("write 2 or more, or remove `sharing`: nobody shares a GPU alone")
                .emit();
        }
    }
}

/// Whether NVIDIA's device plugin serves the pool, whoever installs it.
fn is_nvidias(pool: &Pool) -> bool {
    let both = [DevicePlugin::Nvidia, DevicePlugin::Operator];
    both.into_iter().any(|plugin| pool.is_advertised_by(plugin))
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(model: &str, plugin: &str, sharing: &str, wrong: bool) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            stack: {{devicePlugin: {plugin}}}
            nodePools:
              - name: gpu
                gpu: {{model: {model}, perNode: 1}}
                hosts: [a]
                nodes: {{count: 1}}
                sharing: {sharing}
            "
        );
        assert_eq!(
            messages(&yaml, "GPUC2022").len(),
            usize::from(wrong),
            "{model} {sharing}"
        );
    }

    #[test]
    fn the_limit_depends_on_the_card_and_on_who_shares() {
        for (model, plugin, most) in [
            ("p4-8gb", "gpuc", 16),
            ("v100-sxm2-16gb", "gpuc", 48),
            ("v100-sxm2-16gb", "nvidia", 16),
            ("t4-16gb", "nvidia", 48),
        ] {
            check(
                model,
                plugin,
                &format!("{{mps: {{replicas: {most}}}}}"),
                false,
            );
            check(
                model,
                plugin,
                &format!("{{mps: {{replicas: {}}}}}", most + 1),
                true,
            );
        }
        check("p4-8gb", "gpuc", "{timeSlicing: {replicas: 48}}", false);
        check("p4-8gb", "gpuc", "{timeSlicing: {replicas: 49}}", true);
        check("p4-8gb", "gpuc", "{timeSlicing: {replicas: 1}}", true);
    }
}
