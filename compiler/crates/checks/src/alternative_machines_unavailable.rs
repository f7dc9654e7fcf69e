//! Several machine types where the nodes of a pool have one.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::Capacity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2251",
        name: "alternative-machines-unavailable",
        severity: Severity::Error,
        summary: "the nodes of a pool have one machine type",
        checks: "Whether a pool with `alternativeMachines` is on EKS, has a `machine`, and has no reserved capacity.",
        reason: "GKE and AKS create the nodes of a pool from one machine type, and your own hosts are what they are. A \
reservation and a capacity block contain machines of one type.",
        remedy: "Add a pool for each machine type, and let workloads name several pools. Or remove \
`alternativeMachines`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    alternativeMachines: [g2-standard-12]
    nodes: {min: 0, max: 4}
"#,
        correction: Correction::Replace("    alternativeMachines: [g2-standard-12]\n", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(first) = pool.settings.alternative_machines.first() else {
            continue;
        };
        let Some((message, help)) = obstacle(cluster, pool) else {
            continue;
        };
        report
            .diagnostic(&RULE.code, first.span, message)
            .help(help)
            .emit();
    }
}

/// Why a pool cannot have alternative machine types: message and help.
fn obstacle(cluster: &Cluster, pool: &Pool) -> Option<(String, &'static str)> {
    let facts = cluster.cloud.facts();
    let remove = "remove `alternativeMachines`";
    if !facts.creates_machines {
        return Some((
            "`alternativeMachines` is not supported for your own hosts".to_owned(),
            remove,
        ));
    }
    if !facts.has_alternative_machines {
        let message = format!(
            "{} creates the nodes of a pool from one machine type",
            facts.name
        );
        return Some((message, "add a pool for each machine type"));
    }
    if pool.machine_name.is_none() {
        let message = format!(
            "pool `{}` has `alternativeMachines` but no `machine`",
            pool.name
        );
        return Some((message, "write the first choice as `machine`"));
    }
    match pool.settings.capacity.value {
        Capacity::Reservation(_) | Capacity::CapacityBlock(_) => {
            let message = "reserved machines have one machine type".to_owned();
            Some((message, remove))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn alternatives_need_a_machine_without_reservation() {
        let found = |pool: &str| {
            let cloud =
                "{aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}}";
            let yaml = format!(
                "cloud: {cloud}\nnodePools: [{{name: gpu, zones: [us-east-1a], nodes: {{count: 1}}, {pool}}}]\n"
            );
            messages_with_id(&yaml, "GPUC2251")
        };
        let others = "alternativeMachines: [g6.2xlarge]";
        assert_eq!(found(&format!("machine: g6.xlarge, {others}")), [""; 0]);
        assert_eq!(
            found(&format!("gpu: {{model: L4, perNode: 1}}, {others}")),
            ["pool `gpu` has `alternativeMachines` but no `machine`"]
        );
        let reserved = "capacity: {reservation: {id: cr-0123456789abcdef0}}";
        assert_eq!(
            found(&format!("machine: g6.xlarge, {others}, {reserved}")),
            ["reserved machines have one machine type"]
        );
    }
}
