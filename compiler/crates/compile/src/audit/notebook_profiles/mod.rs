//! Profiles of JupyterHub that the user writes as chart values: a notebook with GPUs must fit a pool.

mod pod;

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::Plan;
use gpuc_model::scheduling::{
    DefaultRequests, Demand, Feasibility, MisfitCause, PoolFeasibility, check_pools, explain_pool,
};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Node, Origin};
use gpuc_syntax::source::Span;
use serde_json::json;

use crate::charts::JUPYTERHUB;
use pod::{Alternative, base_pod, get, override_pod, pod_spec, requests_devices};

/// Maximum number of combinations of choices that are checked for a profile.
const MAX_COMBINATIONS: usize = 1024;

/// A notebook profile in chart values that fits no pool.
pub(super) static PROFILE_UNSCHEDULABLE: Code = Code {
    id: "GPUC3007",
    name: "notebook-profile-unschedulable",
    severity: Severity::Error,
    summary: "a notebook profile in the values of JupyterHub's chart fits no pool",
    checks: "Whether the notebooks of each profile in `singleuser.profileList` that requests a GPU or another extended
resource fit the nodes of a pool: the resource and its number, the tolerations, the node selector, the required node
affinity, and `extra_pod_config`. A choice of `profile_options` is reported if its notebooks fit no pool with any
choices of the other options. A resource that gpuc does not know, such as `amd.com/gpu`, can exist in any pool.",
    reason: "The notebook stays Pending until the hub gives up, and the person who starts it sees only a timeout.
A profile with `tolerations` replaces those of `singleuser.extraTolerations`.",
    remedy: "Set the tolerations from the help, or write the profile as `notebooks.jupyterHub.profiles` with its `pool`:
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
    let Some(profiles) = get(&release.values, &["singleuser", "profileList"]) else {
        return;
    };
    // A list, or a mapping from names to profiles.
    let values = profiles.entries().iter().map(|entry| &entry.value);
    for profile in profiles.items().iter().chain(values) {
        if profile.span().is_written() && !matches!(profile.origin, Origin::Generated(_)) {
            check_profile(cluster, &base, profile, report);
        }
    }
}

/// A notebook with one choice for each option.
struct Combination<'n, 'c> {
    overrides: Vec<&'n Node>,
    /// The pools and the reasons; `None` if the notebook fits one or does not request devices.
    misfits: Option<Vec<PoolFeasibility<'c>>>,
    pod: Node,
}

/// Checks the notebooks of a profile. A person can select any combination of choices; a choice is wrong if each of its
/// combinations fits no pool.
fn check_profile(cluster: &Checked<'_>, base: &Node, profile: &Node, report: &mut Report) {
    let own = profile.get("kubespawner_override");
    let Some(mut combinations) = combine(cluster, base, profile) else {
        return;
    };
    let mut candidates: Vec<&Node> = own.into_iter().collect();
    for combination in &combinations {
        for &part in &combination.overrides {
            if !candidates.iter().any(|it| std::ptr::eq(*it, part)) {
                candidates.push(part);
            }
        }
    }
    // A choice that requests the devices is the cause rather than one that is combined with it.
    candidates[own.iter().len()..].sort_by_key(|part| !requests_devices(part));
    for part in candidates {
        let with_part = |it: &&Combination| it.overrides.iter().any(|it| std::ptr::eq(*it, part));
        let affected: Vec<_> = combinations.iter().filter(with_part).collect();
        let Some(first) = affected.first() else {
            continue;
        };
        if affected.iter().all(|it| it.misfits.is_some()) {
            report_misfit(part, first, report);
            combinations.retain(|it| !it.overrides.iter().any(|it| std::ptr::eq(*it, part)));
        }
    }
}

/// Returns the combinations that request devices, or `None` if there are too many.
fn combine<'n, 'c>(
    cluster: &'c Checked<'_>,
    base: &Node,
    profile: &'n Node,
) -> Option<Vec<Combination<'n, 'c>>> {
    let own = profile.get("kubespawner_override");
    let mut partial = vec![
        own.into_iter()
            .map(Alternative::Override)
            .collect::<Vec<_>>(),
    ];
    for alternatives in pod::options(profile) {
        if partial.len().saturating_mul(alternatives.len()) > MAX_COMBINATIONS {
            return None;
        }
        let longer = partial.iter().flat_map(|partial| {
            let with = |alternative: &Alternative<'n>| {
                let added = std::iter::once(*alternative);
                partial.iter().copied().chain(added).collect()
            };
            alternatives.iter().map(with)
        });
        partial = longer.collect();
    }
    let combinations = partial.into_iter().filter_map(|alternatives| {
        let overrides = alternatives.iter().filter_map(Alternative::known);
        let overrides: Vec<&Node> = overrides.collect();
        let pod = overrides
            .iter()
            .fold(base.clone(), |pod, own| override_pod(pod, own));
        if !requests_devices(&pod) {
            return None;
        }
        let is_known = !alternatives
            .iter()
            .any(|it| matches!(it, Alternative::Unknown));
        let misfits = is_known.then(|| find_misfits(cluster, &pod)).flatten();
        Some(Combination {
            overrides,
            misfits,
            pod,
        })
    });
    Some(combinations.collect())
}

