//! The exporter of GPU metrics does not run on a node.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::messages::{misfit_text, toleration_text};
use super::stack::{
    Signature, failure_command, failure_of, find_signature, has_name, is_active, logs_command,
    pod_ref,
};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::placement::{Misfit, daemon_misfits};
use crate::objects::{DaemonSet, ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7901",
        name: "exporter-not-running",
        severity: Severity::Warning,
        summary: "the exporter of GPU metrics does not run on a node",
        checks: "Whether the pods of NVIDIA's DCGM exporter run and are ready on nodes with GPUs, if the exporter is \
installed.",
        reason: "The node has no metrics. Alerts about its GPUs do not fire, and dashboards look as if the GPUs were \
idle.",
        remedy: "A pod that fails: its log names the cause, often a `runtimeClassName` that is not set. No pod: the \
Helm chart of the exporter tolerates no taint of nodes with GPUs, so add the toleration.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: dcgm-exporter-x, namespace: monitoring}
    spec: {nodeName: gpu-1, containers: [{name: exporter, image: "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2"}]}
    status:
      phase: Running
      conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: exporter
          restartCount: 12
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
"#,
        correction: Correction::Replace(
            r#"conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: exporter
          restartCount: 12
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
"#,
            r#"conditions: [{type: Ready, status: "True"}]
"#,
        ),
    },
    layer: Layer::Monitoring,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod, Kind::DaemonSet],
    needs_logs: Logs::Stack,
    run,
};

/// Lines in the log of the exporter.
///
/// Source: NVIDIA/dcgm-exporter issues 59 and 612; NVIDIA/gpu-operator issue 414, 2026-11-28.
const SIGNATURES: &[Signature] = &[
    Signature {
        parts: &["Cannot init NVML library", "ERROR_LIBRARY_NOT_FOUND"],
        message: "the exporter of GPU metrics has no access to the driver",
        help: "set `runtimeClassName: nvidia` in the DaemonSet of the exporter",
    },
    Signature {
        parts: &["connecting to nv-hostengine"],
        message: "the exporter of GPU metrics does not reach DCGM's host engine",
        help: "run the host engine on the node, or let the exporter start its own: remove the address of the host \
engine from its arguments",
    },
];

/// The name of the exporter.
const EXPORTER: &str = "dcgm-exporter";

/// The seconds in which the exporter starts on a new node.
const START_SECONDS: u64 = 600;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let daemon_sets = ctx.state.daemon_sets.items.iter();
    let exporters: Vec<&DaemonSet> = daemon_sets
        .filter(|it| {
            let mut containers = it.spec.template.spec.containers.iter();
            containers.any(|container| container.image.contains(EXPORTER))
        })
        .collect();
    let knows_pods = ctx.state.completeness(Kind::Pod).is_complete();
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        if ctx.is_new(node, START_SECONDS) {
            continue;
        }
        let pods = ctx.pods_on(node.name()).iter();
        let mut pods = pods
            .filter(|pod| is_active(pod) && is_exporter(pod))
            .peekable();
        if pods.peek().is_none() && knows_pods {
            findings.extend(check_absent(&exporters, node));
        }
        let failing = pods.filter(|pod| !pod.is_ready());
        findings.extend(failing.filter_map(|pod| check_pod(ctx, node, pod)));
    }
}

/// Whether a pod runs the exporter.
fn is_exporter(pod: &Pod) -> bool {
    let mut containers = pod.spec.containers.iter();
    has_name(pod, &[EXPORTER, "nvidia-dcgm-exporter"])
        || containers.any(|container| container.image.contains(EXPORTER))
}

