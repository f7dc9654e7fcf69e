//! The label of the replicas of a node's GPUs differs from what the node offers.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::gpus_missing::COUNT_LABEL;
use super::stack::advertiser_refs;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, GPU, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7310",
        name: "replica-label-wrong",
        severity: Severity::Warning,
        summary: "the label of the replicas of a node's GPUs differs from what the node offers",
        checks: "Whether the capacity of each node is the product of its labels `nvidia.com/gpu.count` and \
`nvidia.com/gpu.replicas`. Nodes with MIG devices do not count.",
        reason: "The device plugin and GPU Feature Discovery read the same configuration, but each from its own \
settings. If only one of them has it, the label names replicas that the node does not offer, or hides those that it \
offers. Node selectors, quotas and dashboards that use the label are wrong.",
        remedy: "Give both the same ConfigMap and the same default configuration. The Helm chart of the device plugin \
runs both with one configuration: `gfd.enabled: true`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels: {nvidia.com/gpu.present: "true", nvidia.com/gpu.count: "2", nvidia.com/gpu.replicas: "4"}
    status:
      capacity: {nvidia.com/gpu: "2"}
      allocatable: {nvidia.com/gpu: "2"}
      conditions: [{type: Ready, status: "True"}]
"#,
        correction: Correction::Replace(
            r#"capacity: {nvidia.com/gpu: "2"}
      allocatable: {nvidia.com/gpu: "2"}"#,
            r#"capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}"#,
        ),
    },
    layer: Layer::Sharing,
    is_symptom: true,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

/// The label with the number of replicas of each GPU.
///
/// Source: NVIDIA/k8s-device-plugin `internal/lm/resource.go` and issue 732, 2026-11-28.
const REPLICAS_LABEL: &str = "nvidia.com/gpu.replicas";

/// The resource of replicas with their own name.
const SHARED: &str = "nvidia.com/gpu.shared";

/// The seconds in which a new node may still get its labels and resources.
const START_SECONDS: u64 = 600;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        if ctx.is_new(node, START_SECONDS) || is_judged_by_pool(node) {
            continue;
        }
        let Some((resource, gpus, labeled, offered)) = difference(node) else {
            continue;
        };
        let (message, help) = if offered == 1 {
            (
                format!(
                    "the label of the node names {labeled} replicas of each GPU, but the device plugin shares none"
                ),
                "give the device plugin the configuration that GPU Feature Discovery has",
            )
        } else {
            (
                format!(
                    "the node offers {offered} replicas of each GPU, but its label names {labeled}"
                ),
                "give GPU Feature Discovery the configuration that the device plugin has",
            )
        };
        let label = |key: &str| format!("metadata.labels[\"{key}\"]");
        let capacity = node.capacity(resource).to_string();
        findings.push(
            Finding::new(&CHECK.code, node.object(), message)
                .field(node.object(), &label(REPLICAS_LABEL), labeled.to_string())
                .field(node.object(), &label(COUNT_LABEL), gpus.to_string())
                .field(
                    node.object(),
                    &format!("status.capacity[\"{resource}\"]"),
                    capacity,
                )
                .input(node.pool.map(|pool| pool.sharing_span))
                .depends_on(advertiser_refs(node))
                .help(help)
                .command("kubectl get daemonsets --all-namespaces"),
        );
    }
}

/// Whether the pool in gpu-cluster.yaml expects other resources: another check reports that.
fn is_judged_by_pool(node: &NodeFacts<'_>) -> bool {
    let expected = node.expected.as_ref();
    expected.is_some_and(|expected| {
        let mut resources = expected.resources.iter();
        expected.is_dra || resources.any(|(name, count)| node.capacity(name) != u64::from(*count))
    })
}

/// The resource, the number of GPUs, the replicas by the label, and the replicas that the node offers, if they differ.
fn difference(node: &NodeFacts<'_>) -> Option<(&'static str, u64, u64, u64)> {
    let number = |key: &str| -> Option<u64> { node.node.metadata.label(key)?.parse().ok() };
    let (gpus, labeled) = (number(COUNT_LABEL)?, number(REPLICAS_LABEL)?.max(1));
    let has_mig = node
        .offered()
        .any(|(name, capacity, _)| name.starts_with("nvidia.com/mig-") && capacity > 0);
    let resource = match (node.capacity(GPU), node.capacity(SHARED)) {
        (0, 0) => return None,
        (0, _) => SHARED,
        (_, 0) => GPU,
        (..) => return None,
    };
    let capacity = node.capacity(resource);
    if has_mig || gpus == 0 || !capacity.is_multiple_of(gpus) {
        return None;
    }
    let offered = capacity / gpus;
    // A GPU that drops off the bus also makes the label of the count smaller, and the capacity follows later.
    let is_certain = match &node.expected {
        Some(expected) => u64::from(expected.gpus) == gpus,
        None => offered == 1 && resource == GPU,
    };
    (is_certain && offered != labeled).then_some((resource, gpus, labeled, offered))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(labels: &str, capacity: &str) -> (Vec<&'static str>, String) {
        codes(&format!(
            r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {{name: gpu-1, labels: {{nvidia.com/gpu.present: "true", {labels}}}}}
    status:
      capacity: {{{capacity}}}
      allocatable: {{{capacity}}}
      conditions: [{{type: Ready, status: "True"}}]
"#
        ))
    }

    const EIGHT: &str =
        r#"node.kubernetes.io/instance-type: p5.48xlarge, nvidia.com/gpu.count: "8""#;

    #[test]
    fn replicas_that_the_label_hides_are_found() {
        let labels = format!(r#"{EIGHT}, nvidia.com/gpu.replicas: "1""#);
        for resource in ["nvidia.com/gpu", "nvidia.com/gpu.shared"] {
            let (codes, text) = check(&labels, &format!(r#"{resource}: "32""#));
            assert_eq!(codes, [CHECK.code.id], "{text}");
            assert!(text.contains("offers 4 replicas of each GPU"), "{text}");
        }
    }

    #[test]
    fn consistent_and_unclear_nodes_are_silent() {
        for (labels, capacity) in [
            (r#"nvidia.com/gpu.replicas: "4""#, r#"nvidia.com/gpu: "32""#),
            (r#"nvidia.com/gpu.replicas: "1""#, r#"nvidia.com/gpu: "8""#),
            (r#"nvidia.com/gpu.replicas: "0""#, r#"nvidia.com/gpu: "8""#),
            (r"nvidia.com/gpu.replicas: many", r#"nvidia.com/gpu: "8""#),
            (
                r#"nvidia.com/gpu.replicas: "4""#,
                r#"nvidia.com/gpu: "8", nvidia.com/mig-1g.10gb: "7""#,
            ),
        ] {
            let (codes, text) = check(&format!("{EIGHT}, {labels}"), capacity);
            assert!(codes.is_empty(), "{text}");
        }
        // One of two GPUs dropped off the bus, and the machine type is not known.
        let lost = r#"nvidia.com/gpu.count: "1", nvidia.com/gpu.replicas: "1""#;
        let (codes, text) = check(lost, r#"nvidia.com/gpu: "2""#);
        assert!(codes.is_empty(), "{text}");
    }
}
