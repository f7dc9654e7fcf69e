//! Settings of a blue-green upgrade that exclude each other.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2624",
        name: "gke-blue-green-conflict",
        severity: Severity::Error,
        summary: "settings of a blue-green upgrade exclude each other",
        checks: r"Whether `upgrade` sets only one of `blueGreen` and `maxSurge` or `maxUnavailable`, and `blueGreen` only one of
`batchNodes` and `batchPercent`.",
        reason: r"A pool has one upgrade strategy: the surge settings have no effect on a blue-green upgrade. gcloud rejects a
batch with two sizes.",
        remedy: r"Keep one of the settings.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    upgrade: {maxSurge: 1, blueGreen: {}}
"#,
        correction: Correction::Replace("maxSurge: 1, ", ""),
    },
    run,
};

/// Source: gcloud container node-pools create and update (`googlecloudsdk/api_lib/container/api_adapter.py`,
/// `UpdateUpgradeSettings` and `UpdateBlueGreenSettings`), Google Cloud SDK 528.0.0.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(upgrade) = &pool.settings.upgrade else {
            continue;
        };
        let Some(settings) = &upgrade.blue_green else {
            continue;
        };
        let surge = upgrade.max_surge.map(|count| ("maxSurge", count.span));
        let unavailable = upgrade
            .max_unavailable
            .map(|count| ("maxUnavailable", count.span));
        for (key, span) in surge.into_iter().chain(unavailable) {
            let message = format!("`{key}` cannot be combined with `blueGreen`");
            report
                .diagnostic(&RULE.code, span, message)
                .label(settings.span, "the pool uses blue-green upgrades")
                .help(format!("remove `{key}`"))
                .emit();
        }
        if let (Some(nodes), Some(percent)) = (settings.batch_nodes, settings.batch_percent) {
            let message = "`batchPercent` cannot be combined with `batchNodes`";
            report
                .diagnostic(&RULE.code, percent.span, message)
                .label(nodes.span, "the batch already has a size")
                .help("remove `batchPercent` or `batchNodes`")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuc_model::check::check;
    use serde_json::{Value, json};

    use crate::gcp::testing::cluster;
    use crate::testing::resolved;

    fn names(upgrade: &Value) -> Vec<&'static str> {
        let pool = json!({
            "name": "gpu", "machine": "g2-standard-8", "nodes": {"count": 1}, "upgrade": upgrade,
        });
        let mut config = cluster(&[pool]);
        config["cloud"]["gcp"]["nodeServiceAccount"] =
            json!("gke-nodes@acme-ml-prod.iam.gserviceaccount.com");
        let (cluster, mut report) = resolved(config);
        let _ = check(&cluster, &mut report);
        let findings = report.diagnostics().iter();
        findings.map(|finding| finding.code.name).collect()
    }

    #[test]
    fn strategy_and_batch_size_are_unique() {
        let name = super::RULE.code.name;
        assert!(names(&json!({"blueGreen": {}})).is_empty());
        assert!(names(&json!({"blueGreen": {"batchPercent": 50}})).is_empty());
        assert_eq!(
            names(&json!({"blueGreen": {}, "maxSurge": 1, "maxUnavailable": 0})),
            [name, name]
        );
        assert_eq!(
            names(&json!({"blueGreen": {"batchNodes": 1, "batchPercent": 50}})),
            [name]
        );
    }
}
