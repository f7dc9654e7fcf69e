//! A pod without GPUs selects nodes that no pool has.

use crate::corrections::select_by_pool;
use gpuc_model::scheduling::{Demand, Feasibility, MisfitCause, Reason};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::foreign_cloud_label::other_cloud_of_label;
use crate::scheduling::{evaluate_pools, obstacles, selects_pool_nodes};
use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4066",
        name: "manifest-selector-outside-pools",
        severity: Severity::Warning,
        summary: "a pod without GPUs selects nodes that no pool has",
        checks: "Whether some pool has nodes with the labels that a pod without GPUs selects, and only taints that the pod
tolerates, in a cluster that gpuc creates. DaemonSets are not checked: they may be meant for future
nodes.",
        reason: "The pod stays Pending indefinitely: `node(s) didn't match Pod's node affinity/selector`.",
        remedy: "Use a label that nodes have, or tolerate the taint of the intended nodes. If the cluster has nodes that are
not in the file, write `allow: [manifest-selector-outside-pools]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: prepare, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {node.kubernetes.io/instance-type: m7i.4xlarge}
      containers:
        - name: main
          image: registry.example.com/prepare:1.0.0
"#,
        correction: Correction::Replace("m7i.4xlarge", "m7i.xlarge"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let cluster = ctx.cluster;
    if !cluster.config.cloud.creates_cluster() {
        return;
    }
    for pod in ctx.pods.iter().filter(|pod| is_checked(pod)) {
        let Some((demand, evaluations)) = evaluate_pools(cluster, &ctx.claims, pod) else {
            continue;
        };
        // Nodes with other devices may be outside of the file.
        let is_other_device =
            |reason: &Reason| matches!(reason.cause, MisfitCause::ResourceUnknown { .. });
        if evaluations
            .iter()
            .flat_map(|it| &it.reasons)
            .any(is_other_device)
        {
            continue;
        }
        let required = required_keys(&demand);
        let is_other_cloud = || {
            required
                .iter()
                .any(|key| other_cloud_of_label(ctx, key).is_some())
        };
        if required.is_empty() || selects_pool_nodes(&demand) || is_other_cloud() {
            continue;
        }
        let mut reasons = Vec::new();
        for evaluation in &evaluations {
            let of_nodes: Vec<_> = obstacles(evaluation)
                .filter(|it| is_placement_reason(it))
                .collect();
            // A missing label is more specific than a taint.
            let label = of_nodes.iter().find(|it| !is_taint(it));
            reasons.extend(label.or(of_nodes.first()).map(|it| (evaluation.pool, *it)));
        }
        let is_nowhere = evaluations
            .iter()
            .all(|evaluation| evaluation.feasibility() == Feasibility::DoesNotFit);
        let first = reasons.iter().find(|(_, reason)| !is_taint(reason));
        let Some((_, first)) = first.filter(|_| is_nowhere && reasons.len() == evaluations.len())
        else {
            continue;
        };
        let message = format!("no pool has the nodes that {} selects", pod.title());
        let span = if first.request_span.is_written() {
            first.request_span
        } else {
            pod.placement().span()
        };
        let mut builder = report.diagnostic(&RULE.code, span, message);
        for (pool, reason) in &reasons {
            builder = builder.label(pool.name.span, format!("pool `{}` {reason}", pool.name));
        }
        let tainted = reasons.iter().find(|(_, reason)| is_taint(reason));
        let open = cluster.pools.iter().filter(|pool| pool.taints.is_empty());
        let open: Vec<_> = open.map(|pool| pool.name.as_str()).collect();
        let help = match (tainted, open.as_slice()) {
            (Some((pool, _)), _) => format!(
                "tolerate the taint of pool `{}`, or select other nodes",
                pool.name
            ),
            (None, []) => "write a label that the nodes have".to_owned(),
            (None, open) => select_by_pool(open, demand.selector.is_empty()),
        };
        builder.help(help).emit();
    }
}

fn is_checked(pod: &Pod<'_>) -> bool {
    !pod.requests_gpus() && !pod.is_partial && !pod.is_of_daemon_set()
}

/// The keys of the labels that a pod requires.
fn required_keys(demand: &Demand) -> Vec<&str> {
    let terms = demand.affinity.iter().flatten();
    let labels = terms.flat_map(|term| &term.labels);
    let labels = demand.selector.iter().chain(labels);
    labels.map(|label| label.key.as_str()).collect()
}

fn is_taint(reason: &Reason) -> bool {
    matches!(reason.cause, MisfitCause::Taint { .. })
}

fn is_placement_reason(reason: &Reason) -> bool {
    is_taint(reason)
        || matches!(
            reason.cause,
            MisfitCause::Label { .. } | MisfitCause::NoMatchingTerm { .. }
        )
}
