//! Networks of GPUDirect that GKE manages, where it cannot.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, KubernetesVersion, Pool};
use gpuc_schema::Spanned;
use gpuc_schema::config::Gpudirect;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{gpudirect, location, section};

/// Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra (the version, and that it
/// excludes the multi-network API in one cluster) and .../config-auto-net-for-accelerators (one zone; as summarized by
/// a third party from the release notes of 2026-04-20), read 2026-11-28.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2694",
        name: "gke-gpudirect-managed",
        severity: Severity::Error,
        summary: "GKE cannot manage the networks of a pool",
        checks: "Whether a pool with `gpudirect: {managed: {}}` is in one zone, the cluster has Kubernetes 1.34 or later, and no
pool of the cluster has `interfaces` or `create`.",
        reason: "GKE creates a network with a RoCE profile, which belongs to one zone. Its network driver allocates the
adapters through Dynamic Resource Allocation, which is stable since Kubernetes 1.34. The driver and the
multi-network API, which the other keys use, would both configure the same adapters of the cluster.",
        remedy: "Set one zone in `zones`, a newer Kubernetes version, or one way for all pools.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a3-ultragpu-8g
    zones: [us-central1-a, us-central1-b]
    nodes: {count: 2}
    network: {gpudirect: {managed: {}}}
"#,
        correction: Correction::Replace("[us-central1-a, us-central1-b]", "[us-central1-a]"),
    },
    run,
};

/// The first version with the driver, and with the stable API of Dynamic Resource Allocation.
const OLDEST: KubernetesVersion = KubernetesVersion(34);

fn run(cluster: &Cluster, report: &mut Report) {
    let pools: Vec<_> = gpudirect::gpudirect_pools(cluster).collect();
    let listed = pools
        .iter()
        .find(|(_, written, _)| !written.value.is_managed());
    for (pool, written, _) in &pools {
        if !written.value.is_managed() {
            continue;
        }
        check_version(cluster, pool, written, report);
        check_zone(cluster, pool, written, report);
        if let Some((other, interfaces, _)) = listed {
            let message = format!(
                "GKE manages the networks of pool `{}`, but not those of pool `{}`",
                pool.name, other.name
            );
            report
                .diagnostic(&RULE.code, written.span, message)
                .label(interfaces.span, "these use the multi-network API")
                .help("choose one way for all pools of the cluster")
                .emit();
        }
    }
}

fn check_version(
    cluster: &Cluster,
    pool: &Pool,
    written: &Spanned<Gpudirect>,
    report: &mut Report,
) {
    let Some(version) = cluster.kubernetes.get() else {
        return;
    };
    if version.value >= OLDEST {
        return;
    }
    let message = format!(
        "GKE manages the networks of pool `{}` from Kubernetes {OLDEST} on",
        pool.name
    );
    report
        .diagnostic(&RULE.code, written.span, message)
        .label(version.span, "the version is set here")
        .help(format!(
            "set version {OLDEST} or later, or list the networks in `interfaces`"
        ))
        .emit();
}

fn check_zone(cluster: &Cluster, pool: &Pool, written: &Spanned<Gpudirect>, report: &mut Report) {
    let zones = location::pool_zones(section(&cluster.config), pool);
    if zones.len() == 1 || pool.is_existing() {
        return;
    }
    let message = format!(
        "GKE manages the networks of pool `{}` in one zone only",
        pool.name
    );
    let builder = report.diagnostic(&RULE.code, written.span, message);
    let builder = match pool.settings.zones.get(1) {
        Some(second) => builder.label(second.span, "this is a second zone"),
        None => builder.label(pool.name.span, "this pool sets no `zones`"),
    };
    builder.help("set exactly one zone in `zones`").emit();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::testing::{cluster, resolved};
    use super::RULE;
    use gpuc_model::check::check;

    fn managed(more: &Value) -> Value {
        let mut pool = json!({
            "name": "gpu", "machine": "a4-highgpu-8g", "nodes": {"count": 2},
            "network": {"gpudirect": {"managed": {}}},
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            pool[key] = value.clone();
        }
        pool
    }

    #[track_caller]
    fn assert_messages(config: Value, expected: &[&str]) {
        let (cluster, mut report) = resolved(config);
        check(&cluster, &mut report);
        let diagnostics = report.diagnostics().iter();
        let own = diagnostics.filter(|diagnostic| diagnostic.code.id == RULE.code.id);
        let messages: Vec<_> = own.map(|diagnostic| diagnostic.message.as_str()).collect();
        assert_eq!(messages, expected);
    }

    #[test]
    fn one_zone_and_a_new_version_are_required() {
        assert_messages(cluster(&[managed(&json!({}))]), &[]);
        let mut regional = cluster(&[managed(&json!({}))]);
        regional["cloud"]["gcp"]["location"] = json!("us-central1");
        let message = "GKE manages the networks of pool `gpu` in one zone only";
        assert_messages(regional, &[message]);
        let mut old = cluster(&[managed(&json!({}))]);
        old["kubernetes"]["version"] = json!("1.33");
        let message = "GKE manages the networks of pool `gpu` from Kubernetes 1.34 on";
        assert_messages(old, &[message]);
    }

    #[test]
    fn the_multi_network_api_is_exclusive() {
        let interfaces: Vec<_> = (0..4)
            .map(|index| json!({"network": format!("gpu-{index}"), "subnetwork": format!("gpu-{index}")}))
            .collect();
        let listed = json!({
            "name": "high", "machine": "a3-highgpu-8g", "nodes": {"count": 2},
            "network": {"gpudirect": {"interfaces": interfaces}},
        });
        let message = "GKE manages the networks of pool `gpu`, but not those of pool `high`";
        assert_messages(cluster(&[managed(&json!({})), listed]), &[message]);
    }
}
