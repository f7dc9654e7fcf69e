//! A device plugin fails on nodes without GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{failure_of, is_active, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7308",
        name: "plugin-on-cpu-nodes",
        severity: Severity::Warning,
        summary: "a device plugin fails on a node without GPUs",
        checks: "Whether the pods of device plugins that fail run on nodes without GPUs. Which nodes these are follows \
from the pools in `gpu-cluster.yaml` and from the machine types.",
        reason: "A device plugin that finds no driver fails and restarts for as long as the node exists. Its alerts \
hide those about nodes with GPUs.",
        remedy: "Add a node selector or a node affinity to the DaemonSet that only the nodes with GPUs match.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: cpu-1, labels: {node.kubernetes.io/instance-type: m7i.large}}
    status:
      capacity: {cpu: "2"}
      allocatable: {cpu: "2"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: plugin-x, namespace: kube-system}
    spec:
      nodeName: cpu-1
      containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status:
      phase: Running
      conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: plugin
          restartCount: 40
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
"#,
        correction: Correction::Replace(
            r#"conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: plugin
          restartCount: 40
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
"#,
            r#"conditions: [{type: Ready, status: "True"}]
"#,
        ),
    },
    layer: Layer::Advertiser,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        for (pod, advertiser) in &node.advertisers {
            if !is_active(pod) || pod.is_ready() || !ctx.is_without_gpus(node) {
                continue;
            }
            let Some(failure) = failure_of(pod) else {
                continue;
            };
            let owner = pod.metadata.controller();
            let owner = owner.map_or(pod.metadata.name.as_str(), |it| it.name.as_str());
            let namespace = &pod.metadata.namespace;
            let message = format!(
                "the pod of {} fails on a node without GPUs: `{}`",
                advertiser.as_str(),
                failure.reason
            );
            findings.push(
                Finding::new(&CHECK.code, pod_ref(pod), message)
                    .field(pod_ref(pod), &failure.field, failure.value)
                    .field(pod_ref(pod), "spec.nodeName", node.name())
                    .help(format!(
                        "add a node selector to `{namespace}/{owner}` that only nodes with GPUs match"
                    ))
                    .command(format!(
                        "kubectl get daemonset --namespace {namespace} {owner} -o yaml"
                    )),
            );
        }
    }
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
    fn machines_that_may_have_gpus_keep_the_plugin_s_own_finding() {
        for machine in ["p5.48xlarge", "my-own-machine"] {
            let (codes, text) = check("m7i.large", machine);
            assert!(!codes.contains(&CHECK.code.id), "{text}");
            assert!(codes.contains(&"GPUC7303"), "{text}");
        }
        // GPUs can be attached to this machine type, and the label says that they are.
        let (codes, text) = check(
            "m7i.large",
            "n1-standard-8, cloud.google.com/gke-accelerator: nvidia-tesla-t4",
        );
        assert!(!codes.contains(&CHECK.code.id), "{text}");
    }

    #[test]
    fn plugins_that_start_or_end_are_not_reported() {
        for (from, to) in [
            ("reason: CrashLoopBackOff", "reason: ContainerCreating"),
            (
                "{name: plugin-x,",
                r#"{name: plugin-x, deletionTimestamp: "2026-11-28T12:00:00Z","#,
            ),
            ("phase: Running", "phase: Succeeded"),
        ] {
            let (codes, text) = check(from, to);
            assert!(codes.is_empty(), "{text}");
        }
    }
}
