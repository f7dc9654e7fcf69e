//! Settings of a pool that flex-start machines do not support.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::Placement;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::source::Span;

use super::super::flex_start;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2662",
        name: "gke-flex-start-conflict",
        severity: Severity::Error,
        summary: "flex-start machines do not support a setting of the pool",
        checks: r"Whether a pool with `flexStart` has `min: 0` and no initial nodes, no `autoRepair`, and compact placement
only without `queued` on A3 Ultra or A4 machines.",
        reason: r"GKE creates flex-start machines when they are available, which can take days, and deletes them after their
run duration. So a pool cannot keep a number of nodes, and GKE does not repair them. Machines in several requests, and
most machine types, cannot be placed close to each other.",
        remedy: r"Write `nodes: {min: 0, max: …}`, and remove the other settings.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {min: 1, max: 4}
    capacity: {flexStart: {}}
"#,
        correction: Correction::Replace("min: 1", "min: 0"),
    },
    run,
};

/// The prefixes of the machine types that support compact placement with flex-start.
const COMPACT_MACHINES: [&str; 2] = ["a3-ultragpu-", "a4-"];

/// Source: GoogleCloudPlatform/cluster-toolkit modules/compute/gke-node-pool/main.tf (preconditions of
/// `enable_flex_start` and `enable_queued_provisioning`), 2026-11-28.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        if pool.flex_start().is_none() {
            continue;
        }
        for (span, message, help) in conflicts(pool) {
            report
                .diagnostic(&RULE.code, span, message)
                .label(pool.settings.capacity.span, "the machines are flex-start")
                .help(help)
                .emit();
        }
    }
}

/// The conflicts of a pool: location, message and help.
fn conflicts(pool: &Pool) -> Vec<(Span, String, &'static str)> {
    let mut conflicts = Vec::new();
    if let Some(nodes) = pool.nodes.get() {
        let initial = nodes.initial.filter(|initial| initial.value > 0);
        if nodes.min > 0 {
            let message = format!(
                "pool `{}` cannot keep a number of flex-start nodes",
                pool.name
            );
            conflicts.push((nodes.min_span, message, "write `nodes: {min: 0, max: …}`"));
        } else if let Some(initial) = initial {
            let message = format!("pool `{}` cannot start with flex-start nodes", pool.name);
            conflicts.push((initial.span, message, "remove `initial`"));
        }
    }
    if let Some(repair) = pool.settings.auto_repair {
        let message = "GKE does not repair flex-start nodes".to_owned();
        conflicts.push((repair.span, message, "remove `autoRepair`"));
    }
    let placement = pool.settings.network.placement.as_ref();
    let compact = placement.filter(|placement| matches!(placement.value, Placement::Compact));
    if let Some(compact) = compact {
        let machine = pool.machine_name.as_ref().map_or("", |name| name.as_str());
        let is_supported = COMPACT_MACHINES
            .iter()
            .any(|prefix| machine.starts_with(prefix));
        let message = if flex_start::is_queued(pool) {
            "compact placement is not supported with queued provisioning".to_owned()
        } else if is_supported {
            return conflicts;
        } else {
            "compact placement of flex-start nodes needs machine types `a3-ultragpu` or `a4`"
                .to_owned()
        };
        conflicts.push((compact.span, message, "remove `placement`"));
    }
    conflicts
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::testing::{cluster, messages_with_id};

    fn found(settings: &Value) -> Vec<String> {
        let mut pool = json!({
            "name": "gpu", "machine": "a2-highgpu-1g", "nodes": {"min": 0, "max": 4}, "zones": ["us-central1-a"],
            "capacity": {"flexStart": {}},
        });
        let keys = pool.as_object_mut().expect("a mapping");
        keys.extend(settings.as_object().expect("a mapping").clone());
        messages_with_id(cluster(&[pool]), "GPUC2662")
    }

    #[test]
    fn flex_start_pool_starts_empty_and_is_not_repaired() {
        assert_eq!(found(&json!({})), [""; 0]);
        assert_eq!(found(&json!({"nodes": {"count": 2}})).len(), 1);
        assert_eq!(
            found(&json!({"nodes": {"min": 0, "max": 4, "initial": 1}})),
            ["pool `gpu` cannot start with flex-start nodes"]
        );
        for repairs in [true, false] {
            assert_eq!(
                found(&json!({"autoRepair": repairs})),
                ["GKE does not repair flex-start nodes"]
            );
        }
    }

    #[test]
    fn compact_placement_depends_on_the_machine_and_the_queue() {
        let placed = |machine: &str, queued: bool| {
            found(&json!({
                "machine": machine, "network": {"placement": "compact"},
                "capacity": {"flexStart": {"queued": queued}},
            }))
        };
        assert_eq!(placed("a3-ultragpu-8g", false), [""; 0]);
        assert_eq!(placed("a2-highgpu-1g", false).len(), 1);
        let message = "compact placement is not supported with queued provisioning";
        assert_eq!(placed("a3-ultragpu-8g", true), [message]);
    }
}
