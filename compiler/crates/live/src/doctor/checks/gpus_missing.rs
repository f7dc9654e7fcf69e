//! A node offers fewer GPUs than its machine has.

use gpuc_model::Sharing;
use gpuc_schema::node_state::GPUS_ANNOTATION;
use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::advertiser_refs;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, ExpectedGpus, GPU, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7305",
        name: "gpus-missing",
        severity: Severity::Error,
        summary: "a node offers fewer GPUs than its machine has",
        checks: "Whether the capacity of each ready node contains all GPUs of the pool in `gpu-cluster.yaml` or of the \
machine type. Nodes that share their GPUs count only if the pool in the file says how.",
        reason: "A GPU that drops off the PCIe bus does not count as unhealthy: the driver does not list it, and the \
capacity of the node shrinks. Pods that request all GPUs of a node stay pending.",
        remedy: "Compare `nvidia-smi -L` and `lspci -d 10de:` on the node, and read the kernel's log for the GPU that \
is missing. Reboot the node; if the GPU stays away, replace the machine.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      capacity: {cpu: "192", nvidia.com/gpu: "7"}
      allocatable: {cpu: "192", nvidia.com/gpu: "7"}
      conditions: [{type: Ready, status: "True"}]
"#,
        correction: Correction::Replace(
            r#"capacity: {cpu: "192", nvidia.com/gpu: "7"}
      allocatable: {cpu: "192", nvidia.com/gpu: "7"}"#,
            r#"capacity: {cpu: "192", nvidia.com/gpu: "8"}
      allocatable: {cpu: "192", nvidia.com/gpu: "8"}"#,
        ),
    },
    layer: Layer::Health,
    is_symptom: true,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        let Some(expected) = node.expected.as_ref().filter(|it| !it.is_dra) else {
            continue;
        };
        if ctx.is_new(node, START_SECONDS) {
            continue;
        }
        let Some((resource, gpus)) = missing_gpus(node, expected) else {
            continue;
        };
        let capacity = node.capacity(resource);
        let message = format!(
            "the node has {gpus} GPUs, and must have {} by its {}",
            expected.gpus, expected.source
        );
        let mut finding = Finding::new(&CHECK.code, node.object(), message)
            .field(
                node.object(),
                &format!("status.capacity[\"{resource}\"]"),
                capacity.to_string(),
            )
            .input(expected.span);
        if let Some(count) = node.node.metadata.label(COUNT_LABEL) {
            finding = finding.field(
                node.object(),
                &format!("metadata.labels[\"{COUNT_LABEL}\"]"),
                count,
            );
        }
        if let Some(reported) = &node.reported {
            let indexes: Vec<String> = (reported.gpus.iter())
                .map(|gpu| gpu.index.to_string())
                .collect();
            let path = format!("metadata.annotations[\"{GPUS_ANNOTATION}\"].gpus[*].index");
            finding = finding.field(node.object(), &path, indexes.join(", "));
        }
        findings.push(
            finding
                .depends_on(advertiser_refs(node))
                .help(
                    "run `lspci -d 10de:` and `nvidia-smi -L` on the node, then reboot it; replace the machine if a \
GPU stays away",
                )
                .command(format!("kubectl describe node {}", node.name())),
        );
    }
}

/// The seconds in which a new node may still register GPUs.
const START_SECONDS: u64 = 300;

/// The label with the number of GPUs that the driver lists.
pub(super) const COUNT_LABEL: &str = "nvidia.com/gpu.count";

/// Labels of nodes that share their GPUs, with the values that mean that they do not.
///
/// Source: NVIDIA/k8s-device-plugin `internal/lm/resource.go`; NVIDIA/mig-parted
/// `deployments/gpu-operator/nvidia-mig-manager-example.yaml`; GKE's node labels, 2026-11-28.
const SHARING_LABELS: &[(&str, &[&str])] = &[
    ("nvidia.com/gpu.sharing-strategy", &["none", ""]),
    ("nvidia.com/gpu.replicas", &["0", "1"]),
    ("nvidia.com/mig.strategy", &["none", ""]),
    ("nvidia.com/mig.config", &["all-disabled", ""]),
    ("cloud.google.com/gke-gpu-partition-size", &[]),
    ("cloud.google.com/gke-max-shared-clients-per-gpu", &[]),
];

