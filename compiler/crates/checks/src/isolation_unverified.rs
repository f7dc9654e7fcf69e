//! It is unknown whether the cluster's network enforces the isolation of a team.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2167",
        name: "isolation-unverified",
        severity: Severity::Warning,
        summary: "it is unknown whether the cluster's network enforces the isolation of a team",
        checks: "Whether gpuc creates the cluster if a team has `network: isolated`.",
        reason: "Kubernetes accepts a `NetworkPolicy` whether or not the network plugin enforces it. Without
enforcement, all pods can still reach each other, and no error is reported. gpuc creates clusters
whose network enforces policies; for other clusters it cannot tell.",
        remedy: "Check for the component that the help names. If the cluster enforces policies, allow this warning.
Otherwise enable enforcement in the network plugin, or write `network: open`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - {name: research, network: isolated}
"#,
        correction: Correction::Replace("isolated", "open"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.config.cloud.creates_cluster() {
        return;
    }
    // Reported once, because a cluster has one network.
    let Some(span) = cluster.isolation_spans().next() else {
        return;
    };
    let message = "it is unknown whether this cluster's network enforces network policies";
    let evidence = cluster.cloud.facts().policy_enforcement_check;
    let help = format!(
        "check for {evidence}; if it exists, allow this warning, else write `network: open`"
    );
    report
        .diagnostic(&RULE.code, span, message)
        .help(help)
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn only_existing_clusters_are_reported() {
        let found = |cluster: &str, network: &str| {
            let yaml = format!(
                "
                cloud: {{gcp: {{project: acme-ml, location: us-central1-a, cluster: {cluster}}}}}
                nodePools: [{{name: system, machine: n2-standard-4, nodes: {{count: 1}}}}]
                teams: [{{name: a, network: {network}}}, {{name: b, network: {network}}}]
                "
            );
            messages_with_id(&yaml, "GPUC2167").len()
        };
        assert_eq!(found("{existing: {}}", "isolated"), 1);
        assert_eq!(found("{existing: {}}", "open"), 0);
        assert_eq!(found("{create: {}}", "isolated"), 0);
    }
}