/// A node whose taints keep the exporter away. A node selector that excludes it may be intended.
fn check_absent(exporters: &[&DaemonSet], node: &NodeFacts<'_>) -> Option<Finding> {
    let [exporter] = exporters else {
        return None;
    };
    let demand = PodDemand::from_spec(&exporter.spec.template.spec);
    let misfits = daemon_misfits(&demand, node.node);
    let taints: Vec<_> = misfits
        .iter()
        .map(|misfit| match misfit {
            Misfit::Taint(taint) => Some(taint),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let (first, taint) = (misfits.first()?, taints.first()?);
    let object = ObjectRef::of_kind("DaemonSet", &exporter.metadata);
    let message = format!(
        "the exporter of GPU metrics does not run on the node: the pods of `{}` {}",
        object.full_name(),
        misfit_text(first)
    );
    let desired = exporter.status.desired_number_scheduled.to_string();
    Some(
        Finding::new(&CHECK.code, node.object(), message)
            .field(object, "status.desiredNumberScheduled", desired)
            .help(format!(
                "add the toleration `{}` to its pods",
                toleration_text(taint)
            ))
            .command(format!(
                "kubectl get daemonset --namespace {} {} -o yaml",
                exporter.metadata.namespace, exporter.metadata.name
            )),
    )
}

/// A pod of the exporter that is not ready.
fn check_pod(ctx: &Context<'_>, node: &NodeFacts<'_>, pod: &Pod) -> Option<Finding> {
    if let Some((signature, evidence)) = find_signature(ctx, pod, SIGNATURES) {
        return Some(
            Finding::new(&CHECK.code, pod_ref(pod), signature.message)
                .evidence(evidence)
                .depends_on([node.object()])
                .help(signature.help)
                .command(logs_command(pod)),
        );
    }
    let failure = failure_of(pod)?;
    let message = format!(
        "the exporter of GPU metrics does not run: `{}`",
        failure.reason
    );
    let command = failure_command(pod, &failure);
    Some(
        Finding::new(&CHECK.code, pod_ref(pod), message)
            .field(pod_ref(pod), &failure.field, failure.value)
            .depends_on([node.object()])
            .help("read the log of the exporter before its last restart")
            .command(command),
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::{CHECK, SIGNATURES};

    fn check(from: &str, to: &str, more: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&format!("{}{more}", objects.replace(from, to)))
    }

    #[test]
    fn logs_name_the_cause() {
        for signature in SIGNATURES {
            let line = signature.parts.join("; err: ");
            let log =
                format!("--- # logs/monitoring/dcgm-exporter-x/exporter.previous.log\n{line}\n");
            let (codes, text) = check("", "", &log);
            assert_eq!(codes, [CHECK.code.id], "{text}");
            assert!(text.contains(signature.message), "{text}");
        }
    }

    const DAEMON_SET: &str = r"  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: dcgm-exporter, namespace: monitoring}
    spec: {template: {spec: {containers: [{name: exporter, image: dcgm-exporter}]}}}
  - {apiVersion: v1, kind: Pod, metadata: {name: etcd-0, namespace: kube-system}}
";

    fn tainted(daemon_set: &str, pod: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects
            .replace(
                "    status:\n      capacity",
                "    spec: {taints: [{key: team, effect: NoSchedule}]}\n    status:\n      capacity",
            )
            .replace("dcgm-exporter", pod)
            .replace("CrashLoopBackOff", "ContainerCreating");
        codes(&format!("{objects}{daemon_set}"))
    }

    #[test]
    fn taints_keep_the_exporter_away() {
        let (codes, text) = tainted(DAEMON_SET, "other");
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert!(
            text.contains("{key: team, operator: Exists, effect: NoSchedule}"),
            "{text}"
        );
    }

    #[test]
    fn an_exporter_that_runs_or_is_excluded_is_not_missing() {
        let (codes, text) = tainted(DAEMON_SET, "dcgm-exporter");
        assert!(codes.is_empty(), "{text}");
        let selected = DAEMON_SET.replace("{containers", "{nodeSelector: {zone: b}, containers");
        let (codes, text) = tainted(&selected, "other");
        assert!(codes.is_empty(), "{text}");
        let (codes, text) = tainted("", "other");
        assert!(codes.is_empty(), "{text}");
    }
}
