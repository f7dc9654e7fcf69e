//! The size of the boot disk is not supported.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2122",
        name: "disk-size-unsupported",
        severity: Severity::Error,
        summary: "the size of the boot disk is not supported",
        checks: "Whether `diskGiB` is between the smallest and the largest boot disk of a node. On EKS that is 20
with Amazon Linux 2023 to 65536, or to 59000 if Karpenter creates the nodes; on GKE 10 to 65536; on
AKS 30 to 2048.",
        reason: "The cloud rejects a disk that is smaller than the node's image when it creates the first node. With
an autoscaler, that is when a pod waits for the node. The cloud also rejects a disk that exceeds its
maximum.",
        remedy: "Remove `diskGiB` for 100 GiB. Images with CUDA are large: plan space for all images that run on a
node.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, diskGiB: 10}
"#,
        correction: Correction::Replace("diskGiB: 10", "diskGiB: 20"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(range) = cluster.cloud.boot_disk(cluster, pool) else {
            continue;
        };
        let disk = pool.settings.disk_gib;
        let (nearest, reason) = if disk.value < range.min_gib {
            (range.min_gib, range.min_reason)
        } else if disk.value > range.max_gib {
            (range.max_gib, range.max_reason)
        } else {
            continue;
        };
        let message = format!(
            "a boot disk of {disk} GiB is not supported for nodes of pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, disk.span, message)
            .primary_label(reason)
            .help(format!(
                "write {} to {}, or remove `diskGiB` for 100",
                range.min_gib, range.max_gib
            ))
            .replace(disk.span, nearest.to_string())
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::messages_with_id;

    const CLOUDS: [(&str, &str); 3] = [
        (
            r#"aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}"#,
            "m7i.large",
        ),
        (
            "gcp: {project: acme-ml, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {create: {}}}",
            "e2-standard-4",
        ),
        (
            "azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: demo, location: eastus, \
             cluster: {create: {}}}",
            "Standard_D4s_v5",
        ),
    ];

    fn is_rejected(cloud: usize, more: &str, size: u32) -> bool {
        let (cloud, machine) = CLOUDS[cloud];
        let yaml = format!(
            "cloud: {{{cloud}}}\n{more}\nnodePools:\n  \
             - {{name: a, machine: {machine}, nodes: {{min: 0, max: 2}}, diskGiB: {size}}}\n"
        );
        !messages_with_id(&yaml, "GPUC2122").is_empty()
    }

    #[test]
    fn each_cloud_has_its_min_and_max() {
        for (cloud, more, min, max) in [
            (0, "autoscaler: clusterAutoscaler", 20, 65_536),
            (0, "autoscaler: karpenter", 20, 59_000),
            (1, "", 10, 65_536),
            (2, "", 30, 2_048),
        ] {
            assert!(is_rejected(cloud, more, 0));
            assert!(is_rejected(cloud, more, min - 1));
            assert!(!is_rejected(cloud, more, min));
            assert!(!is_rejected(cloud, more, max));
            assert!(is_rejected(cloud, more, max + 1));
            assert!(is_rejected(cloud, more, u32::MAX));
        }
    }
}
