//! An initial number of nodes that the pool cannot start with.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, NodeRange, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2250",
        name: "initial-nodes-invalid",
        severity: Severity::Error,
        summary: "a pool cannot start with its initial number of nodes",
        checks: "Whether `nodes.initial` is from `min` to `max`, and whether the pool has a range of nodes.",
        reason: "The cloud creates the pool with `initial` nodes; afterwards the autoscaler keeps the number from `min`
to `max`. The clouds reject a number outside that range. A pool with a fixed number of nodes starts with that number.",
        remedy: "Write a number from `min` to `max`. With `count`, remove `initial`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {min: 1, max: 4, initial: 6}
"#,
        correction: Correction::Replace("initial: 6", "initial: 4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.cloud.facts().creates_machines {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        if let Some(nodes) = pool.nodes.get() {
            check(pool, nodes, report);
        }
    }
}

fn check(pool: &Pool, nodes: &NodeRange, report: &mut Report) {
    let Some(initial) = nodes.initial else {
        return;
    };
    let (min, max) = (nodes.min, nodes.max);
    if nodes.is_fixed() {
        let message = format!("pool `{}` has a fixed number of nodes", pool.name);
        report
            .diagnostic(&RULE.code, initial.span, message)
            .label(nodes.min_span, "the pool starts with this number of nodes")
            .help("remove `initial`")
            .emit();
        return;
    }
    let (bound, span, name) = match initial.value {
        value if value < min => (min, nodes.min_span, "minimum"),
        value if value > max => (max, nodes.max_span, "maximum"),
        _ => return,
    };
    let message = format!(
        "the initial number of nodes, {initial}, is {} the {name}, {bound}",
        if name == "minimum" { "below" } else { "above" }
    );
    report
        .diagnostic(&RULE.code, initial.span, message)
        .label(span, format!("the {name}"))
        .help(format!("write a number from {min} to {max}"))
        .replace(initial.span, bound.to_string())
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn initial_nodes_are_within_the_range() {
        let found = |nodes: &str| {
            let cloud = "{gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}";
            let pool = format!("{{name: gpu, machine: g2-standard-8, nodes: {nodes}}}");
            let yaml = format!("cloud: {cloud}\nnodePools: [{pool}]\n");
            messages_with_id(&yaml, "GPUC2250")
        };
        assert_eq!(
            found("{min: 2, max: 4, initial: 1}"),
            ["the initial number of nodes, 1, is below the minimum, 2"]
        );
        assert_eq!(
            found("{min: 2, max: 4, initial: 5}"),
            ["the initial number of nodes, 5, is above the maximum, 4"]
        );
        assert_eq!(
            found("{count: 2, initial: 2}"),
            ["pool `gpu` has a fixed number of nodes"]
        );
        for valid in [2, 3, 4] {
            let nodes = format!("{{min: 2, max: 4, initial: {valid}}}");
            assert_eq!(found(&nodes), [""; 0]);
        }
    }
}
