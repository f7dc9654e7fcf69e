//! Profiles of JupyterHub that the user writes as chart values: a notebook with GPUs must fit a pool.
//!
//! Source: jupyterhub/zero-to-jupyterhub-k8s@48ea50e3 `jupyterhub/files/hub/jupyterhub_config.py` (what a notebook
//! gets from the values) and jupyterhub/kubespawner@01be5c20 `kubespawner/utils.py`, `recursive_update` (a profile
//! replaces lists and merges mappings), 2026-11-26.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::Plan;
use gpuc_model::scheduling::{
    DefaultRequests, Demand, Feasibility, MisfitCause, PoolFeasibility, check_pools, explain_pool,
};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Entry, Node, Origin, Value};
use gpuc_syntax::source::Span;
use serde_json::json;

use crate::charts::JUPYTERHUB;
use crate::charts::keys::merge;

/// A notebook profile in chart values that fits no pool.
pub(super) static PROFILE_UNSCHEDULABLE: Code = Code {
    id: "GPUC3007",
    name: "notebook-profile-unschedulable",
    severity: Severity::Error,
    summary: "a notebook profile in the values of JupyterHub's chart fits no pool",
    checks: "Whether the notebooks of each profile in `singleuser.profileList` that requests a GPU or another extended
resource fit the nodes of a pool: the resource and its number, the tolerations, and the node selector.",
    reason: "The notebook stays Pending until the hub gives up, and the person who starts it sees only a timeout.
A profile with `tolerations` replaces those of `singleuser.extraTolerations`.",
    remedy: "Add the tolerations from the help, or write the profile as `notebooks.jupyterHub.profiles` with its `pool`:
gpuc then writes the resource, the tolerations and the node selector.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia}
nodePools:
  - {name: cpu, hosts: [a], nodes: {count: 1}}
  - name: gpu
    hosts: [b]
    nodes: {count: 1}
    gpu: {model: A30, perNode: 4}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    secret: hub
    profiles: [{name: CPU, pool: cpu}]
charts:
  jupyterhub:
    values:
      hub: {config: {JupyterHub: {authenticator_class: github}}}
      singleuser:
        profileList:
          - display_name: A30
            kubespawner_override:
              extra_resource_limits: {nvidia.com/gpu: "1"}
"#,
    correction: Correction::Replace(
        r#"extra_resource_limits: {nvidia.com/gpu: "1"}
"#,
        r#"extra_resource_limits: {nvidia.com/gpu: "1"}
              tolerations: [{key: nvidia.com/gpu, operator: Exists}]
"#,
    ),
};

/// Checks every profile that the user wrote.
pub(super) fn check(plan: &Plan, cluster: &Checked<'_>, report: &mut Report) {
    let mut releases = plan.releases.iter();
    let Some(release) = releases.find(|it| it.chart.name == JUPYTERHUB.name) else {
        return;
    };
    let base = base_pod(&release.values);
    let profiles = get(&release.values, &["singleuser", "profileList"]);
    for profile in profiles.map_or(&[][..], Node::items) {
        if !profile.span().is_written() || matches!(profile.origin, Origin::Generated(_)) {
            continue;
        }
        let own = profile.get("kubespawner_override");
        let with_own = own.map_or_else(|| base.clone(), |own| merge(base.clone(), own));
        let mut pods = vec![(own, with_own.clone())];
        let options = profile
            .get("profile_options")
            .map_or(&[][..], Node::entries);
        let choices = options
            .iter()
            .filter_map(|option| option.value.get("choices"));
        for choice in choices.flat_map(Node::entries) {
            if let Some(own) = choice.value.get("kubespawner_override") {
                pods.push((Some(own), merge(with_own.clone(), own)));
            }
        }
        for (own, pod) in pods {
            let Some(own) = own.filter(|own| requests_devices(own)) else {
                continue;
            };
            check_pod(cluster, own, &pod, report);
        }
    }
}

