//! A pending pod does not tolerate the taints of the nodes with GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::messages::{taint_text, toleration_text};
use crate::doctor::check::Check;
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::doctor::is_startup_taint;
use crate::doctor::placement::Misfit;
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7503",
        name: "pod-toleration-missing",
        severity: Severity::Error,
        summary: "a pending pod does not tolerate the taints of the nodes with GPUs",
        checks: "Whether each pending pod that requests GPUs tolerates the taints of the nodes that it fits on \
otherwise. gpuc computes this, because schedulers since Kubernetes 1.34 report `untolerated taint(s)` without the \
taint.",
        reason: "The pod stays pending although GPUs are free, and the scheduler's message does not name the taint.",
        remedy: "Add the toleration to the pod's template. If the value of the taint differs from the toleration's, \
use `operator: Exists`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    spec: {taints: [{key: team, value: research, effect: NoSchedule}]}
    status:
      capacity: {pods: "110", nvidia.com/gpu: "8"}
      allocatable: {pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "1"}}}
    status:
      phase: Pending
      conditions:
        - type: PodScheduled
          status: "False"
          reason: Unschedulable
          message: "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
"#,
        correction: Correction::Replace(
            "spec: {taints: [{key: team, value: research, effect: NoSchedule}]}",
            "spec: {taints: [{key: team, value: research, effect: PreferNoSchedule}]}",
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: false,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pending in ctx.pending_pods() {
        let obstacles = &pending.obstacles;
        let is_foreign = |misfit: &Misfit| match misfit {
            Misfit::Taint(taint) => {
                !taint.key.starts_with("node.kubernetes.io/") && !is_startup_taint(&taint.key)
            }
            _ => false,
        };
        let tainted: Vec<_> = (obstacles.nodes.iter())
            .filter(|(_, misfits)| !misfits.is_empty() && misfits.iter().all(is_foreign))
            .collect();
        let fits_elsewhere = obstacles.count_with_only(|it| matches!(it, Misfit::InUse { .. })) > 0;
        let Some((node, misfits)) = tainted.first() else {
            continue;
        };
        if fits_elsewhere || !obstacles.would_fit.is_empty() {
            continue;
        }
        let taints: Vec<_> = misfits
            .iter()
            .filter_map(|misfit| match misfit {
                Misfit::Taint(taint) => Some(taint),
                _ => None,
            })
            .collect();
        let names: Vec<_> = taints
            .iter()
            .map(|it| format!("`{}`", taint_text(it)))
            .collect();
        let tolerations: Vec<_> = taints.iter().map(|it| toleration_text(it)).collect();
        let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
        let word = if names.len() == 1 { "taint" } else { "taints" };
        let message = format!(
            "the pod fits on {} of {} nodes with GPUs, but does not tolerate their {word} {}",
            tainted.len(),
            obstacles.nodes.len(),
            names.join(" and "),
        );
        let span = ctx.state.node(&node.name).and_then(|_| {
            let mut nodes = ctx.nodes.iter();
            let pool = nodes.find(|it| it.name() == node.name)?.pool?;
            let mut own = pool.taints.iter();
            own.find(|it| taints.iter().any(|taint| taint.key == it.key))
                .map(|it| it.span)
        });
        let mut finding = Finding::new(&CHECK.code, object, message)
            .field(node.clone(), "spec.taints", names.join(", "))
            .input(span)
            .help(format!(
                "add to the pod's template: `tolerations: [{}]`",
                tolerations.join(", ")
            ))
            .command(format!(
                "gpuc doctor --pod {}/{}",
                pending.pod.metadata.namespace, pending.pod.metadata.name
            ));
        if let Some(evidence) = Evidence::pod_condition(pending.pod, "PodScheduled") {
            finding = finding.evidence(evidence);
        }
        findings.push(finding);
    }
}