/// Whether a node shares its GPUs, from its labels and resources.
fn is_shared(node: &NodeFacts<'_>) -> bool {
    let mut offered = node.offered();
    offered.any(|(name, capacity, _)| name != GPU && capacity > 0)
        || SHARING_LABELS.iter().any(|(key, unshared)| {
            let value = node.node.metadata.label(key);
            value.is_some_and(|value| !unshared.contains(&value))
        })
}

/// The resource and the number of physical GPUs in the capacity of a node, if some are missing and not all.
fn missing_gpus<'n>(node: &NodeFacts<'n>, expected: &'n ExpectedGpus) -> Option<(&'n str, u64)> {
    let gpus = u64::from(expected.gpus);
    let resource = expected.resources.keys().next();
    let (resource, replicas) = match (node.pool, resource) {
        (Some(pool), Some(resource)) => match pool.sharing.get()? {
            Sharing::Exclusive => (resource.as_str(), 1),
            Sharing::TimeSlicing { replicas, .. } | Sharing::Mps { replicas, .. } => {
                (resource.as_str(), u64::from(replicas.value))
            }
            Sharing::Mig { .. } => return None,
        },
        (None, _) if !is_shared(node) => (GPU, 1),
        _ => return None,
    };
    let capacity = node.capacity(resource);
    let is_whole = replicas > 0 && capacity.is_multiple_of(replicas);
    // As many resources as GPUs: the replicas are missing, and no GPU is.
    let is_unshared = replicas > 1 && capacity == gpus;
    if capacity == 0 || !is_whole || is_unshared {
        return None;
    }
    let present = capacity / replicas;
    (present < gpus).then_some((resource, present))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn node(labels: &str, resources: &str) -> String {
        format!(
            r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      creationTimestamp: "2026-11-28T12:00:00Z"
      labels: {{node.kubernetes.io/instance-type: p5.48xlarge, {labels}}}
    status:
      capacity: {{{resources}}}
      allocatable: {{{resources}}}
      conditions: [{{type: Ready, status: "True", lastHeartbeatTime: "2026-11-28T12:10:00Z"}}]
"#
        )
    }

    #[test]
    fn missing_gpus_are_counted() {
        let (codes, text) = codes(&node("", r#"nvidia.com/gpu: "6""#));
        assert_eq!(codes, [CHECK.code.id]);
        assert!(
            text.contains("the node has 6 GPUs, and must have 8 by its machine type `p5.48xlarge`"),
            "{text}"
        );
    }

    #[test]
    fn nodes_that_share_gpus_are_not_judged_without_a_pool() {
        for (labels, resources) in [
            (
                "nvidia.com/mig.config: all-balanced",
                r#"nvidia.com/gpu: "4""#,
            ),
            (
                "nvidia.com/gpu.sharing-strategy: mps",
                r#"nvidia.com/gpu: "4""#,
            ),
            ("", r#"nvidia.com/gpu: "4", nvidia.com/mig-1g.10gb: "28""#),
        ] {
            let (codes, text) = codes(&node(labels, resources));
            assert!(codes.is_empty(), "{text}");
        }
    }

    #[test]
    fn new_nodes_register_their_gpus_one_after_the_other() {
        let young = node("", r#"nvidia.com/gpu: "4""#).replace("T12:10:00Z", "T12:01:00Z");
        let (codes, text) = codes(&young);
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn strange_amounts_are_ignored() {
        let (codes, text) = codes(&node("", "nvidia.com/gpu: many"));
        assert!(!codes.contains(&CHECK.code.id), "{text}");
    }
}
