//! A boot disk of a size that the cloud does not make, or from which no node starts.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A boot disk of a size that the cloud does not make, or from which no node starts.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2122",
        name: "disk-size-impossible",
        severity: Severity::Error,
        summary: "nodes cannot have a boot disk of this size",
        explain: "### What it checks

Whether `diskGiB` is between the smallest and the largest boot disk that a node can have: on EKS 20 with
Amazon Linux 2023 to 65536, or to 59000 where Karpenter makes the nodes; on GKE 10 to 65536; on AKS 30 to
2048.

### Why it matters

A disk that is smaller than the node's image is refused when the first node is made, which with an
autoscaler is when a pod waits for it; one that is larger than the cloud makes them is refused too.

### What to do

Leave `diskGiB` out for 100 GiB. Images with CUDA are large: leave room for those that run side by side.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, diskGiB: 10}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, diskGiB: 20}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(range) = cluster.cloud.boot_disk(cluster, pool) else {
            continue;
        };
        let disk = pool.written.disk_gib;
        let (nearest, why) = if disk.value < range.least {
            (range.least, range.smaller)
        } else if disk.value > range.most {
            (range.most, range.larger)
        } else {
            continue;
        };
        let message = format!(
            "nodes of pool `{}` cannot have a boot disk of {disk} GiB",
            pool.name
        );
        report
            .draft(&RULE.code, disk.span, message)
            .here(why)
            .help(format!(
                "write {} to {}, or leave it out for 100",
                range.least, range.most
            ))
            .replace(disk.span, nearest.to_string())
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::messages;

    const CLOUDS: [(&str, &str); 3] = [
        (
            r#"aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}"#,
            "m7i.large",
        ),
        (
            "gcp: {project: acme-ml, location: us-central1-a, cluster: {create: {}}}",
            "e2-standard-4",
        ),
        (
            "azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: demo, location: eastus, \
             cluster: {create: {}}}",
            "Standard_D4s_v5",
        ),
    ];

    fn refused(cloud: usize, more: &str, size: u32) -> bool {
        let (cloud, machine) = CLOUDS[cloud];
        let yaml = format!(
            "cloud: {{{cloud}}}\n{more}\nnodePools:\n  \
             - {{name: a, machine: {machine}, nodes: {{min: 0, max: 2}}, diskGiB: {size}}}\n"
        );
        !messages(&yaml, "GPUC2122").is_empty()
    }

    #[test]
    fn each_cloud_has_its_smallest_and_largest() {
        for (cloud, more, least, most) in [
            (0, "autoscaler: clusterAutoscaler", 20, 65_536),
            (0, "autoscaler: karpenter", 20, 59_000),
            (1, "", 10, 65_536),
            (2, "", 30, 2_048),
        ] {
            assert!(refused(cloud, more, 0));
            assert!(refused(cloud, more, least - 1));
            assert!(!refused(cloud, more, least));
            assert!(!refused(cloud, more, most));
            assert!(refused(cloud, more, most + 1));
            assert!(refused(cloud, more, u32::MAX));
        }
    }
}
