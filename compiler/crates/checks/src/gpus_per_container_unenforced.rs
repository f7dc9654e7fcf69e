//! `gpusPerContainer` is not enforced.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2203",
        name: "gpus-per-container-unenforced",
        severity: Severity::Error,
        summary: "nothing in the cluster enforces `gpusPerContainer`",
        checks: "Whether a LimitRange or the policies of `admission` reject a container that requests more GPUs than
`gpusPerContainer` of its team. gpuc creates no LimitRange for GPUs with `queueing: kueue`, with
Karpenter, and on clouds that tolerate GPU taints for every pod that names a GPU resource.",
        reason: "Kubernetes uses the maximum of a LimitRange as a default for containers without a limit. Every
container without GPUs would therefore request 0 of them. Because of that request, Kueue keeps a job
to the nodes of a flavor, and Karpenter may create GPU nodes. The admission controller
`ExtendedResourceToleration` adds the toleration of GPU nodes to the pod.",
        remedy: "Add `admission: {guard: enforce}`: its policies check only the number. The policy of `gpusPerContainer`
also rejects with `guard: warn`, but not in the namespaces of `exempt`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("]}}
", "]}}
admission: {guard: enforce}
"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let admission = cluster.config.admission.as_ref();
    if cluster.can_limit_range_gpus() {
        return;
    }
    let queueing = &cluster.config.queueing;
    for team in &cluster.teams {
        let Some(max) = team.gpus_per_container() else {
            continue;
        };
        let exempt = admission.and_then(|it| {
            let mut exempt = it.exempt.iter();
            exempt.find(|name| team.namespaces.iter().any(|own| own.value == name.value))
        });
        if admission.is_some() && exempt.is_none() {
            continue;
        }
        let message = "`gpusPerContainer` is not enforced in this cluster";
        let mut builder = report.diagnostic(&RULE.code, max.span, message.to_owned());
        let (span, reason) = if cluster.has_queues() {
            (
                queueing.span,
                "Kueue treats the request for 0 GPUs that a LimitRange adds as a request for GPUs",
            )
        } else if cluster.cloud.facts().tolerates_requested_resources {
            (
                max.span,
                "the request for 0 GPUs that a LimitRange adds makes pods tolerate GPU nodes",
            )
        } else {
            (
                cluster.autoscaler.span,
                "Karpenter may treat the request for 0 GPUs that a LimitRange adds as a request for GPUs",
            )
        };
        if span.is_written() {
            builder = builder.label(span, reason);
        }
        if let Some(exempt) = exempt {
            builder = builder.label(exempt.span, "the policies do not apply to this namespace");
        }
        let help = if exempt.is_some() {
            "remove the namespace from `admission.exempt`, or remove `gpusPerContainer`"
        } else {
            "add `admission: {guard: enforce}`"
        };
        builder.help(help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn limit_range_or_guard_enforces_the_maximum() {
        let unheld = "`gpusPerContainer` is not enforced in this cluster";
        for (cloud, rest, expected) in [
            ("onPrem: {context: demo}", "", &[][..]),
            ("onPrem: {context: demo}", "queueing: kueue", &[unheld]),
            (
                "onPrem: {context: demo}",
                "queueing: kueue, admission: {}",
                &[],
            ),
            (
                "onPrem: {context: demo}",
                "queueing: kueue, admission: {guard: enforce; exempt: [t]}",
                &[unheld],
            ),
            (
                "gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "",
                &[unheld],
            ),
            (
                "gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "admission: {}",
                &[],
            ),
        ] {
            let pool = if cloud.starts_with("gcp") {
                "machine: g2-standard-24"
            } else {
                "gpu: {model: A30, perNode: 2}, hosts: [a]"
            };
            let rest = rest.replace(", ", "\n            ").replace(';', ",");
            let yaml = format!(
                "
            cloud: {{{cloud}}}
            nodePools: [{{name: gpu, {pool}, nodes: {{count: 1}}}}]
            teams: [{{name: t, limits: {{gpusPerContainer: 1}}}}]
            {rest}
            "
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2203"), expected, "{yaml}");
        }
    }
}
