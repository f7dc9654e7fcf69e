//! Nobody may enforce that a team is isolated.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Nobody may enforce that a team is isolated.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2167",
        name: "isolation-unseen",
        severity: Severity::Warning,
        summary: "nobody may enforce that a team is isolated",
        explain: "### What it checks

Whether gpuc makes the cluster where a team has `network: isolated`.

### Why it matters

Kubernetes takes a `NetworkPolicy` whether or not the network plugin enforces it. Where nothing does,
everybody still talks to everybody, and nothing says so. gpuc makes clusters whose network enforces
policies; of other clusters it cannot see it.

### What to do

Look for what the help names. Allow the finding where policies are enforced, else have the plugin do it
or write `network: open`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - {name: research, network: open}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.written.cloud.creates_cluster() {
        return;
    }
    // One cluster has one network.
    let Some(span) = cluster.isolation().next() else {
        return;
    };
    let message = "whether this cluster's network enforces policies is not known";
    let draft = report.draft(&RULE.code, span, message);
    let shown = cluster.cloud.facts().policies_shown_by;
    let help =
        format!("look for {shown}; allow this where they are enforced, else write `network: open`");
    draft.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn only_networks_of_others_are_asked_about() {
        let found = |cluster: &str, network: &str| {
            let yaml = format!(
                "
                cloud: {{gcp: {{project: acme-ml, location: us-central1-a, cluster: {cluster}}}}}
                nodePools: [{{name: system, machine: n2-standard-4, nodes: {{count: 1}}}}]
                teams: [{{name: a, network: {network}}}, {{name: b, network: {network}}}]
                "
            );
            messages(&yaml, "GPUC2167").len()
        };
        assert_eq!(found("{existing: {}}", "isolated"), 1);
        assert_eq!(found("{existing: {}}", "open"), 0);
        assert_eq!(found("{create: {}}", "isolated"), 0);
    }
}
