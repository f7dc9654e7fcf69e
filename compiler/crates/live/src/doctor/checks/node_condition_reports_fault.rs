//! A condition of a node reports a fault of its GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::advertiser_refs;
use super::stale_health_agent::is_stale;
use super::xid::{find_xid, reason_help, xid_help};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Condition;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7402",
        name: "node-condition-reports-fault",
        severity: Severity::Error,
        summary: "a condition of a node reports a fault of its GPUs",
        checks: "Whether the conditions that clouds and agents set on nodes report a fault of GPUs: those of EKS, GKE, \
AKS, NVSentinel and gpuc-runtime.",
        reason: "The condition names the fault, often with the Xid of the driver, but the scheduler does not read it: \
pods still start on the node unless something cordons it.",
        remedy: "Do what the Xid requires: restart the application, reset the GPU, reboot the node or replace the \
machine. Automatic repair of the cloud, if it is enabled, replaces the node. Conditions can be out of date: compare \
the time of their last transition.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions:
        - {type: Ready, status: "True"}
        - type: AcceleratedHardwareReady
          status: "False"
          reason: NvidiaXID79Error
          message: "XID error 79 detected"
          lastTransitionTime: "2026-11-28T12:00:00Z"
"#,
        correction: Correction::Replace(
            r#"status: "False"
          reason: NvidiaXID79Error
          message: "XID error 79 detected""#,
            r#"status: "True"
          reason: NvidiaAcceleratedHardwareIsReady"#,
        ),
    },
    layer: Layer::Health,
    is_symptom: false,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

/// A condition that reports faults of GPUs.
struct KnownCondition {
    /// Its type.
    kind: &'static str,
    /// The status that means a fault.
    fault: &'static str,
    /// The component that sets it.
    reporter: &'static str,
    /// What to do if the reason names no Xid.
    help: &'static str,
}

const REPLACE: &str = "drain and reboot the node; replace the machine if the fault stays";

/// The conditions.
///
/// Source: aws/eks-node-monitoring-agent `monitors/nvidia`; GoogleCloudPlatform/container-engine-accelerators
/// `pkg/gpu/nvidia/health_check`; MicrosoftDocs/azure-aks-docs `articles/aks/gpu-health-monitoring.md` and
/// Azure/AgentBaker pull request 8797; NVIDIA/NVSentinel `health-monitors`; gpuc `runtime/src/publish`, 2026-11-28.
const CONDITIONS: &[KnownCondition] = &[
    known("AcceleratedHardwareReady", "False", "EKS", REPLACE),
    known("XidCriticalError", "True", "GKE", REPLACE),
    known("GPUMissing", "True", "AKS", REPLACE),
    known("NVLinkStatusInactive", "True", "AKS", REPLACE),
    known("XIDErrors", "True", "AKS", REPLACE),
    known("XIDError", "True", "AKS", REPLACE),
    known(
        "IBLinkFlapping",
        "True",
        "AKS",
        "drain the node and let the cloud replace the machine: its InfiniBand link is not stable",
    ),
    known(
        "GPUClockThrottling",
        "True",
        "AKS",
        "check the temperature and the power of the GPUs with `nvidia-smi -q -d PERFORMANCE` on the node",
    ),
    known(
        "UnhealthyNvidiaDevicePlugin",
        "True",
        "AKS",
        "read the log of the device plugin on the node",
    ),
    known(
        "GPUsHealthy",
        "False",
        "gpuc-runtime",
        "do what the message says; docs/runtime.md describes the reasons",
    ),
];

const fn known(
    kind: &'static str,
    fault: &'static str,
    reporter: &'static str,
    help: &'static str,
) -> KnownCondition {
    KnownCondition {
        kind,
        fault,
        reporter,
        help,
    }
}

/// What the conditions of `NVSentinel` have in common: the reason is the type with this end.
const SENTINEL_REASON: &str = "IsNotHealthy";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        for condition in &node.node.status.conditions {
            let Some((reporter, help)) = find_fault(node, condition) else {
                continue;
            };
            // Other checks report these.
            if is_stale(node, condition) || is_about_software(condition) {
                continue;
            }
            findings.push(report(node, condition, reporter, help));
        }
    }
}

/// Whether a condition of gpuc-runtime is about the driver or the configuration.
fn is_about_software(condition: &Condition) -> bool {
    condition.kind == "GPUsHealthy"
        && matches!(
            condition.reason.as_str(),
            "DriverMissing" | "InvalidConfiguration"
        )
}

