//! Many edits at once: each change is still attributed to the edit that causes it.

use std::fmt::Write;

use gpuc_diff::diff::{Change, Diff};

use super::diff_of_texts;

/// A cluster with this number of pools, each with a taint and this maximum number of nodes, and with additional
/// settings.
fn cluster(pools: usize, version: &str, max_nodes: usize, value: &str, more: &str) -> String {
    let mut text = format!(
        "apiVersion: gpuc.dev/v1alpha1\n\
         kind: GpuCluster\n\
         metadata: {{name: many}}\n\
         kubernetes: {{version: \"{version}\"}}\n\
         cloud: {{aws: {{account: \"123456789012\", region: us-east-1, cluster: {{create: {{}}}}}}}}\n\
         autoscaler: clusterAutoscaler\n\
         stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
         nodePools:\n  - {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}\n"
    );
    for pool in 0..pools {
        writeln!(
            text,
            "  - {{name: pool{pool}, machine: g6.4xlarge, nodes: {{min: 0, max: {max_nodes}}}, \
             taints: [{{key: mine, value: {value}, effect: NoSchedule}}]}}"
        )
        .unwrap();
    }
    text + more
}

fn cause_texts(change: &Change) -> Vec<&str> {
    change
        .causes
        .iter()
        .map(|cause| cause.path.as_str())
        .collect()
}

/// The changes of a pool that contain a field.
fn changes_of_field<'d>(diff: &'d Diff, pool: &str, field: &str) -> Vec<&'d Change> {
    let changes = diff.changes.iter();
    let of = |change: &&Change| {
        change.kind == "pool"
            && change.names.iter().any(|name| name == pool)
            && change.fields.iter().any(|it| it.path == field)
    };
    changes.filter(of).collect()
}

#[test]
fn each_of_many_edits_is_the_cause_of_its_change() {
    for pools in [10, 40] {
        let found = diff_of_texts(
            &cluster(pools, "1.34", 6, "a", ""),
            &cluster(pools, "1.35", 8, "b", ""),
        );
        for pool in 0..pools {
            let name = format!("pool{pool}");
            for (field, key) in [("nodes", "nodes.max"), ("scheduling taints", "taints")] {
                let path = format!("nodePools[{name}].{key}");
                let lines = changes_of_field(&found, &name, field);
                assert_eq!(lines.len(), 1, "{path}");
                assert_eq!(cause_texts(lines[0]), [path.as_str()]);
            }
        }
        let mut clusters = found.changes.iter().filter(|it| it.kind == "EKS cluster");
        assert_eq!(
            cause_texts(clusters.next().unwrap()),
            ["kubernetes.version"]
        );
    }
}

#[test]
fn dependent_edits_are_found_among_many() {
    let team = |name: &str| {
        format!(
            "  - {{name: theirs, machine: m7i.xlarge, nodes: {{count: 1}}, dedicatedTo: {name}}}\n\
             teams: [{{name: {name}, members: [{{group: them}}]}}]\n"
        )
    };
    let found = diff_of_texts(
        &cluster(20, "1.34", 6, "a", &team("vision")),
        &cluster(20, "1.34", 8, "a", &team("speech")),
    );
    for pool in 0..20 {
        let name = format!("pool{pool}");
        let path = format!("nodePools[{name}].nodes.max");
        let lines = changes_of_field(&found, &name, "nodes");
        assert_eq!(lines.len(), 1, "{path}");
        assert_eq!(cause_texts(lines[0]), [path.as_str()]);
    }
}
