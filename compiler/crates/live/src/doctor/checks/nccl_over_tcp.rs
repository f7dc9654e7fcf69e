//! NCCL uses TCP although the nodes have a faster network.

use std::sync::LazyLock;

use gpuc_syntax::diag::{Code, Correction, Severity};
use regex::Regex;

use super::stack::{find_line, is_active, pod_ref, uses_gpus};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7804",
        name: "nccl-over-tcp",
        severity: Severity::Warning,
        summary: "NCCL uses TCP although the nodes have a faster network",
        checks: "Whether the logs of NCCL show that pods on several nodes exchange data over TCP, on nodes that offer \
EFA or RDMA devices, and whether NCCL uses a link-local network interface. The logs need `NCCL_DEBUG=INFO`.",
        reason: "NCCL does not fail without the fast network: it uses TCP, which is slower by a factor of 100 on large \
machines. Training seems to work.",
        remedy: "Request the network devices in the pod, use an image with the network plugin, and permit all traffic \
between the nodes in the security group or firewall. Set `NCCL_NET`, such as `AWS Libfabric` or `IB`, so that NCCL \
fails instead.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      capacity: {nvidia.com/gpu: "8", vpc.amazonaws.com/efa: "32"}
      allocatable: {nvidia.com/gpu: "8", vpc.amazonaws.com/efa: "32"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: "8"}}}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
--- # logs/ml/train-0/main.log
train-0:61:90 [0] NCCL INFO Using network Socket
train-0:61:90 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/1
"#,
        correction: Correction::Replace(
            "NCCL INFO Using network Socket
train-0:61:90 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/1",
            "NCCL INFO Using network AWS Libfabric
train-0:61:90 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/1/GDRDMA",
        ),
    },
    layer: Layer::Fabric,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::Workloads,
    run,
};

/// A channel between nodes over TCP. Pods on one node have none.
///
/// Source: NVIDIA/nccl `src/transport/net.cc`, 2026-11-28.
const CHANNEL: &str = "via NET/Socket/";

/// The network interface that NCCL uses, if its address is link-local.
///
/// Source: NVIDIA/nccl `src/transport/net_socket.cc`; aws-samples/aws-do-eks pull request 54, 2026-11-28.
static LINK_LOCAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"NET/Socket : Using.*\](\S+?):169\.254\.").ok());

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes() {
        for pod in ctx.pods_on(node.name()).iter().filter(|pod| is_active(pod)) {
            if ctx.logs(pod).is_empty() || !uses_gpus(pod) {
                continue;
            }
            let finding = check_link_local(ctx, pod).or_else(|| check_channel(ctx, node, pod));
            findings.extend(finding.map(|it| {
                it.command(format!(
                    "kubectl get pod --namespace {} {} -o yaml",
                    pod.metadata.namespace, pod.metadata.name
                ))
            }));
        }
    }
}

/// A pod whose NCCL uses a link-local network interface.
fn check_link_local(ctx: &Context<'_>, pod: &Pod) -> Option<Finding> {
    let pattern = LINK_LOCAL.as_ref()?;
    let evidence = find_line(ctx, pod, |line| pattern.is_match(line))?;
    let Evidence::Log { line, .. } = &evidence else {
        return None;
    };
    let interface = pattern.captures(line)?.get(1)?.as_str().to_owned();
    let message =
        format!("NCCL uses the network interface `{interface}`, which reaches no other node");
    Some(
        Finding::new(&CHECK.code, pod_ref(pod), message)
            .evidence(evidence)
            .help("set `NCCL_SOCKET_IFNAME=^lo,docker,veth,eni,pod-id-link` in the container"),
    )
}

/// A pod that exchanges data with other nodes over TCP, on a node with a faster network.
fn check_channel(ctx: &Context<'_>, node: &NodeFacts<'_>, pod: &Pod) -> Option<Finding> {
    let mut resources = node.node.status.allocatable.keys();
    let resource = resources.find(|name| is_fast_network(name) && node.allocatable(name) > 0)?;
    let evidence = find_line(ctx, pod, |line| line.contains(CHANNEL))?;
    let requested = PodDemand::new(pod).units(resource);
    let message = format!("NCCL uses TCP between nodes, although the node offers `{resource}`");
    let help = match requested {
        0 if resource.starts_with("rdma/") => {
            format!("request `{resource}` in the container, and add the capability `IPC_LOCK`")
        }
        0 => format!("request `{resource}` in the container, as many as the node offers if it uses all GPUs"),
        _ => "check that the image contains NCCL's plugin for the network and that `LD_LIBRARY_PATH` contains its \
folder, and permit all traffic between the nodes in the security group or firewall"
            .to_owned(),
    };
    let mut finding = Finding::new(&CHECK.code, pod_ref(pod), message).evidence(evidence);
    let known = [
        "NET/OFI No eligible providers were found",
        "NET/IB : No device found",
    ];
    let is_known = |line: &str| known.iter().any(|text| line.contains(text));
    if let Some(evidence) = find_line(ctx, pod, is_known) {
        finding = finding.evidence(evidence);
    }
    Some(
        finding
            .field(
                pod_ref(pod),
                &format!("spec.containers[*].resources.requests[\"{resource}\"]"),
                requested.to_string(),
            )
            .input(node.pool_span())
            .help(help),
    )
}

/// Whether a resource is a network device for GPUs: EFA, or RDMA.
fn is_fast_network(name: &str) -> bool {
    name == "vpc.amazonaws.com/efa" || name.starts_with("rdma/")
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
    fn pods_on_one_node_select_a_network_and_do_not_use_it() {
        let (codes, text) = check("via NET/Socket/1", "via P2P/CUMEM");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn nodes_without_a_faster_network_use_tcp() {
        let (codes, text) = check("vpc.amazonaws.com/efa", "example.com/nic");
        assert!(codes.is_empty(), "{text}");
        let (codes, text) = check(r#"efa: "32""#, r#"efa: "0""#);
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn the_help_depends_on_the_request() {
        let (_, text) = check("", "");
        assert!(
            text.contains("help: request `vpc.amazonaws.com/efa`"),
            "{text}"
        );
        let (codes, text) = check(
            r#"limits: {nvidia.com/gpu: "8"}"#,
            r#"limits: {nvidia.com/gpu: "8", vpc.amazonaws.com/efa: "32"}"#,
        );
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("security group"), "{text}");
    }

    #[test]
    fn link_local_interfaces_are_named() {
        let (codes, text) = check(
            "Using network Socket",
            "NET/Socket : Using [0]pod-id-link0:169.254.1.1<0>",
        );
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("`pod-id-link0`"), "{text}");
        let (_, text) = check(
            "Using network Socket",
            "NET/Socket : Using [0]eth0:10.0.0.1<0>",
        );
        assert!(!text.contains("`eth0`"), "{text}");
    }
}