/// Who reports a fault with a condition, and what to do if no Xid is known.
pub(super) fn find_fault(
    node: &NodeFacts<'_>,
    condition: &Condition,
) -> Option<(&'static str, &'static str)> {
    let is_sentinel = condition.is_true()
        && condition.reason.strip_suffix(SENTINEL_REASON) == Some(condition.kind.as_str());
    if is_sentinel {
        let help = if node.node.spec.unschedulable {
            "wait until NVSentinel has repaired the node, which is cordoned; do what the message recommends if it \
does not"
        } else {
            "drain the node, and do what the message recommends"
        };
        return Some(("NVSentinel", help));
    }
    let mut known = CONDITIONS.iter();
    let known = known.find(|it| it.kind == condition.kind && it.fault == condition.status)?;
    Some((known.reporter, known.help))
}

fn report(
    node: &NodeFacts<'_>,
    condition: &Condition,
    reporter: &str,
    help: &'static str,
) -> Finding {
    let Condition {
        kind,
        reason,
        message,
        ..
    } = condition;
    let xid = find_xid(reason, &["NvidiaXID", "{\""])
        .or_else(|| find_xid(message, &["ErrorCode", "Xid", "XID"]));
    let text = match xid {
        Some(xid) => format!("{reporter} reports the Xid {xid} for a GPU of the node: `{kind}`"),
        None if reason.is_empty() || reason.contains('{') => {
            format!("{reporter} reports a fault of the node's GPUs: `{kind}`")
        }
        None => format!("{reporter} reports a fault of the node's GPUs: `{kind}`, `{reason}`"),
    };
    let path = |field: &str| format!("status.conditions[{kind}].{field}");
    let mut finding = Finding::new(&CHECK.code, node.object(), text)
        .field(node.object(), &path("message"), message)
        .input(node.pool_span())
        .depends_on(advertiser_refs(node));
    if let Some(since) = condition.last_transition_time {
        finding = finding.field(
            node.object(),
            &path("lastTransitionTime"),
            since.to_string(),
        );
    }
    finding
        .help(xid.map_or_else(|| reason_help(reason).unwrap_or(help), xid_help))
        .command(format!("kubectl describe node {}", node.name()))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(condition: &str) -> (Vec<&'static str>, String) {
        codes(&format!(
            r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {{name: gpu-1, labels: {{nvidia.com/gpu.present: "true"}}}}
    status:
      capacity: {{nvidia.com/gpu: "8"}}
      allocatable: {{nvidia.com/gpu: "8"}}
      conditions: [{{type: Ready, status: "True"}}, {condition}]
"#
        ))
    }

    #[test]
    fn faults_of_every_reporter_are_found() {
        for (condition, expected) in [
            (
                r#"{type: XidCriticalError, status: "True", reason: '{"79":true}'}"#,
                "GKE reports the Xid 79",
            ),
            (
                r#"{type: XIDError, status: "True", reason: XIDError}"#,
                "AKS reports a fault",
            ),
            (
                r#"{type: GPUMissing, status: "True"}"#,
                "AKS reports a fault",
            ),
            (
                r#"{type: GPUsHealthy, status: "False", reason: GPUUnhealthy}"#,
                "`GPUUnhealthy`",
            ),
            (
                r#"{type: XIDs, status: "True", reason: XIDsIsNotHealthy, message: "ErrorCode:79 PCI:0000"}"#,
                "NVSentinel reports the Xid 79",
            ),
            (
                r#"{type: AcceleratedHardwareReady, status: "False", reason: NvidiaDeviceCountMismatch}"#,
                "`NvidiaDeviceCountMismatch`",
            ),
        ] {
            let (codes, text) = check(condition);
            assert_eq!(codes, [CHECK.code.id], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn errors_of_memory_have_their_own_help() {
        for (reason, expected) in [
            ("NvidiaRowRemapFailure", "no spare rows"),
            ("NvidiaRowRemapPending", "remaps the memory row"),
            ("NvidiaDoubleBitError", "reset the GPU"),
            ("NvidiaXID95Error", "reset the GPU"),
        ] {
            let condition =
                format!(r#"{{type: AcceleratedHardwareReady, status: "False", reason: {reason}}}"#);
            let (codes, text) = check(&condition);
            assert_eq!(codes, [CHECK.code.id], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn healthy_and_unknown_conditions_are_no_faults() {
        for condition in [
            r#"{type: XidCriticalError, status: "False"}"#,
            r#"{type: AcceleratedHardwareReady, status: "True"}"#,
            r"{type: GPUsHealthy, status: Unknown, reason: HealthNotMonitored}",
            r#"{type: SysLogsXIDError, status: "False", reason: SysLogsXIDErrorIsHealthy}"#,
            r#"{type: GPUsHealthy, status: "False", reason: InvalidConfiguration}"#,
            r#"{type: FrequentKubeletRestart, status: "True"}"#,
            "{}",
        ] {
            let (codes, text) = check(condition);
            assert!(codes.is_empty(), "{text}");
        }
    }
}
