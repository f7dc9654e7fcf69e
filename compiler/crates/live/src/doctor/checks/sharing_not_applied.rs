//! A node does not share its GPUs as the pool in the file says.

use std::collections::BTreeMap;

use gpuc_model::Sharing;
use gpuc_schema::config::DevicePlugin;
use gpuc_schema::node_config::STARTUP_TAINT;
use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::advertiser_refs;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, GPU, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7306",
        name: "sharing-not-applied",
        severity: Severity::Error,
        summary: "a node does not share its GPUs as its pool says",
        checks: "Whether each ready node of a pool in `gpu-cluster.yaml` offers the resources that follow from \
`sharing`: their names, and their numbers.",
        reason: "A device plugin that does not find its configuration offers whole GPUs under `nvidia.com/gpu`, and \
reports no error. Pods that request replicas or MIG devices stay pending, and others get a whole GPU.",
        remedy: "Run `gpuc build` and apply the tree. NVIDIA's device plugin reads its configuration by the label \
`nvidia.com/device-plugin.config` of the node, or by the default configuration. MIG devices are created after the \
last pod with a GPU has left the node.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: infer
    machine: g6.2xlarge
    nodes: {count: 2}
    sharing: {timeSlicing: {replicas: 4}}
--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {gpuc.dev/pool: infer}}
    status:
      capacity: {nvidia.com/gpu: "1"}
      allocatable: {nvidia.com/gpu: "1"}
      conditions: [{type: Ready, status: "True"}]
"#,
        correction: Correction::Replace(
            r#"capacity: {nvidia.com/gpu: "1"}
      allocatable: {nvidia.com/gpu: "1"}"#,
            r#"capacity: {nvidia.com/gpu: "4"}
      allocatable: {nvidia.com/gpu: "4"}"#,
        ),
    },
    layer: Layer::Sharing,
    is_symptom: true,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        let (Some(pool), Some(expected)) = (node.pool, &node.expected) else {
            continue;
        };
        if expected.is_dra || expected.resources.is_empty() || ctx.is_new(node, START_SECONDS) {
            continue;
        }
        if is_being_partitioned(node) {
            continue;
        }
        let offered: BTreeMap<&str, u64> = (node.offered())
            .filter(|(name, capacity, _)| *capacity > 0 && is_gpu_resource(name))
            .map(|(name, capacity, _)| (name, capacity))
            .collect();
        let wanted: BTreeMap<&str, u64> = (expected.resources.iter())
            .map(|(name, count)| (name.as_str(), u64::from(*count)))
            .collect();
        // Without any resource, or with fewer of the right ones, other checks report the node.
        if offered.is_empty() || !differs(&offered, &wanted, pool.sharing.get()) {
            continue;
        }
        let message = format!(
            "the node offers {}, but its pool expects {}",
            list(&offered),
            list(&wanted)
        );
        let mut finding = Finding::new(&CHECK.code, node.object(), message)
            .field(node.object(), "status.capacity", list(&offered))
            .input(Some(pool.sharing_span))
            .depends_on(advertiser_refs(node));
        if let Some(condition) = node.node.condition("GPUsHealthy") {
            let path = "status.conditions[GPUsHealthy].message";
            finding = finding.field(node.object(), path, &condition.message);
        }
        let partitions = node.reported_gpus(
            |gpu| gpu.mig == Some(true) || !gpu.profiles.is_empty(),
            |gpu| match gpu.profiles.as_slice() {
                [] if gpu.needs_reset => "no MIG devices, needs a reset".to_owned(),
                [] => "no MIG devices".to_owned(),
                profiles => profiles.join(", "),
            },
        );
        for (path, value) in partitions {
            finding = finding.field(node.object(), &path, value);
        }
        let is_operator = matches!(
            pool.plugin.value,
            DevicePlugin::Nvidia | DevicePlugin::Operator
        );
        if is_operator {
            let label = node.node.metadata.label(CONFIG_LABEL);
            let path = format!("metadata.labels[\"{CONFIG_LABEL}\"]");
            finding = finding.field(node.object(), &path, label.unwrap_or("absent"));
        }
        let help = match pool.plugin.value {
            DevicePlugin::Cloud => {
                "correct the sharing of the node pool in the cloud, which recreates the nodes"
            }
            DevicePlugin::Gpuc if !matches!(pool.sharing.get(), Some(Sharing::Mig { .. })) => {
                "apply the tree of `gpuc build`, and read the log of gpuc-runtime on the node"
            }
            DevicePlugin::Gpuc => {
                "apply the tree of `gpuc build`, and read the log of gpuc-runtime on the node: pods with GPUs delay a \
change of MIG devices"
            }
            // The replicas are there, under the other name.
            _ if offered.values().eq(wanted.values()) => {
                "move `renameByDefault` in the configuration of the device plugin: it belongs in `sharing.timeSlicing` \
or `sharing.mps`, and has no effect in `flags`"
            }
            DevicePlugin::Nvidia | DevicePlugin::Operator => {
                "apply the tree of `gpuc build`, and check that the label `nvidia.com/device-plugin.config` of the \
node, or the default configuration of the device plugin, names the configuration of the pool"
            }
        };
        findings.push(
            finding
                .help(help)
                .command(format!("kubectl get node {} -o yaml", node.name())),
        );
    }
}

/// The seconds in which a new node may still be partitioned.
const START_SECONDS: u64 = 600;

/// The label that names the configuration of NVIDIA's device plugin.
///
/// Source: NVIDIA/k8s-device-plugin `cmd/config-manager/main.go`, 2026-11-28.
const CONFIG_LABEL: &str = "nvidia.com/device-plugin.config";

