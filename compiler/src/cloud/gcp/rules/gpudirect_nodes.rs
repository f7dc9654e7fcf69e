//! Nodes on which GPUDirect is not set up.

use gpuc_schema::config::OsFamily;

use super::super::gpudirect;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Sharing};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2691",
        name: "gke-gpudirect-nodes",
        severity: Severity::Error,
        summary: "GPUDirect on nodes that cannot have it",
        explain: r"### What it checks

Whether a pool with `network.gpudirect` has nodes with Container-Optimized OS and whole GPUs.

### Why it matters

Google's installer loads a driver that Container-Optimized OS has, and its settings name eight whole
GPUs: nothing says that they work with another image, or with shares and slices.

### What to do

Remove `os` and `sharing` from the pool, or `gpudirect`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-highgpu-8g
    nodes: {count: 2}
    network:
      gpudirect:
        interfaces:
          - {network: gpu-0, subnetwork: gpu-0}
          - {network: gpu-1, subnetwork: gpu-1}
          - {network: gpu-2, subnetwork: gpu-2}
          - {network: gpu-3, subnetwork: gpu-3}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, written, _) in gpudirect::pools(cluster) {
        let other_image = pool.os.value != OsFamily::ContainerOptimized;
        let shared = pool.sharing.get();
        let shared = shared.is_some_and(|sharing| !matches!(sharing, Sharing::Exclusive));
        let found = [
            (
                other_image,
                pool.os.span,
                "needs Container-Optimized OS",
                "remove `os`",
            ),
            (
                shared,
                pool.written.sharing.span,
                "needs whole GPUs",
                "remove `sharing`",
            ),
        ];
        for (_, place, what, help) in found.into_iter().filter(|it| it.0) {
            let message = format!("GPUDirect {what}, which pool `{}` has not", pool.name);
            let draft = report.draft(&RULE.code, place, message);
            let draft = draft.label(written.span, "GPUDirect is asked for");
            draft.help(format!("{help}, or `gpudirect`")).emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::testing::{cluster, resolved};
    use super::RULE;
    use crate::check::check;

    #[test]
    fn shares_have_no_interfaces() {
        let interface =
            |it| json!({"network": format!("gpu-{it}"), "subnetwork": format!("gpu-{it}")});
        let interfaces: Vec<_> = (0..4).map(interface).collect();
        let pool = json!({
            "name": "gpu", "machine": "a3-highgpu-8g", "nodes": {"count": 2},
            "sharing": {"timeSlicing": {"replicas": 2}},
            "network": {"gpudirect": {"interfaces": interfaces}},
        });
        let (cluster, mut report) = resolved(cluster(&[pool]));
        check(&cluster, &mut report);
        let found = report.diagnostics().iter();
        let found = found.filter(|it| it.code.id == RULE.code.id);
        let found: Vec<_> = found.map(|it| it.message.as_str()).collect();
        assert_eq!(
            found,
            ["GPUDirect needs whole GPUs, which pool `gpu` has not"]
        );
    }
}
