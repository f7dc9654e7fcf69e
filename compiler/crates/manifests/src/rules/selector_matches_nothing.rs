//! A pod selects nodes that no pool has.

use gpuc_kubernetes::api_server::{self, Completeness, Step, Violation};
use gpuc_model::scheduling::{MisfitCause, Operator, PoolFeasibility, Reason};
use gpuc_model::{GpuLabelWriter, POOL_LABEL, Pool, is_gpu_label};
use gpuc_syntax::diag::{Code, Correction, Edit, Report, Severity, phrases};

use crate::corrections::select_by_pool;
use crate::scheduling::{UnschedulableCause, obstacles};
use crate::{CheckContext, Container, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4006",
        name: "manifest-selector-matches-nothing",
        severity: Severity::Error,
        summary: "a pod selects nodes that no pool has",
        checks: "Whether the nodes of some pool have the labels that `nodeSelector` and the required node affinity of a pod
select. gpuc knows the labels of the file, its own labels, those of GPUs, and those that the cloud sets,
such as the machine type, the GPU model and the node group. A label that may have been added to nodes by
hand counts as present. The labels of GPUs, such as `nvidia.com/gpu.product`, exist only on pools where
gpuc-runtime or GPU Feature Discovery writes them.",
        reason: "The pod stays Pending indefinitely: `node(s) didn't match Pod's node affinity/selector`.",
        remedy: "Select a pool by its name with the label `gpuc.dev/pool`, or write a value that the nodes have; the help
lists them.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {gpuc.dev/pool: gpus}
"#,
        correction: Correction::Replace("gpuc.dev/pool: gpus", "gpuc.dev/pool: gpu"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for unplaced in ctx
        .unschedulable
        .iter()
        .filter(|it| it.cause == UnschedulableCause::Selector)
    {
        let pod = &ctx.pods[unplaced.pod];
        // An invalid affinity is reported by `unreadable`.
        let of_affinity = |found: &Violation| found.path.first() == Some(&Step::from("affinity"));
        let refused = api_server::validate_pod_spec(pod.placement(), Completeness::Partial);
        if refused.iter().any(of_affinity) {
            continue;
        }
        let Some(closest) = unplaced.closest_pool() else {
            continue;
        };
        let Some(reason) = obstacles(closest).find(is_label) else {
            continue;
        };
        let message = format!("no pool has the nodes that {} selects", pod.title());
        let span = if reason.request_span.is_written() {
            reason.request_span
        } else {
            unplaced.span(&ctx.pods)
        };
        let mut builder = report.diagnostic(&RULE.code, span, message);
        for evaluation in &unplaced.evaluations {
            if let Some(reason) = obstacles(evaluation).find(is_label) {
                let text = format!("pool `{}` {reason}", evaluation.pool.name);
                builder = builder.label(evaluation.pool.name.span, text);
            }
        }
        let with = match pod.containers.iter().find_map(Container::gpu_request) {
            Some(gpus) => ctx.pools_advertising(&gpus.key),
            None => ctx.cluster.pools.iter().collect(),
        };
        let existing = existing_values(&reason.cause, &unplaced.evaluations, &with);
        let names: Vec<_> = with.iter().filter(|pool| !pool.is_existing()).collect();
        let names: Vec<_> = names.iter().map(|pool| pool.name.as_str()).collect();
        let by_model = pool_with_model(&reason.cause, ctx);
        let named = by_model.map(|pool| pool.name.as_str());
        let meant = closest_value(&reason.cause, &names, &existing).or(named);
        let edit = meant.and_then(|name| replace_value_edit(ctx, reason, name));
        let named = by_model.filter(|pool| meant == Some(pool.name.as_str()));
        let help = named.map_or_else(
            || {
                let help = help(&reason.cause, meant, &existing, &names);
                unwritten_label_help(ctx, &reason.cause, &with, &help).unwrap_or(help)
            },
            |pool| {
                let select = select_by_pool(&[&pool.name], is_expression(&reason.cause));
                format!("{select}, the pool with this GPU")
            },
        );
        let builder = builder.help(help);
        match edit {
            Some(edit) => builder.suggest(vec![edit]).emit(),
            None => builder.emit(),
        };
    }
}

fn is_label(reason: &&Reason) -> bool {
    matches!(
        reason.cause,
        MisfitCause::Label { .. } | MisfitCause::NoMatchingTerm { .. } | MisfitCause::NodeField
    )
}

/// The values of the selected label on the nodes of the given pools.
fn existing_values(
    cause: &MisfitCause,
    evaluations: &[PoolFeasibility<'_>],
    with: &[&Pool],
) -> Vec<String> {
    let MisfitCause::Label { requirement, .. } = cause else {
        return Vec::new();
    };
    let actual_value = |reason: &Reason| match &reason.cause {
        MisfitCause::Label {
            requirement: other,
            actual,
        } if other.key == requirement.key => actual.clone(),
        _ => None,
    };
    let is_given =
        |evaluation: &&PoolFeasibility<'_>| with.iter().any(|it| it.index == evaluation.pool.index);
    let reasons = evaluations.iter().filter(is_given).flat_map(obstacles);
    let mut values: Vec<_> = reasons.filter_map(actual_value).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The only pool with the GPU model that is written in place of a pool's name.
fn pool_with_model<'s>(cause: &MisfitCause, ctx: &CheckContext<'s>) -> Option<&'s Pool> {
    let MisfitCause::Label { requirement, .. } = cause else {
        return None;
    };
    let [value] = requirement.values.as_slice() else {
        return None;
    };
    let plain = |name: &str| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.collect::<String>().to_ascii_lowercase()
    };
    let value = plain(value.to_ascii_lowercase().trim_start_matches("nvidia-"));
    let is_same = |name: &&str| plain(name) == value;
    let mut with = ctx.cluster.gpu_pools().filter(|(pool, gpus)| {
        let model = gpus.model;
        // The family `a100` of `a100-sxm4-80gb`.
        let family = model.key.split('-').next().unwrap_or_default();
        let mut names = model.aliases.iter().copied().chain([model.key, family]);
        !pool.is_existing() && names.any(|name| is_same(&name))
    });
    let (only, _) = with.next()?;
    let is_name = requirement.key == POOL_LABEL && requirement.operator == Operator::In;
    (is_name && with.next().is_none()).then_some(only)
}

