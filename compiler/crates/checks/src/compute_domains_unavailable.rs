//! ComputeDomains on nodes that cannot have them.

use gpuc_schema::config::Extra;
use gpuc_schema::gpu::MULTI_NODE_NVLINK_MODELS;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, KubernetesVersion};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

/// Source: kubernetes-sigs/dra-driver-nvidia-gpu `site/content/docs` (prerequisites), read 2026-11-22; the exclusion of
/// `imex`: channel 0 of a node has one owner.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2246",
        name: "compute-domains-unavailable",
        severity: Severity::Error,
        summary: "the nodes of a pool cannot be in a ComputeDomain",
        checks: "Whether a pool with `network.computeDomains` has a GPU model whose NVLink connects several nodes (GB200 and
GB300), does not have `extras: [imex]`, and the cluster has Kubernetes 1.34 or later.",
        reason: "A ComputeDomain connects GPUs of several nodes over NVLink, which other models do not have. NVIDIA's DRA
driver and the device plugin with `imex` would both give channel 0 of a node to containers. Pods request
a channel with a ResourceClaim, and the API of claims is stable since Kubernetes 1.34.",
        remedy: "Follow the help.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: rack
    gpu: {model: GB200, perNode: 4}
    hosts: [node-1, node-2]
    nodes: {count: 2}
    network: {computeDomains: {}}
    stack: {extras: [gdrcopy, imex]}
"#,
        correction: Correction::Replace("gdrcopy, imex", "gdrcopy"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let first = KubernetesVersion::FIRST_WITH_DRA;
    for pool in &cluster.pools {
        let Some(written) = pool.settings.network.compute_domains else {
            continue;
        };
        let span = written.span;
        if matches!(pool.gpus.get(), Some(None)) {
            let message = format!(
                "NVLink does not connect the nodes of pool `{}`, which have no GPUs",
                pool.name
            );
            let builder = report.diagnostic(&RULE.code, span, message);
            builder.help("remove `computeDomains`").emit();
        }
        if let Some(Some(gpus)) = pool.gpus.get()
            && !gpus.model.has_multi_node_nvlink()
        {
            let message = format!(
                "NVLink does not connect the nodes of pool `{}`: {} has no multi-node NVLink",
                pool.name, gpus.model.key
            );
            let models: Vec<_> = MULTI_NODE_NVLINK_MODELS
                .iter()
                .map(|model| model.key)
                .collect();
            let help = format!(
                "remove `computeDomains`; GPU models that can have it: {}",
                phrases::quoted_list(&models, 12)
            );
            report
                .diagnostic(&RULE.code, span, message)
                .label(gpus.span, "the GPU model is set here")
                .help(help)
                .emit();
        }
        let mut extras = pool.extras.iter();
        if let Some(imex) = extras.find(|extra| extra.value == Extra::Imex) {
            let message = format!(
                "pool `{}` has `computeDomains` and the extra `imex`, which both allocate its IMEX channels",
                pool.name
            );
            report
                .diagnostic(&RULE.code, span, message)
                .label(imex.span, "the device plugin gives channels to containers")
                .help("remove one of them; ComputeDomains start the IMEX daemons of the nodes themselves")
                .emit();
        }
        if let Some(version) = cluster.kubernetes.get()
            && version.value < first
        {
            let message = format!(
                "Kubernetes {} does not support the claims of pods in ComputeDomains",
                version.value
            );
            report
                .diagnostic(&RULE.code, span, message)
                .label(
                    version.span,
                    format!("`resource.k8s.io/v1` is available since {first}"),
                )
                .help(format!(
                    "set version {first} or later, or remove `computeDomains`"
                ))
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(pool: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: rack, hosts: [a, b], nodes: {count: 2}, network: {computeDomains: {}}, <rest>}]
            ";
        check_in(file, "GPUC2246", pool, expected);
    }

    #[test]
    fn only_racks_have_domains() {
        check("gpu: {model: GB200, perNode: 4}", &[]);
        check("gpu: {model: GB300, perNode: 4}", &[]);
        check(
            "labels: {a: b}",
            &["NVLink does not connect the nodes of pool `rack`, which have no GPUs"],
        );
        check(
            "gpu: {model: h200-sxm5-141gb, perNode: 8}",
            &[
                "NVLink does not connect the nodes of pool `rack`: h200-sxm5-141gb has no multi-node NVLink",
            ],
        );
        check(
            "gpu: {model: GB200, perNode: 4}, stack: {extras: [imex]}",
            &[
                "pool `rack` has `computeDomains` and the extra `imex`, which both allocate its IMEX channels",
            ],
        );
    }
}
