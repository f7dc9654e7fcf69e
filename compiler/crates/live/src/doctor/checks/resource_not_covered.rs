//! A ClusterQueue has no quota of a resource that a Workload requests.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::workloads::{Obstacle, blocked_workloads};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7614",
        name: "resource-not-covered",
        severity: Severity::Error,
        summary: "a ClusterQueue has no quota of a resource that a Workload requests",
        checks: "Whether the ClusterQueue of each waiting Workload of Kueue has a quota of every resource that the \
Workload requests.",
        reason: "The Workload waits indefinitely. Kueue compares the names exactly: a quota of `nvidia.com/gpu` is \
none of `nvidia.com/gpu.shared` or `nvidia.com/mig-1g.10gb`.",
        remedy: "Add the resource to `coveredResources` and to the flavors of the ClusterQueue, or request a \
resource that it covers. Resources without quota can be excluded with `resources.excludeResourcePrefixes` in the \
configuration of Kueue.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: kueue.x-k8s.io/v1beta1
    kind: Workload
    metadata: {name: job-train, namespace: ml}
    spec: {queueName: team}
    status:
      conditions:
        - type: QuotaReserved
          status: "False"
          reason: Pending
          message: >-
            couldn't assign flavors to pod set main:
            resource nvidia.com/gpu unavailable in ClusterQueue
"#,
        correction: Correction::Replace(
            "resource nvidia.com/gpu unavailable in ClusterQueue",
            "insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed",
        ),
    },
    layer: Layer::Quota,
    is_symptom: true,
    needs: &[Kind::Workload],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for blocked in blocked_workloads(ctx) {
        let Obstacle::NotCovered { resource } = &blocked.obstacle else {
            continue;
        };
        let message = format!("the ClusterQueue of the Workload has no quota of `{resource}`");
        let mut finding = blocked.report(&CHECK, ctx, message).help(format!(
            "add `{resource}` to `coveredResources` of the ClusterQueue, with a `nominalQuota` in each flavor"
        ));
        if let Some(queue) = blocked.cluster_queue(ctx)
            && let Some(object) = ctx.state.object(Kind::ClusterQueue, "", &queue.name)
        {
            let groups = object.items("/spec/resourceGroups").iter();
            let covered = groups.filter_map(|it| it["coveredResources"].as_array());
            let covered = covered.flatten().filter_map(serde_json::Value::as_str);
            let covered: Vec<&str> = covered.collect();
            finding = finding.field(
                queue,
                "spec.resourceGroups[*].coveredResources",
                covered.join(", "),
            );
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    #[test]
    fn covered_resources_are_shown() {
        let queue = r#"{"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {"name": "team"},
          "spec": {"resourceGroups": [{"coveredResources": ["cpu", 7, "memory"]}, {}]}}"#;
        let local = r#"{"kind": "LocalQueue", "apiVersion": "kueue.x-k8s.io/v1beta2",
          "metadata": {"name": "local", "namespace": "ml"}, "spec": {"clusterQueue": "team"}}"#;
        let workload = r#"{"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2",
          "metadata": {"name": "w", "namespace": "ml"}, "spec": {"queueName": "local"},
          "status": {"conditions": [{"type": "QuotaReserved", "status": "False",
            "message": "couldn't assign flavors to pod set a: resource pods unavailable in ClusterQueue"}]}}"#;
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, queue, local, workload]));
        assert_eq!(found, ["GPUC7614"], "{text}");
        assert!(text.contains("coveredResources = cpu, memory"), "{text}");
    }
}
