//! A `ComputeDomain` is not ready although its pods are on nodes.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Code, Correction, Severity};
use serde_json::Value;

use super::stack::{find_line, is_active};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::{Object, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7805",
        name: "compute-domain-not-ready",
        severity: Severity::Error,
        summary: "a ComputeDomain is not ready although its pods are on nodes",
        checks: "Whether all nodes of a ComputeDomain are ready within 15 minutes after its pods are on nodes.",
        reason: "The pods of a ComputeDomain start when the IMEX daemon of their node is ready. They hold their GPUs \
and wait.",
        remedy: "Read the logs of the domain's daemons. If the node's own `nvidia-imex` service runs, disable it: only \
one of the two can use the channels. Nodes of different cliques share no NVLink: keep the pods of a domain in one \
clique, with an affinity by `nvidia.com/gpu.clique`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Event
    metadata: {name: last, namespace: ml}
    lastTimestamp: "2026-11-28T13:00:00Z"
  - apiVersion: resource.nvidia.com/v1beta1
    kind: ComputeDomain
    metadata: {name: train, namespace: ml, creationTimestamp: "2026-11-28T12:00:00Z"}
    spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: train-channel}}}
    status:
      status: NotReady
      nodes:
        - {name: gpu-1, cliqueID: "a.1", index: 0, status: Ready}
        - {name: gpu-2, cliqueID: "a.1", index: 1, status: NotReady}
"#,
        correction: Correction::Replace(
            r#"status: NotReady
      nodes:
        - {name: gpu-1, cliqueID: "a.1", index: 0, status: Ready}
        - {name: gpu-2, cliqueID: "a.1", index: 1, status: NotReady}"#,
            r#"status: Ready
      nodes:
        - {name: gpu-1, cliqueID: "a.1", index: 0, status: Ready}
        - {name: gpu-2, cliqueID: "a.1", index: 1, status: Ready}"#,
        ),
    },
    layer: Layer::Fabric,
    is_symptom: false,
    needs: &[Kind::ComputeDomain],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which the daemons of a domain start.
const START_SECONDS: u64 = 900;

/// The error of an IMEX daemon if another one runs.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu issue 524, 2026-11-28.
const IN_USE: &str = "NV_ERR_IN_USE";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for domain in ctx.state.objects(Kind::ComputeDomain) {
        let age = ctx.age(domain.metadata.creation_timestamp);
        let is_old = age.is_some_and(|age| age > START_SECONDS);
        let is_going = domain.metadata.deletion_timestamp.is_some();
        if !is_old || is_going || domain.text("/status/status") != "NotReady" {
            continue;
        }
        findings.extend(check_domain(ctx, domain));
    }
}

fn check_domain(ctx: &Context<'_>, domain: &Object) -> Option<Finding> {
    let nodes = domain.items("/status/nodes");
    let text = |node: &Value, key: &str| node[key].as_str().unwrap_or_default().to_owned();
    // Without nodes, the pods of the domain are not scheduled yet.
    let waiting = nodes
        .iter()
        .filter(|node| text(node, "status") == "NotReady");
    let waiting: Vec<String> = waiting.map(|node| text(node, "name")).collect();
    let first = waiting.first()?;
    let cliques: BTreeSet<String> = (nodes.iter())
        .map(|node| text(node, "cliqueID"))
        .filter(|id| !id.is_empty())
        .collect();
    let object = ObjectRef::of_kind("ComputeDomain", &domain.metadata);
    let causes: Vec<_> = waiting.iter().map(|name| ObjectRef::node(name)).collect();
    let log = find_in_use(ctx, first);
    let (message, help) = if log.is_some() {
        (
            "the IMEX daemon of the ComputeDomain does not start: another one runs on the node",
            "disable the service of the node's image: `systemctl disable --now nvidia-imex`",
        )
    } else if cliques.len() > 1 {
        (
            "the nodes of the ComputeDomain are in several NVLink cliques, and some are not ready",
            "keep the pods of the domain in one clique: add an affinity by `nvidia.com/gpu.clique`",
        )
    } else {
        (
            "some nodes of the ComputeDomain are not ready",
            "read the logs of the domain's daemon on these nodes",
        )
    };
    let finding = Finding::new(&CHECK.code, object.clone(), message).field(
        object.clone(),
        &format!("status.nodes[{first}].status"),
        "NotReady",
    );
    let finding = match (log, cliques.len()) {
        (Some(log), _) => finding.evidence(log),
        (None, 0 | 1) => finding,
        (None, _) => {
            let cliques: Vec<_> = cliques.into_iter().collect();
            finding.field(object, "status.nodes[*].cliqueID", cliques.join(", "))
        }
    };
    Some(finding.depends_on(causes).help(help).command(format!(
        "kubectl get computedomain --namespace {} {} -o yaml",
        domain.metadata.namespace, domain.metadata.name
    )))
}

/// The line of an IMEX daemon on a node which says that another one runs.
fn find_in_use(ctx: &Context<'_>, node: &str) -> Option<Evidence> {
    let mut pods = ctx.pods_on(node).iter().filter(|pod| is_active(pod));
    pods.find_map(|pod| find_line(ctx, pod, |line| line.contains(IN_USE)))
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
    fn domains_without_nodes_wait_for_their_pods() {
        let nodes = r#"nodes:
        - {name: gpu-1, cliqueID: "a.1", index: 0, status: Ready}
        - {name: gpu-2, cliqueID: "a.1", index: 1, status: NotReady}"#;
        for other in ["nodes: []", "nodes: 7", "other: {}"] {
            let (codes, text) = check(nodes, other);
            assert!(codes.is_empty(), "{text}");
        }
        let (codes, text) = check("T13:00:00Z", "T12:10:00Z");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn several_cliques_are_named() {
        let (codes, text) = check(
            r#"cliqueID: "a.1", index: 1"#,
            r#"cliqueID: "b.2", index: 1"#,
        );
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("a.1, b.2"), "{text}");
    }

    #[test]
    fn a_second_daemon_is_found_in_logs() {
        let daemon = r"  - apiVersion: v1
    kind: Pod
    metadata: {name: computedomain-daemon-x, namespace: dra}
    spec: {nodeName: gpu-2}
    status: {phase: Running}
--- # logs/dra/computedomain-daemon-x/main.log
Failed to initialize: NV_ERR_IN_USE
";
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&format!("{objects}{daemon}"));
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("systemctl disable"), "{text}");
    }
}
