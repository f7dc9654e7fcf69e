//! An existing pool has keys that have no effect.

use gpuc_schema::Span;
use gpuc_schema::config::Capacity;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2042",
        name: "existing-pool-key-unused",
        severity: Severity::Error,
        summary: "an existing pool has keys that have no effect",
        checks: "Whether a pool with `existing` has keys that only have an effect when gpuc creates the pool:
`labels`, `tags`, `zones`, `subnets`, `alternativeMachines`, `nodes.initial`, `diskGiB`, `maxPods`, `network`,
`upgrade`, and `capacity`
where it does not make the cloud taint the nodes.",
        reason: "gpuc generates no cloud commands for such a pool. The keys would be accepted and ignored.",
        remedy: "Remove them. Describe the actual nodes of the pool with `taints`, `sharing`, `os` and
`existing.selector`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}
    labels: {team: research}
"#,
        correction: Correction::Replace("    labels: {team: research}
", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(existing) = &pool.settings.existing else {
            continue;
        };
        for (key, span) in unused_keys(pool) {
            let message = format!("`{key}` has no effect in an existing pool");
            report
                .diagnostic(&RULE.code, span, message)
                .label(existing.span, "gpuc does not create this pool")
                .help(format!("remove `{key}`"))
                .emit();
        }
    }
}

/// The keys that are set and have no effect, each with a location inside it.
fn unused_keys(pool: &Pool) -> Vec<(&'static str, Span)> {
    let settings = &pool.settings;
    let disk = Some(settings.disk_gib.span).filter(|span| span.is_written());
    let initial = pool.nodes.get().and_then(|nodes| nodes.initial);
    let alternative = settings.alternative_machines.first();
    let network = &settings.network;
    let placement = network.placement.as_ref();
    let keys = [
        ("labels", pool.user_labels.keys().next().map(|key| key.span)),
        ("tags", settings.tags.keys().next().map(|key| key.span)),
        ("alternativeMachines", alternative.map(|name| name.span)),
        ("zones", settings.zones.first().map(|zone| zone.span)),
        (
            "subnets",
            settings.subnets.first().map(|subnet| subnet.span),
        ),
        ("nodes.initial", initial.map(|initial| initial.span)),
        ("capacity", unused_capacity(pool)),
        ("diskGiB", disk),
        ("maxPods", settings.max_pods.map(|pods| pods.span)),
        ("network", network.efa.as_ref().map(|efa| efa.span)),
        ("network", placement.map(|placement| placement.span)),
        ("upgrade", settings.upgrade.as_ref().map(|it| it.span)),
        ("localDisks", settings.local_disks.map(|it| it.span)),
        ("autoRepair", settings.auto_repair.map(|it| it.span)),
        ("nodeImage", settings.node_image.as_ref().map(|it| it.span)),
    ];
    keys.into_iter()
        .filter_map(|(key, span)| Some((key, span?)))
        .collect()
}

/// The location of a `capacity` without effect. The kind of capacity only matters if the cloud taints the nodes for it;
/// even then, the settings for requesting the nodes have no effect.
fn unused_capacity(pool: &Pool) -> Option<Span> {
    let capacity = &pool.settings.capacity;
    let is_tainted = pool.taints.iter().any(|taint| taint.span == capacity.span);
    match &capacity.value {
        Capacity::OnDemand => None,
        Capacity::Spot(spot) if is_tainted => {
            let eviction = spot.eviction.map(|eviction| eviction.span);
            eviction.or(spot.max_price.map(|price| price.span))
        }
        // A request for the nodes has the duration.
        Capacity::FlexStart(_) if is_tainted => None,
        _ => Some(capacity.span),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn spot_is_valid_where_the_cloud_taints_its_nodes() {
        let found = |cloud: &str, capacity: &str| {
            let pool = format!(
                "{{name: gpu, nodes: {{count: 1}}, {cloud}, existing: {{selector: {{a: b}}}}, capacity: {capacity}}}"
            );
            let section = if cloud.contains("Standard") {
                "{azure: {subscription: a, resourceGroup: a, location: a, cluster: {existing: {}}}}"
            } else {
                "{aws: {account: '123456789012', region: us-east-1, cluster: {existing: {}}}}"
            };
            messages_with_id(
                &format!("cloud: {section}\nnodePools: [{pool}]\n"),
                "GPUC2042",
            )
            .len()
        };
        let (aks, eks) = ("machine: Standard_NC4as_T4_v3", "machine: g6.xlarge");
        assert_eq!(found(aks, "{spot: {}}"), 0);
        assert_eq!(found(aks, "{spot: {maxPrice: 2}}"), 1);
        assert_eq!(found(eks, "{spot: {}}"), 1);
        assert_eq!(found(eks, "onDemand"), 0);
    }
}
