//! A PodDisruptionBudget blocks the drain of a cordoned node.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::demand::to_requirement;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{Object, ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7514",
        name: "drain-blocked",
        severity: Severity::Warning,
        summary: "a PodDisruptionBudget never allows the drain of a cordoned node with GPUs",
        checks: "Whether the PodDisruptionBudgets of the pods on cordoned nodes with GPUs allow that a pod is \
evicted at some time: at least one pod can be missing.",
        reason: "A drain waits until the budget allows an eviction. If the budget requires all of its pods, the \
drain never ends, and the upgrade or replacement of the node stops.",
        remedy: "Allow at least one missing pod with `maxUnavailable: 1`, run one more replica, or delete the pod \
yourself when its work can be interrupted.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    spec: {unschedulable: true}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: serve-0, namespace: ml, labels: {app: serve}}
    spec:
      nodeName: gpu-1
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "1"}}}
    status:
      phase: Running
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: policy/v1
    kind: PodDisruptionBudget
    metadata: {name: serve, namespace: ml}
    spec: {minAvailable: 1, selector: {matchLabels: {app: serve}}}
    status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}
"#,
        correction: Correction::Replace(
            "spec: {minAvailable: 1, selector: {matchLabels: {app: serve}}}
    status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}",
            "spec: {maxUnavailable: 1, selector: {matchLabels: {app: serve}}}
    status: {disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 0, expectedPods: 1}",
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod, Kind::PodDisruptionBudget],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let budgets = ctx.state.objects(Kind::PodDisruptionBudget).iter();
    let budgets: Vec<&Object> = budgets.filter(|it| never_allows(it)).collect();
    if budgets.is_empty() {
        return;
    }
    for node in ctx.gpu_nodes().filter(|it| it.node.spec.unschedulable) {
        let pods = ctx.pods_on(node.name()).iter();
        let blocked = pods.filter(|pod| is_evicted_by_drain(pod)).find_map(|pod| {
            let mut own = budgets.iter();
            Some((pod, own.find(|it| selects(it, pod))?))
        });
        let Some((pod, budget)) = blocked else {
            continue;
        };
        let object = ObjectRef::of_kind("PodDisruptionBudget", &budget.metadata);
        let name = object.full_name();
        let message = format!(
            "a drain of the node does not end: the PodDisruptionBudget `{name}` requires all of its pods"
        );
        let desired = budget.get("/status/desiredHealthy").to_string();
        let expected = budget.get("/status/expectedPods").to_string();
        findings.push(
            Finding::new(&CHECK.code, node.object(), message)
                .field(object.clone(), "status.desiredHealthy", desired)
                .field(object, "status.expectedPods", expected)
                .field(
                    ObjectRef::of_kind("Pod", &pod.metadata),
                    "spec.nodeName",
                    &pod.spec.node_name,
                )
                .help(format!(
                    "set `maxUnavailable: 1` in the PodDisruptionBudget `{name}`, or delete its pod on the node if its \
                     work can be interrupted"
                ))
                .command(format!("kubectl drain {} --ignore-daemonsets --dry-run=server", node.name())),
        );
    }
}

/// Whether a budget allows no disruption even if all of its pods are healthy.
///
/// Source: kubernetes `pkg/controller/disruption/disruption.go`, 2026-11-28.
fn never_allows(budget: &Object) -> bool {
    let number = |pointer: &str| budget.get(pointer).as_u64();
    let (Some(allowed), Some(desired), Some(expected)) = (
        number("/status/disruptionsAllowed"),
        number("/status/desiredHealthy"),
        number("/status/expectedPods"),
    ) else {
        return false;
    };
    allowed == 0 && expected > 0 && desired >= expected
}

/// Whether a drain evicts the pod, and the budget counts it.
fn is_evicted_by_drain(pod: &Pod) -> bool {
    let is_daemon = pod
        .metadata
        .controller()
        .is_some_and(|it| it.kind == "DaemonSet" || it.kind == "Node");
    let is_going = pod.metadata.deletion_timestamp.is_some() || pod.is_finished();
    pod.is_ready() && !is_daemon && !is_going
}

/// Whether a budget is for a pod. An empty selector matches all pods of the namespace.
fn selects(budget: &Object, pod: &Pod) -> bool {
    let selector = budget.get("/spec/selector");
    if budget.metadata.namespace != pod.metadata.namespace || !selector.is_object() {
        return false;
    }
    let label = |key: &str| pod.metadata.label(key);
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut labels = labels.map(|(key, value)| label(key) == value.as_str());
    let expressions = budget.items("/spec/selector/matchExpressions").iter();
    let mut expressions = expressions.map(to_requirement);
    labels.all(|matches| matches)
        && expressions.all(|it| it.is_some_and(|it| it.matches(label(&it.key))))
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    fn find(
        cordoned: bool,
        owner: &str,
        selector: &str,
        status: &str,
    ) -> (Vec<&'static str>, String) {
        let node = HEALTHY_NODE.replace(
            r#""status": {"#,
            &format!(r#""spec": {{"unschedulable": {cordoned}}}, "status": {{"#),
        );
        let pod = format!(
            r#"{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "a", "namespace": "ml",
                "labels": {{"app": "serve"}}, "ownerReferences": [{{"kind": "{owner}", "controller": true}}]}},
              "spec": {{"nodeName": "gpu-1"}},
              "status": {{"phase": "Running", "conditions": [{{"type": "Ready", "status": "True"}}]}}}}"#
        );
        let budget = format!(
            r#"{{"kind": "PodDisruptionBudget", "apiVersion": "policy/v1",
              "metadata": {{"name": "b", "namespace": "ml"}},
              "spec": {{"selector": {selector}}}, "status": {{{status}}}}}"#
        );
        codes(&list_objects(&[node, pod, budget]))
    }

    const NEVER: &str = r#""disruptionsAllowed": 0, "desiredHealthy": 2, "expectedPods": 2"#;
    const SERVE: &str = r#"{"matchLabels": {"app": "serve"}}"#;

    #[test]
    fn selectors_are_compared() {
        for (selector, expected) in [
            (SERVE, 1),
            ("{}", 1),
            ("null", 0),
            (r#"{"matchLabels": {"app": "x"}}"#, 0),
            (
                r#"{"matchExpressions": [{"key": "app", "operator": "In", "values": ["serve"]}]}"#,
                1,
            ),
            (
                r#"{"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["serve"]}]}"#,
                0,
            ),
            (r#"{"matchExpressions": [{"key": 3}]}"#, 0),
        ] {
            let (found, text) = find(true, "ReplicaSet", selector, NEVER);
            assert_eq!(found.len(), expected, "{selector}: {text}");
        }
    }

    #[test]
    fn nodes_that_can_be_drained_are_silent() {
        let now = r#""disruptionsAllowed": 0, "desiredHealthy": 1, "expectedPods": 2"#;
        let new = r#""disruptionsAllowed": 0"#;
        for (cordoned, owner, status) in [
            (false, "ReplicaSet", NEVER),
            (true, "DaemonSet", NEVER),
            (true, "ReplicaSet", now),
            (true, "ReplicaSet", new),
        ] {
            let (found, text) = find(cordoned, owner, SERVE, status);
            assert!(found.is_empty(), "{text}");
        }
    }
}
