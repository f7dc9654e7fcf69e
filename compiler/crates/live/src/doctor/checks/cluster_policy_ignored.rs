//! The GPU Operator ignores a `ClusterPolicy`.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7209",
        name: "cluster-policy-ignored",
        severity: Severity::Warning,
        summary: "the GPU Operator ignores a ClusterPolicy",
        checks: "Whether the GPU Operator uses every ClusterPolicy of the cluster.",
        reason: "The operator uses only one ClusterPolicy. Changes of another one have no effect, and no error says \
so.",
        remedy: "Move the settings into the ClusterPolicy that is used, and delete the others.",
        bad: r"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: nvidia.com/v1
    kind: ClusterPolicy
    metadata: {name: cluster-policy}
    status: {state: ready}
  - apiVersion: nvidia.com/v1
    kind: ClusterPolicy
    metadata: {name: team-policy}
    status: {state: ignored}
",
        correction: Correction::Replace(
            r"  - apiVersion: nvidia.com/v1
    kind: ClusterPolicy
    metadata: {name: team-policy}
    status: {state: ignored}
",
            "",
        ),
    },
    layer: Layer::Driver,
    is_symptom: false,
    needs: &[Kind::ClusterPolicy],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let policies = ctx.state.objects(Kind::ClusterPolicy);
    // Source: NVIDIA/gpu-operator `api/nvidia/v1/clusterpolicy_types.go` (`State`), 2026-11-28.
    let is_ignored = |state: &str| state == "ignored";
    let used = policies
        .iter()
        .find(|it| !is_ignored(it.text("/status/state")));
    for policy in policies {
        let state = policy.text("/status/state");
        if !is_ignored(state) || policy.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let object = ObjectRef::of_kind("ClusterPolicy", &policy.metadata);
        let help = match used {
            Some(used) => format!(
                "move its settings into the ClusterPolicy `{}`, and delete it",
                used.metadata.name
            ),
            None => "keep one ClusterPolicy, and delete the others".to_owned(),
        };
        findings.push(
            Finding::new(
                &CHECK.code,
                object.clone(),
                "the GPU Operator ignores the ClusterPolicy",
            )
            .field(object, "status.state", state)
            .help(help)
            .command("kubectl get clusterpolicies"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn policies_without_a_status_and_deleted_ones_are_not_ignored() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        for (from, to) in [
            ("status: {state: ignored}", "status: 1"),
            (
                "{name: team-policy}",
                r#"{name: team-policy, deletionTimestamp: "2026-11-28T12:00:00Z"}"#,
            ),
        ] {
            let (codes, text) = codes(&objects.replace(from, to));
            assert!(codes.is_empty(), "{text}");
        }
    }
}
