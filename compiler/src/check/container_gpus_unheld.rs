//! Nothing holds `gpusPerContainer`.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Nothing holds `gpusPerContainer`.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2203",
        name: "container-gpus-unheld",
        severity: Severity::Error,
        summary: "nothing holds `gpusPerContainer`",
        explain: "### What it checks

Whether something in the cluster refuses a container that asks for more than `gpusPerContainer` of its
team: a LimitRange, or the policies that `admission` asks for. gpuc writes no LimitRange of GPUs with
`queueing: kueue`, with Karpenter, and where the cloud lets a pod onto nodes with GPUs because it
names them.

### Why it matters

Of a most for containers Kubernetes makes a default for all others: every container that asks for no
GPU would ask for 0 of them. Kueue keeps a job to the nodes of a flavor for that, Karpenter may make
nodes with GPUs, and the admission controller `ExtendedResourceToleration` lets the pod onto them.

### What to do

Add `admission: {guard: enforce}`: its policies look at the number alone.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
queueing: kueue
teams:
  - {name: research, limits: {gpusPerContainer: 2}, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
queueing: kueue
teams:
  - {name: research, limits: {gpusPerContainer: 2}, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
admission: {guard: enforce}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.ranges_hold_gpus() || cluster.written.admission.is_some() {
        return;
    }
    let queueing = &cluster.written.queueing;
    let autoscaler = &cluster.written.autoscaler;
    for most in cluster
        .teams
        .iter()
        .filter_map(|team| team.gpus_per_container())
    {
        let message = "nothing in this cluster holds `gpusPerContainer`";
        let mut draft = report.draft(&RULE.code, most.span, message.to_owned());
        let reason = if cluster.has_queues() {
            (
                queueing.span,
                "a queue takes 0 GPUs, which a LimitRange asks for, for a wish",
            )
        } else if cluster.cloud.facts().tolerates_resources {
            (
                most.span,
                "the cloud lets pods onto nodes with GPUs that ask for 0, as a LimitRange makes them",
            )
        } else {
            (
                autoscaler.as_ref().map_or(most.span, |it| it.span),
                "Karpenter may take 0 GPUs, which a LimitRange asks for, for a wish",
            )
        };
        if reason.0.is_written() {
            draft = draft.label(reason.0, reason.1);
        }
        draft.help("add `admission: {guard: enforce}`").emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn a_range_or_the_guard_holds_it() {
        let unheld = "nothing in this cluster holds `gpusPerContainer`";
        for (cloud, rest, expected) in [
            ("onPrem: {context: demo}", "", &[][..]),
            ("onPrem: {context: demo}", "queueing: kueue", &[unheld]),
            (
                "onPrem: {context: demo}",
                "queueing: kueue, admission: {}",
                &[],
            ),
            (
                "gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}",
                "",
                &[unheld],
            ),
            (
                "gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}",
                "admission: {}",
                &[],
            ),
        ] {
            let pool = if cloud.starts_with("gcp") {
                "machine: g2-standard-24"
            } else {
                "gpu: {model: A30, perNode: 2}, hosts: [a]"
            };
            let rest = rest.replace(", ", "\n            ");
            let yaml = format!(
                "
            cloud: {{{cloud}}}
            nodePools: [{{name: gpu, {pool}, nodes: {{count: 1}}}}]
            teams: [{{name: t, limits: {{gpusPerContainer: 1}}}}]
            {rest}
            "
            );
            assert_eq!(messages(&yaml, "GPUC2203"), expected, "{yaml}");
        }
    }
}