/// Returns why a notebook fits no pool, or `None` if it fits one.
fn find_misfits<'c>(cluster: &'c Checked<'_>, pod: &Node) -> Option<Vec<PoolFeasibility<'c>>> {
    let demand = Demand::from_pod_spec(&pod_spec(pod), &DefaultRequests::default());
    let evaluations = check_pools(&demand, cluster);
    let mut feasibilities = evaluations.iter().map(PoolFeasibility::feasibility);
    let fits = feasibilities.any(|feasibility| feasibility != Feasibility::DoesNotFit);
    (!fits).then_some(evaluations)
}

fn report_misfit(own: &Node, combination: &Combination<'_, '_>, report: &mut Report) {
    let evaluations = combination.misfits.as_deref().unwrap_or_default();
    let reasons = evaluations.iter().flat_map(|it| &it.reasons);
    let mut spans = reasons.map(|reason| reason.request_span);
    let span = spans.find(|span| span.is_written() && is_within(*span, own.span()));
    let message = "the notebooks of this profile fit no pool";
    let span = span.unwrap_or_else(|| own.span());
    let mut builder = report.diagnostic(&PROFILE_UNSCHEDULABLE, span, message);
    for evaluation in evaluations {
        if let Some(line) = explain_pool(evaluation) {
            builder = builder.label(evaluation.pool.name.span, line);
        }
    }
    builder.help(help(evaluations, &combination.pod)).emit();
}

fn help(evaluations: &[PoolFeasibility<'_>], pod: &Node) -> String {
    let profile = "write the profile as `notebooks.jupyterHub.profiles` with its `pool`";
    let tainted = evaluations.iter().find_map(only_tainted);
    if let Some(pool) = tainted {
        let tolerations = json!(gpuc_model::derive::tolerations(pool));
        let in_pod_config = get(pod, &["extra_pod_config", "tolerations"]).is_some();
        let place = if in_pod_config {
            "extra_pod_config"
        } else {
            "kubespawner_override"
        };
        return format!("set `tolerations: {tolerations}` in `{place}`, or {profile}");
    }
    let amounts = evaluations.iter().filter_map(only_too_many);
    match amounts.max_by_key(|(_, available)| *available) {
        Some((resource, available)) => format!("request at most {available} `{resource}`"),
        None => profile.to_owned(),
    }
}

/// The causes that keep the notebooks from a pool.
fn obstacles<'e>(evaluation: &'e PoolFeasibility<'_>) -> impl Iterator<Item = &'e MisfitCause> {
    let reasons = evaluation.reasons.iter();
    let obstacles = reasons.filter(|reason| reason.feasibility == Feasibility::DoesNotFit);
    obstacles.map(|reason| &reason.cause)
}

/// Returns the pool if only taints keep the notebooks from it.
fn only_tainted<'c>(evaluation: &PoolFeasibility<'c>) -> Option<&'c Pool> {
    let is_taint = |cause: &MisfitCause| matches!(cause, MisfitCause::Taint { .. });
    obstacles(evaluation)
        .all(is_taint)
        .then_some(evaluation.pool)
}

/// Returns the resource and its number on a node, if only the requested number keeps the notebooks from the pool.
fn only_too_many<'e>(evaluation: &'e PoolFeasibility<'_>) -> Option<(&'e str, u64)> {
    let mut obstacles = obstacles(evaluation);
    match (obstacles.next(), obstacles.next()) {
        (
            Some(MisfitCause::TooManyDevices {
                resource,
                available,
                ..
            }),
            None,
        ) => Some((resource, *available)),
        _ => None,
    }
}

fn is_within(inner: Span, outer: Span) -> bool {
    inner.source == outer.source && outer.start <= inner.start && inner.end <= outer.end
}
