//! Nodes that are to be close together are in several zones.

use gpuc_schema::config::Placement;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Nodes that are to be close together are in several zones.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2212",
        name: "placement-several-zones",
        severity: Severity::Warning,
        summary: "nodes that are to be close together are in several zones",
        explain: "### What it checks

Whether a pool with `network.placement: compact` is in one zone. A pool of a regional cluster that names
no zone is in several.

### Why it matters

Nodes are placed close to each other within a zone. Between zones packets take as long as before, and
what runs on several nodes, as with GPUDirect, waits for the slowest.

### What to do

Name one zone in `zones`, and make a pool for each of several zones.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a2-highgpu-8g
    nodes: {count: 2}
    zones: [us-central1-a, us-central1-c]
    network: {placement: compact}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a2-highgpu-8g
    nodes: {count: 2}
    zones: [us-central1-a]
    network: {placement: compact}
"#,
    },
    run,
};

// Source: <https://docs.cloud.google.com/kubernetes-engine/docs/how-to/compact-placement>, read 2026-11-22.
/// The label of a node's zone; a pool that names none may be in any.
const ZONE: &str = "topology.kubernetes.io/zone";

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.cloud.facts().places_compactly {
        return;
    }
    for pool in &cluster.pools {
        let network = &pool.written.network;
        let placement = network.placement.as_ref();
        let compact = placement.filter(|it| matches!(it.value, Placement::Compact));
        let Some(compact) = compact.filter(|_| !pool.is_existing()) else {
            continue;
        };
        let labels = cluster.cloud.own_labels(cluster, pool);
        let zones = labels.iter().find(|label| label.key == ZONE);
        if zones.is_some_and(|zones| !zones.begins && zones.values.len() == 1) {
            continue;
        }
        let message = format!(
            "the nodes of pool `{}` are to be close together, and are in several zones",
            pool.name
        );
        let draft = report.draft(&RULE.code, compact.span, message);
        let draft = match pool.written.zones.get(1) {
            Some(second) => draft.label(second.span, "a second zone"),
            None => draft.label(pool.name.span, "it names no zone"),
        };
        let draft = match &network.gpudirect {
            Some(direct) => draft.label(
                direct.span,
                "between zones, GPUDirect waits for the slowest",
            ),
            None => draft,
        };
        draft.help("name one zone in `zones`").emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn close_together_is_in_one_zone() {
        let several = "the nodes of pool `gpu` are to be close together, and are in several zones";
        for (location, zones, network, expected) in [
            (
                "us-central1",
                "[us-central1-a]",
                "{placement: compact}",
                &[][..],
            ),
            (
                "us-central1",
                "[us-central1-a, us-central1-c]",
                "{placement: compact}",
                &[several],
            ),
            ("us-central1", "[]", "{placement: compact}", &[several]),
            ("us-central1-a", "[]", "{placement: compact}", &[]),
            ("us-central1", "[us-central1-a, us-central1-c]", "{}", &[]),
            (
                "us-central1",
                "[us-central1-a, us-central1-c]",
                "{placement: {group: near}}",
                &[],
            ),
        ] {
            let yaml = format!(
                "
                cloud: {{gcp: {{project: acme-ml-prod, location: {location}, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: gpu, machine: a2-highgpu-8g, nodes: {{count: 2}}, zones: {zones}, network: {network}}}
                "
            );
            assert_eq!(
                messages(&yaml, "GPUC2212"),
                expected,
                "{location} {zones} {network}"
            );
        }
    }
}
