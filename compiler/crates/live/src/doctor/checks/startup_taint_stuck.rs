//! The startup taint of gpuc stays on a node.

use gpuc_schema::node_config::STARTUP_TAINT;
use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{advertiser_refs, logs_command};
use crate::doctor::advertiser::Advertiser;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Timestamp;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7307",
        name: "startup-taint-stuck",
        severity: Severity::Error,
        summary: "a node keeps the startup taint of gpuc",
        checks: "Whether gpuc-runtime removes the taint `startup-taint.cluster-autoscaler.kubernetes.io/gpuc` within \
10 minutes after a node becomes ready.",
        reason: "Nodes with MIG devices register with this taint, so that no pod uses a GPU before it is partitioned. \
Until gpuc-runtime removes it, no pod with GPUs runs on the node.",
        remedy: "Read the log of gpuc-runtime on the node: it removes the taint when the GPUs are as configured. Do \
not remove the taint by hand before that, because a pod on a GPU prevents the partitioning.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    spec: {taints: [{key: startup-taint.cluster-autoscaler.kubernetes.io/gpuc, effect: NoSchedule}]}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions:
        - type: Ready
          status: "True"
          lastTransitionTime: "2026-11-28T12:00:00Z"
          lastHeartbeatTime: "2026-11-28T12:30:00Z"
"#,
        correction: Correction::Replace(
            "{taints: [{key: startup-taint.cluster-autoscaler.kubernetes.io/gpuc, effect: NoSchedule}]}",
            "{}",
        ),
    },
    layer: Layer::Sharing,
    is_symptom: true,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which gpuc-runtime removes the taint of a node that is ready.
const START_SECONDS: u64 = 600;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        let mut taints = node.node.spec.taints.iter();
        let Some(taint) = taints.find(|taint| taint.key == STARTUP_TAINT) else {
            continue;
        };
        let since = taint.time_added.max(ready_since(node));
        let age = ctx.age(since).unwrap_or_default();
        if age <= START_SECONDS || node.node.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let mut finding = Finding::new(
            &CHECK.code,
            node.object(),
            format!("the node keeps the taint `{STARTUP_TAINT}`"),
        )
        .input(
            node.pool
                .and_then(|pool| Some(pool.startup_taint.as_ref()?.span)),
        );
        if let Some(since) = since {
            let path = "status.conditions[Ready].lastTransitionTime";
            finding = finding.field(node.object(), path, since.to_string());
        }
        if let Some(condition) = node.node.condition("GPUsHealthy") {
            let path = "status.conditions[GPUsHealthy].message";
            finding = finding.field(node.object(), path, &condition.message);
        }
        let mut pods = node.advertisers.iter();
        let runtime = pods.find(|(_, advertiser)| *advertiser == Advertiser::Runtime);
        finding = match runtime {
            Some((pod, _)) => finding
                .help("read the log of gpuc-runtime on the node: it names what keeps the GPUs from being partitioned")
                .command(logs_command(pod)),
            None => finding
                .help("run gpuc-runtime on the node: apply the tree of `gpuc build`")
                .command("kubectl get daemonsets --all-namespaces"),
        };
        findings.push(finding.depends_on(advertiser_refs(node)));
    }
}

/// The time since which a node is ready.
fn ready_since(node: &NodeFacts<'_>) -> Option<Timestamp> {
    let ready = node.node.condition("Ready")?;
    ready
        .last_transition_time
        .max(node.node.metadata.creation_timestamp)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn the_taint_of_a_new_node_is_expected() {
        let (codes, text) = check("T12:30:00Z", "T12:08:00Z");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn without_times_nothing_is_reported() {
        let (codes, text) = check("lastTransitionTime", "unknownTime");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn other_startup_taints_are_not_those_of_gpuc() {
        let (codes, text) = check("kubernetes.io/gpuc", "kubernetes.io/other");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn a_node_without_gpus_explains_its_startup_taint() {
        let (codes, text) = check(
            r#"{nvidia.com/gpu.present: "true"}}"#,
            "{node.kubernetes.io/instance-type: p5.48xlarge}}",
        );
        assert_eq!(codes, [CHECK.code.id], "{text}");
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects
            .replace(
                r#"{nvidia.com/gpu.present: "true"}}"#,
                "{node.kubernetes.io/instance-type: p5.48xlarge}}",
            )
            .replace(r#"{nvidia.com/gpu: "8"}"#, "{}");
        let (codes, text) = super::super::super::testing::codes(&objects);
        assert_eq!(codes, ["GPUC7301"], "{text}");
        assert!(
            text.contains("explains: the node keeps the taint"),
            "{text}"
        );
    }
}