/// The intended value: a misspelled name of a pool, or the same value in another case. Similar names of GPU models or
/// machine types are different ones.
fn closest_value<'n>(
    cause: &MisfitCause,
    names: &[&'n str],
    existing: &'n [String],
) -> Option<&'n str> {
    let MisfitCause::Label { requirement, .. } = cause else {
        return None;
    };
    let [value] = requirement.values.as_slice() else {
        return None;
    };
    if requirement.operator != Operator::In {
        return None;
    }
    let mut case_matches = existing.iter().filter(|it| it.eq_ignore_ascii_case(value));
    let are_pools = !existing.is_empty() && existing.iter().all(|it| names.contains(&it.as_str()));
    let closest = || phrases::closest_match(value, names.iter().copied());
    let case_matches = case_matches.next().map(String::as_str);
    case_matches.or_else(|| closest().filter(|_| requirement.key == POOL_LABEL || are_pools))
}

/// Whether the pod selects the label with an expression of a node affinity.
fn is_expression(cause: &MisfitCause) -> bool {
    match cause {
        MisfitCause::Label { requirement, .. } => requirement.is_expression,
        _ => true,
    }
}

fn help(cause: &MisfitCause, meant: Option<&str>, existing: &[String], names: &[&str]) -> String {
    let key = match cause {
        MisfitCause::Label { requirement, .. } => requirement.key.as_str(),
        _ => POOL_LABEL,
    };
    let is_expression = is_expression(cause);
    let select_pool = match names {
        [] => "write a label that the nodes have".to_owned(),
        names => select_by_pool(names, is_expression),
    };
    match (meant, existing) {
        (Some(meant), _) if is_expression => format!("write `values: [{meant}]`"),
        (Some(meant), _) if key != POOL_LABEL => format!("write `{key}: {meant}`"),
        (_, []) => select_pool,
        _ if key == POOL_LABEL => select_pool,
        (_, values) => format!(
            "use a value of `{key}` that the nodes have: {}; or {select_pool}",
            phrases::quoted_conjunction(values, "or")
        ),
    }
}

/// The help for a label of GPUs that nothing writes on the given pools.
fn unwritten_label_help(
    ctx: &CheckContext<'_>,
    cause: &MisfitCause,
    with: &[&Pool],
    help: &str,
) -> Option<String> {
    let MisfitCause::Label { requirement, .. } = cause else {
        return None;
    };
    let key = requirement.key.as_str();
    let pools = || with.iter().filter(|pool| pool.has_gpus());
    let is_unwritten = |pool: &&&Pool| ctx.cluster.gpu_label_writer(pool) == GpuLabelWriter::None;
    if !is_gpu_label(key) || pools().next().is_none() || !pools().all(|pool| is_unwritten(&pool)) {
        return None;
    }
    let mut charts = pools().filter_map(|pool| ctx.cluster.chart_without_feature_discovery(pool));
    let needs_chart = !ctx.cluster.has_node_feature_discovery()
        && pools().all(|pool| ctx.cluster.can_run_feature_discovery(pool));
    let discovery = match charts.next() {
        Some(chart) => {
            let missing = if needs_chart {
                " and add `charts: {node-feature-discovery: {}}`"
            } else {
                ""
            };
            format!(
                "; or remove `gfd.enabled: false` from the values of `charts.{chart}`{missing} in the cluster file, so \
                 that GPU Feature Discovery writes it"
            )
        }
        None if needs_chart => {
            "; or add `charts: {node-feature-discovery: {}}` to the cluster file, so that GPU \
                                Feature Discovery writes it"
                .to_owned()
        }
        None => String::new(),
    };
    Some(format!(
        "nothing writes the label `{key}`: {help}{discovery}"
    ))
}

/// Replaces the selected value, if it is one plain word.
fn replace_value_edit(ctx: &CheckContext<'_>, reason: &Reason, value: &str) -> Option<Edit> {
    let text = ctx.sources.text(reason.request_span);
    let is_plain = !text.contains(['"', '\'', '*', '&', ' ', '\n', '{', '[']);
    let can_edit = is_plain && reason.request_span.is_written() && text.len() < 64;
    can_edit.then(|| Edit {
        span: reason.request_span,
        text: value.to_owned(),
    })
}