/// What every notebook gets, under the names of a profile's overrides.
fn base_pod(values: &Node) -> Node {
    let lists = [
        get(values, &["scheduling", "userPods", "tolerations"]),
        get(values, &["singleuser", "extraTolerations"]),
    ];
    let mut tolerations: Vec<Node> = Vec::new();
    if lists[0].is_none() {
        // The chart's default.
        for key in ["hub.jupyter.org/dedicated", "hub.jupyter.org_dedicated"] {
            tolerations.push(Node::from_json(json!({
                "key": key, "operator": "Equal", "value": "user", "effect": "NoSchedule"
            })));
        }
    }
    let written = lists.into_iter().flatten().flat_map(Node::items);
    tolerations.extend(written.cloned());
    let mut entries = vec![entry(
        "tolerations",
        generated(Value::Sequence(tolerations)),
    )];
    for (name, path) in [
        ("node_selector", &["singleuser", "nodeSelector"][..]),
        (
            "extra_resource_limits",
            &["singleuser", "extraResource", "limits"],
        ),
        (
            "extra_resource_guarantees",
            &["singleuser", "extraResource", "guarantees"],
        ),
    ] {
        if let Some(value) = get(values, path) {
            entries.push(entry(name, value.clone()));
        }
    }
    generated(Value::Mapping(entries))
}

fn requests_devices(own: &Node) -> bool {
    let keys = ["extra_resource_limits", "extra_resource_guarantees"];
    let mut requests = keys.iter().filter_map(|key| own.get(key));
    requests.any(|requests| !requests.entries().is_empty())
}

fn check_pod(cluster: &Checked<'_>, own: &Node, pod: &Node, report: &mut Report) {
    let demand = Demand::from_pod_spec(&pod_spec(pod), &DefaultRequests::default());
    let evaluations = check_pools(&demand, cluster);
    let mut feasibilities = evaluations.iter().map(PoolFeasibility::feasibility);
    if feasibilities.any(|feasibility| feasibility != Feasibility::DoesNotFit) {
        return;
    }
    let reasons = evaluations.iter().flat_map(|it| &it.reasons);
    let mut spans = reasons.map(|reason| reason.request_span);
    let span = spans.find(|span| span.is_written() && is_within(*span, own.span()));
    let message = "the notebooks of this profile fit no pool";
    let span = span.unwrap_or_else(|| own.span());
    let mut builder = report.diagnostic(&PROFILE_UNSCHEDULABLE, span, message);
    for evaluation in &evaluations {
        if let Some(line) = explain_pool(evaluation) {
            builder = builder.label(evaluation.pool.name.span, line);
        }
    }
    let tainted = evaluations.iter().find(|it| is_only_tainted(it));
    builder.help(help(tainted.map(|it| it.pool))).emit();
}

fn help(tainted: Option<&Pool>) -> String {
    let profile = "write the profile as `notebooks.jupyterHub.profiles` with its `pool`";
    match tainted {
        Some(pool) => {
            let tolerations = json!(gpuc_model::derive::tolerations(pool));
            format!("add `tolerations: {tolerations}` to `kubespawner_override`, or {profile}")
        }
        None => profile.to_owned(),
    }
}

/// Whether only taints keep the notebooks from a pool.
fn is_only_tainted(evaluation: &PoolFeasibility<'_>) -> bool {
    let is_taint = |cause: &MisfitCause| matches!(cause, MisfitCause::Taint { .. });
    let reasons = evaluation.reasons.iter();
    let mut obstacles = reasons.filter(|reason| reason.feasibility == Feasibility::DoesNotFit);
    obstacles.all(|reason| is_taint(&reason.cause))
}

fn is_within(inner: Span, outer: Span) -> bool {
    inner.source == outer.source && outer.start <= inner.start && inner.end <= outer.end
}

/// The pod of a notebook, with what decides about its node.
fn pod_spec(pod: &Node) -> Node {
    let get = |key: &str| pod.get(key).cloned();
    let limits = get("extra_resource_limits").map(|it| entry("limits", it));
    let requests = get("extra_resource_guarantees").map(|it| entry("requests", it));
    let resources = limits.into_iter().chain(requests).collect();
    let container = vec![
        entry("name", Node::from_json(json!("notebook"))),
        entry("resources", generated(Value::Mapping(resources))),
    ];
    let containers = generated(Value::Sequence(vec![generated(Value::Mapping(container))]));
    let selector = get("node_selector").map(|it| entry("nodeSelector", it));
    let tolerations = get("tolerations").map(|it| entry("tolerations", it));
    let placement = selector.into_iter().chain(tolerations);
    let entries = placement.chain([entry("containers", containers)]);
    generated(Value::Mapping(entries.collect()))
}

fn get<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, key| node.get(key))
}

fn entry(key: &str, value: Node) -> Entry {
    Entry {
        key: key.to_owned(),
        key_span: Span::NONE,
        value,
    }
}

fn generated(value: Value) -> Node {
    Node {
        value,
        origin: Origin::Inherited,
    }
}
