//! Pools of machines whose GPUs NVLink connects across nodes.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::gpudirect::rdma::{Adapters, RACK_NODES};
use super::super::{gpudirect, location, section};

/// Source: docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom-a4x-max, 2026-04-06: its
/// requirements and the number of nodes of a pool; .../create-mig-with-a4x, read 2026-11-28 (reservations only);
/// docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra (no autoscaling of bare metal).
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2695",
        name: "gke-rack",
        severity: Severity::Error,
        summary: "a pool of machines in a rack cannot be created",
        checks: "Whether a pool of `a4x` machines has a reservation, at most 18 nodes, one zone and full GPUs, and a fixed
number of nodes if they are bare metal (`a4x-maxgpu-4g-metal`).",
        reason: "NVLink connects the GPUs of 18 nodes, and Compute Engine places a pool in one such rack. It provides
these machines only through reservations. GKE does not scale pools of bare-metal nodes. The driver manages
the memory of these GPUs in a mode without MIG.",
        remedy: "Set `capacity: {reservation: ...}` and one zone, and create a pool for each rack.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a4x-highgpu-4g
    nodes: {count: 36}
    capacity: {reservation: {id: gb200/reservationBlocks/block-1, count: 36}}
    network: {gpudirect: {managed: {}}, computeDomains: {}}
"#,
        correction: Correction::Replace("nodes: {count: 36}", "nodes: {count: 18}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(adapters) = gpudirect::pool_adapters(pool).filter(|it| it.is_rack) else {
            continue;
        };
        check_nodes(pool, adapters, report);
        check_capacity(pool, report);
        check_zone(cluster, pool, report);
        check_sharing(pool, report);
    }
}

fn check_nodes(pool: &Pool, adapters: &Adapters, report: &mut Report) {
    let Some(nodes) = pool.nodes.get() else {
        return;
    };
    if nodes.max > RACK_NODES {
        let message = format!(
            "pool `{}` has up to {} nodes, but a rack has {RACK_NODES}",
            pool.name, nodes.max
        );
        report
            .diagnostic(&RULE.code, nodes.max_span, message)
            .help("create a pool for each rack")
            .emit();
    }
    if adapters.is_bare_metal && !nodes.is_fixed() {
        let message = format!(
            "GKE does not scale pool `{}`, whose nodes are bare metal",
            pool.name
        );
        report
            .diagnostic(&RULE.code, nodes.min_span, message)
            .help(format!("write `nodes: {{count: {}}}`", nodes.max))
            .emit();
    }
}

fn check_capacity(pool: &Pool, report: &mut Report) {
    if pool.is_reserved() {
        return;
    }
    let message = format!(
        "the machines of pool `{}` are available only through a reservation",
        pool.name
    );
    let capacity = pool.settings.capacity.span;
    let machine = pool.machine_name.as_ref();
    let machine = machine.map_or(pool.name.span, |machine| machine.span);
    let span = if capacity.is_written() {
        capacity
    } else {
        machine
    };
    report
        .diagnostic(&RULE.code, span, message)
        .help("set `capacity: {reservation: {id: RESERVATION/reservationBlocks/BLOCK}}`")
        .emit();
}

fn check_zone(cluster: &Cluster, pool: &Pool, report: &mut Report) {
    let zones = location::pool_zones(section(&cluster.config), pool);
    if zones.len() == 1 {
        return;
    }
    let message = format!("a rack is in one zone, unlike pool `{}`", pool.name);
    let span = pool
        .settings
        .zones
        .get(1)
        .map_or(pool.name.span, |zone| zone.span);
    report
        .diagnostic(&RULE.code, span, message)
        .help("set exactly one zone in `zones`")
        .emit();
}

fn check_sharing(pool: &Pool, report: &mut Report) {
    let is_partitioned = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
    if !is_partitioned {
        return;
    }
    let message = format!("the GPUs of pool `{}` have no MIG devices", pool.name);
    report
        .diagnostic(&RULE.code, pool.sharing_span, message)
        .help("remove `sharing`")
        .emit();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::testing::{cluster, resolved};
    use super::RULE;
    use gpuc_model::check::check;

    #[track_caller]
    fn assert_messages(more: &Value, expected: &[&str]) {
        let mut pool = json!({
            "name": "rack", "machine": "a4x-highgpu-4g", "nodes": {"count": 18},
            "capacity": {"reservation": {"id": "gb200"}},
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            pool[key] = value.clone();
        }
        let (cluster, mut report) = resolved(cluster(&[pool]));
        check(&cluster, &mut report);
        let diagnostics = report.diagnostics().iter();
        let own = diagnostics.filter(|diagnostic| diagnostic.code.id == RULE.code.id);
        let messages: Vec<_> = own.map(|diagnostic| diagnostic.message.as_str()).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_pool_is_a_rack() {
        assert_messages(&json!({}), &[]);
        assert_messages(&json!({"nodes": {"min": 0, "max": 18}}), &[]);
        assert_messages(
            &json!({"nodes": {"count": 19}}),
            &["pool `rack` has up to 19 nodes, but a rack has 18"],
        );
        assert_messages(
            &json!({"capacity": {"spot": {}}}),
            &["the machines of pool `rack` are available only through a reservation"],
        );
        assert_messages(
            &json!({"zones": ["us-central1-a", "us-central1-b"], "nodes": {"count": 2}}),
            &["a rack is in one zone, unlike pool `rack`"],
        );
        let sharing = json!({"mig": {"strategy": "single", "perGpu": [{"layout": [{"profile": "1g.23gb", "count": 7}]}]}});
        assert_messages(
            &json!({"sharing": sharing}),
            &["the GPUs of pool `rack` have no MIG devices"],
        );
    }

    #[test]
    fn bare_metal_is_not_scaled() {
        let metal = |nodes: Value| json!({"machine": "a4x-maxgpu-4g-metal", "nodes": nodes});
        assert_messages(&metal(json!({"count": 4})), &[]);
        assert_messages(
            &metal(json!({"min": 1, "max": 4})),
            &["GKE does not scale pool `rack`, whose nodes are bare metal"],
        );
    }
}
