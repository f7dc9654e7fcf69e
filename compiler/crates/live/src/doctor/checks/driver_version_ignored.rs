//! The GPU Operator does not install the driver version of its `ClusterPolicy` on a node.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{Object, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7213",
        name: "driver-version-ignored",
        severity: Severity::Warning,
        summary: "the GPU Operator does not install its driver version on a node that has a driver of its own",
        checks: "Whether nodes with the label `nvidia.com/gpu.deploy.driver: pre-installed` run the driver version of \
the ClusterPolicy, if the ClusterPolicy installs drivers.",
        reason: "The GPU Operator leaves a driver alone that the image of the node contains, as the images of AKS do. \
A new version in the ClusterPolicy has no effect on these nodes, and there is no error.",
        remedy: "Set `driver.enabled: false` and upgrade the driver with the image of the nodes, or create the nodes \
without a driver: on AKS with `--gpu-driver none`. In `gpu-cluster.yaml`, `stack.driver` of the pool says which.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: nvidia.com/v1
    kind: ClusterPolicy
    metadata: {name: cluster-policy}
    spec: {driver: {enabled: true, version: 595.91.07}}
    status: {state: ready}
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels:
        nvidia.com/gpu.present: "true"
        nvidia.com/gpu.deploy.driver: pre-installed
        nvidia.com/cuda.driver-version.full: 570.86.15
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
"#,
        correction: Correction::Replace("driver: {enabled: true", "driver: {enabled: false"),
    },
    layer: Layer::Driver,
    is_symptom: false,
    needs: &[Kind::Node, Kind::ClusterPolicy],
    needs_logs: Logs::None,
    run,
};

/// The label with which the driver's init container says that the node has a driver.
///
/// Source: NVIDIA/k8s-driver-manager `cmd/driver-manager/main.go` (`Labeling node … pre-installed`);
/// NVIDIA/gpu-operator issues 525 and 529, 2026-11-28.
const DEPLOY_LABEL: &str = "nvidia.com/gpu.deploy.driver";

/// The label of GPU Feature Discovery with the version of the driver.
///
/// Source: NVIDIA/k8s-device-plugin `internal/lm/nvml.go`, 2026-11-28.
const VERSION_LABEL: &str = "nvidia.com/cuda.driver-version.full";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let mut policies = ctx.state.objects(Kind::ClusterPolicy).iter();
    let installs = |policy: &&Object| policy.get("/spec/driver/enabled") == true;
    let Some(policy) = policies.find(installs) else {
        return;
    };
    let wanted = policy.text("/spec/driver/version");
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        let label = node.node.metadata.label(DEPLOY_LABEL);
        if label == Some("pre-installed") && !wanted.is_empty() {
            findings.extend(check_node(node, policy, wanted));
        }
    }
}

fn check_node(node: &NodeFacts<'_>, policy: &Object, wanted: &str) -> Option<Finding> {
    let actual = node.node.metadata.label(VERSION_LABEL);
    if actual == Some(wanted) {
        return None;
    }
    let message = match actual {
        Some(actual) => format!(
            "the node keeps the driver {actual} of its image, although the ClusterPolicy installs {wanted}"
        ),
        None => format!(
            "the node keeps the driver of its image, although the ClusterPolicy installs {wanted}"
        ),
    };
    let object = ObjectRef::of_kind("ClusterPolicy", &policy.metadata);
    let path = |key: &str| format!("metadata.labels[\"{key}\"]");
    Some(
        Finding::new(&CHECK.code, node.object(), message)
            .field(node.object(), &path(DEPLOY_LABEL), "pre-installed")
            .field(node.object(), &path(VERSION_LABEL), actual.unwrap_or("absent"))
            .field(object, "spec.driver.version", wanted)
            .input(node.pool.map(|pool| pool.driver.span))
            .help("set `driver.enabled: false` in the values of the GPU Operator, or create the nodes without a driver")
            .command(format!("kubectl get node {} --show-labels", node.name())),
    )
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
    fn the_same_version_is_no_fault() {
        let (found, text) = check("full: 570.86.15", "full: 595.91.07");
        assert!(found.is_empty(), "{text}");
        let (found, text) = check("driver: pre-installed", r#"driver: "true""#);
        assert!(found.is_empty(), "{text}");
        let (found, text) = check(", version: 595.91.07", "");
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn an_unknown_version_is_reported_without_it() {
        let (found, text) = check(
            "        nvidia.com/cuda.driver-version.full: 570.86.15\n",
            "",
        );
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("keeps the driver of its image"), "{text}");
    }
}
