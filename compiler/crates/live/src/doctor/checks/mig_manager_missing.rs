//! No MIG manager runs on a node whose label requests MIG devices.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::messages::{misfit_text, toleration_text};
use super::mig_configuration_failed::{CONFIG_LABEL, STATE_LABEL, mig_manager};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::placement::{Misfit, daemon_misfits};
use crate::objects::{DaemonSet, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7413",
        name: "mig-manager-missing",
        severity: Severity::Warning,
        summary: "no MIG manager runs on a node whose label requests MIG devices",
        checks: "Whether the MIG manager of the GPU Operator runs on the nodes whose label `nvidia.com/mig.config` \
requests MIG devices.",
        reason: "The label has no effect, no error says so, and the node offers whole GPUs.",
        remedy: "The GPU Operator labels nodes with `nvidia.com/gpu.deploy.mig-manager: \"true\"` if their GPUs are \
capable of MIG, which GPU Feature Discovery detects. Check the label `nvidia.com/mig.capable` of the node, and the \
tolerations of the DaemonSet.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels: {nvidia.com/gpu.present: "true", nvidia.com/mig.config: all-1g.10gb}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: nvidia-mig-manager, namespace: gpu-operator}
    spec:
      template:
        spec:
          nodeSelector: {nvidia.com/gpu.deploy.mig-manager: "true"}
          containers: [{name: nvidia-mig-manager, image: "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.14.0"}]
    status: {desiredNumberScheduled: 0, numberReady: 0}
  - {apiVersion: v1, kind: Pod, metadata: {name: etcd-0, namespace: kube-system}, spec: {nodeName: cpu-1}}
"#,
        correction: Correction::Replace(
            ", nvidia.com/mig.config: all-1g.10gb",
            ", nvidia.com/mig.config: all-disabled",
        ),
    },
    layer: Layer::Sharing,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod, Kind::DaemonSet],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    if !ctx.state.completeness(Kind::Pod).is_complete() {
        return;
    }
    let mut daemon_sets = ctx.state.daemon_sets.items.iter();
    let is_manager = |it: &&DaemonSet| it.metadata.name.starts_with("nvidia-mig-manager");
    // Without the operator, something else may use the label.
    let Some(daemon_set) = daemon_sets.find(is_manager) else {
        return;
    };
    let demand = PodDemand::from_spec(&daemon_set.spec.template.spec);
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        let config = node.node.metadata.label(CONFIG_LABEL);
        let Some(config) = config.filter(|it| !matches!(*it, "" | "all-disabled")) else {
            continue;
        };
        let has_state = node.node.metadata.label(STATE_LABEL).is_some();
        if has_state || mig_manager(ctx, node).is_some() || ctx.is_new(node, START_SECONDS) {
            continue;
        }
        let misfits = daemon_misfits(&demand, node.node);
        let Some(first) = misfits.first() else {
            continue;
        };
        let object = ObjectRef::of_kind("DaemonSet", &daemon_set.metadata);
        let message = format!(
            "the MIG manager does not run on the node: the pods of `{}` {}",
            object.full_name(),
            misfit_text(first)
        );
        let help = match first {
            Misfit::Taint(taint) => {
                format!("add the toleration `{}` to its pods", toleration_text(taint))
            }
            _ => "run GPU Feature Discovery on the node, so that the GPU Operator deploys the MIG manager there"
                .to_owned(),
        };
        let capable = node.node.metadata.label("nvidia.com/mig.capable");
        findings.push(
            Finding::new(&CHECK.code, node.object(), message)
                .field(
                    node.object(),
                    &format!("metadata.labels[\"{CONFIG_LABEL}\"]"),
                    config,
                )
                .field(
                    node.object(),
                    "metadata.labels[\"nvidia.com/mig.capable\"]",
                    capable.unwrap_or("absent"),
                )
                .input(node.pool.map(|pool| pool.sharing_span))
                .help(help)
                .command(format!(
                    "kubectl get daemonset --namespace {} {} -o yaml",
                    daemon_set.metadata.namespace, daemon_set.metadata.name
                )),
        );
    }
}

/// The seconds in which the components of the GPU Operator start on a new node.
const START_SECONDS: u64 = 900;

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn nodes_that_the_manager_has_seen_are_not_reported() {
        let label = "nvidia.com/mig.config: all-1g.10gb";
        let (codes, text) = check(
            label,
            &format!("{label}, nvidia.com/mig.config.state: success"),
        );
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn without_the_operator_the_label_is_not_judged() {
        let (codes, text) = check(
            "name: nvidia-mig-manager, namespace",
            "name: other, namespace",
        );
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn without_all_pods_nothing_is_reported() {
        let (codes, text) = check("kind: Pod,", "kind: Secret,");
        assert!(codes.is_empty(), "{text}");
    }
}
