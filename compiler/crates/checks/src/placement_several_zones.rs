//! A pool with compact placement spans several zones.

use gpuc_schema::config::Placement;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2212",
        name: "placement-several-zones",
        severity: Severity::Warning,
        summary: "a pool with compact placement spans several zones",
        checks: "Whether a pool with `network.placement: compact` is in one zone. In a regional cluster, a pool that
sets no `zones` spans several zones.",
        reason: "Compact placement applies within a zone. Between zones the network latency stays the same, and a job
on several nodes, such as one with GPUDirect, waits for the slowest connection.",
        remedy: "Set exactly one zone in `zones`, and use one pool for each zone.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a2-highgpu-8g
    nodes: {count: 2}
    zones: [us-central1-a, us-central1-c]
    network: {placement: compact}
"#,
        correction: Correction::Replace(", us-central1-c", ""),
    },
    run,
};

// Source: <https://docs.cloud.google.com/kubernetes-engine/docs/how-to/compact-placement>, read 2026-11-22.
/// The label of a node's zone. A pool without it may be in any zone.
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.cloud.facts().has_compact_placement {
        return;
    }
    for pool in &cluster.pools {
        let network = &pool.settings.network;
        let compact = network
            .placement
            .as_ref()
            .filter(|it| matches!(it.value, Placement::Compact));
        let Some(compact) = compact.filter(|_| !pool.is_existing()) else {
            continue;
        };
        let labels = cluster.cloud.own_labels(cluster, pool);
        let zones = labels.iter().find(|label| label.key == ZONE_LABEL);
        if zones.is_some_and(|zones| !zones.is_prefix && zones.values.len() == 1) {
            continue;
        }
        let message = format!(
            "pool `{}` has compact placement but spans several zones",
            pool.name
        );
        let builder = report.diagnostic(&RULE.code, compact.span, message);
        let builder = match pool.settings.zones.get(1) {
            Some(second) => builder.label(second.span, "this is a second zone"),
            None => builder.label(pool.name.span, "this pool sets no `zones`"),
        };
        let builder = match &network.gpudirect {
            Some(direct) => builder.label(
                direct.span,
                "GPUDirect waits for the slowest connection between zones",
            ),
            None => builder,
        };
        builder.help("set exactly one zone in `zones`").emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn compact_placement_needs_one_zone() {
        let several = "pool `gpu` has compact placement but spans several zones";
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
                messages_with_id(&yaml, "GPUC2212"),
                expected,
                "{location} {zones} {network}"
            );
        }
    }
}
