//! GPUDirect on nodes that do not support it.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing};
use gpuc_schema::config::OsFamily;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::gpudirect;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2691",
        name: "gke-gpudirect-nodes",
        severity: Severity::Error,
        summary: "GPUDirect is not supported on these nodes",
        checks: r"Whether a pool with `network.gpudirect` uses Container-Optimized OS and full GPUs.",
        reason: r"Google's installers rely on Container-Optimized OS, and their settings are for all full GPUs of a node.
There is no documented support for other images, for replicas or for MIG devices.",
        remedy: r"Remove `os` and `sharing` from the pool, or remove `gpudirect`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-highgpu-8g
    nodes: {count: 2}
    os: {family: Ubuntu}
    network:
      gpudirect:
        interfaces:
          - {network: gpu-0, subnetwork: gpu-0}
          - {network: gpu-1, subnetwork: gpu-1}
          - {network: gpu-2, subnetwork: gpu-2}
          - {network: gpu-3, subnetwork: gpu-3}
"#,
        correction: Correction::Replace(
            "os: {family: Ubuntu}
    ",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, written, _) in gpudirect::gpudirect_pools(cluster) {
        let is_other_os = pool.os.value != OsFamily::ContainerOptimized;
        let sharing = pool.sharing.get();
        let is_shared = sharing.is_some_and(|sharing| !matches!(sharing, Sharing::Exclusive));
        let requirements = [
            (
                is_other_os,
                pool.os.span,
                "requires Container-Optimized OS",
                "remove `os`",
            ),
            (
                is_shared,
                pool.sharing_span,
                "requires full GPUs",
                "remove `sharing`",
            ),
        ];
        for (_, span, requirement, help) in requirements
            .into_iter()
            .filter(|(is_violated, ..)| *is_violated)
        {
            let message = format!(
                "GPUDirect {requirement}, which pool `{}` does not have",
                pool.name
            );
            let builder = report
                .diagnostic(&RULE.code, span, message)
                .label(written.span, "GPUDirect is enabled here");
            builder.help(format!("{help}, or `gpudirect`")).emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::testing::{cluster, resolved};
    use super::RULE;
    use gpuc_model::check::check;

    #[test]
    fn shared_gpus_are_refused() {
        let interface = |index| json!({"network": format!("gpu-{index}"), "subnetwork": format!("gpu-{index}")});
        let interfaces: Vec<_> = (0..4).map(interface).collect();
        let pool = json!({
            "name": "gpu", "machine": "a3-highgpu-8g", "nodes": {"count": 2},
            "sharing": {"timeSlicing": {"replicas": 2}},
            "network": {"gpudirect": {"interfaces": interfaces}},
        });
        let (cluster, mut report) = resolved(cluster(&[pool]));
        check(&cluster, &mut report);
        let diagnostics = report.diagnostics().iter();
        let own = diagnostics.filter(|diagnostic| diagnostic.code.id == RULE.code.id);
        let messages: Vec<_> = own.map(|diagnostic| diagnostic.message.as_str()).collect();
        assert_eq!(
            messages,
            ["GPUDirect requires full GPUs, which pool `gpu` does not have"]
        );
    }
}