/// Whether MIG devices are being created on a node. If that failed or takes too long, another check reports it.
fn is_being_partitioned(node: &NodeFacts<'_>) -> bool {
    let state = node.node.metadata.label("nvidia.com/mig.config.state");
    let mut taints = node.node.spec.taints.iter();
    matches!(state, Some("pending" | "rebooting" | "failed"))
        || taints.any(|taint| taint.key == STARTUP_TAINT)
}

/// Whether a resource of NVIDIA stands for GPUs: `nvidia.com/gpu`, `nvidia.com/gpu.shared`, `nvidia.com/mig-1g.5gb`.
fn is_gpu_resource(name: &str) -> bool {
    matches!(name, GPU | "nvidia.com/gpu.shared") || name.starts_with("nvidia.com/mig-")
}

/// Whether the offered resources have other names than the wanted ones, or numbers that a missing GPU does not explain.
fn differs(
    offered: &BTreeMap<&str, u64>,
    wanted: &BTreeMap<&str, u64>,
    sharing: Option<&Sharing>,
) -> bool {
    let Some(sharing) = sharing else {
        return false;
    };
    if !offered.keys().eq(wanted.keys()) {
        return true;
    }
    let replicas = match sharing {
        Sharing::Exclusive => 1,
        Sharing::TimeSlicing { replicas, .. } | Sharing::Mps { replicas, .. } => {
            u64::from(replicas.value.max(1))
        }
        Sharing::Mig { .. } => return offered != wanted,
    };
    let mut counts = offered.iter().zip(wanted.values());
    counts.any(|((_, offered), wanted)| {
        let is_whole = offered.is_multiple_of(replicas);
        let is_unshared = replicas > 1 && *offered == wanted / replicas;
        offered > wanted || !is_whole || is_unshared
    })
}

/// Resources with their numbers, as text.
fn list(resources: &BTreeMap<&str, u64>) -> String {
    let resources = resources.iter();
    let items: Vec<_> = resources
        .map(|(name, count)| format!("`{name}: {count}`"))
        .collect();
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use gpuc_syntax::diag::split_objects;

    use super::super::super::testing::diagnose_objects;
    use super::CHECK;

    fn check(sharing: &str, from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (configuration, objects) = split_objects(CHECK.code.bad).unwrap();
        let configuration = configuration
            .replace("sharing: {timeSlicing: {replicas: 4}}", sharing)
            .replace("g6.2xlarge", "g6.12xlarge");
        let image = r#"{runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}"#;
        let configuration = if sharing.ends_with("# nvidia") {
            configuration.replace(image, "{devicePlugin: nvidia}")
        } else {
            configuration
        };
        let objects = objects.replace(r#"nvidia.com/gpu: "1""#, r#"nvidia.com/gpu: "4""#);
        let (diagnosis, text) = diagnose_objects(&configuration, &objects.replace(from, to));
        let causes = diagnosis.causes.iter();
        (causes.map(|it| it.finding.code.id).collect(), text)
    }

    const SLICED: &str = "sharing: {timeSlicing: {replicas: 4}}";
    const GPUS: &str = r#"nvidia.com/gpu: "4""#;

    #[test]
    fn replicas_with_the_name_of_gpus_are_counted() {
        assert_eq!(check(SLICED, "", "").0, [CHECK.code.id]);
        let (codes, text) = check(SLICED, GPUS, r#"nvidia.com/gpu: "16""#);
        assert!(codes.is_empty(), "{text}");
        let (codes, text) = check(SLICED, GPUS, r#"nvidia.com/gpu: "12""#);
        assert_eq!(codes, ["GPUC7305"], "{text}");
        assert!(
            text.contains("the node has 3 GPUs, and must have 4 by its pool `infer`"),
            "{text}"
        );
    }

    #[test]
    fn renamed_replicas_have_their_own_resource() {
        let renamed = "sharing: {timeSlicing: {replicas: 4, rename: true}}";
        let (codes, text) = check(renamed, GPUS, r#"nvidia.com/gpu: "16""#);
        assert_eq!(codes, [CHECK.code.id], "{text}");
        let (codes, text) = check(renamed, GPUS, r#"nvidia.com/gpu.shared: "16""#);
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn replicas_under_the_other_name_are_a_matter_of_nesting() {
        let sharing = "sharing: {timeSlicing: {replicas: 4, rename: true}} # nvidia";
        let (codes, text) = check(sharing, GPUS, r#"nvidia.com/gpu: "16""#);
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert!(text.contains("`renameByDefault`"), "{text}");
        let (_, text) = check(sharing, "", "");
        assert!(text.contains("`nvidia.com/device-plugin.config`"), "{text}");
    }

    #[test]
    fn other_resources_of_nvidia_do_not_count() {
        let more = r#"nvidia.com/gpu: "4", nvidia.com/gpumem: "90000""#;
        let (codes, text) = check("", GPUS, more);
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn pools_without_sharing_offer_whole_gpus() {
        let (codes, text) = check("", "", "");
        assert!(codes.is_empty(), "{text}");
        let (codes, text) = check("", GPUS, r#"nvidia.com/gpu.shared: "16""#);
        assert_eq!(codes, [CHECK.code.id], "{text}");
    }

    #[test]
    fn names_that_the_kubelet_keeps_without_devices_do_not_count() {
        let kept = r#"nvidia.com/gpu: "4", nvidia.com/mig-1g.5gb: "0""#;
        let (codes, text) = check("", GPUS, kept);
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn nodes_that_are_being_partitioned_are_not_reported() {
        let labels = "labels: {gpuc.dev/pool: infer";
        let pending = format!("{labels}, nvidia.com/mig.config.state: pending");
        let (codes, text) = check(SLICED, labels, &pending);
        assert!(codes.is_empty(), "{text}");
    }
}
