//! A pod does not tolerate the taints of the pool that it needs.

use gpuc_model::scheduling::{Demand, PodToleration, tolerates};
use gpuc_model::{Pool, Toleration};
use gpuc_syntax::diag::{Code, Correction, Edit, Report, Severity};
use serde_json::{Value as Json, json};

use crate::scheduling::{UnschedulableCause, obstacles};
use crate::{CheckContext, Pod, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4004",
        name: "manifest-toleration-missing",
        severity: Severity::Error,
        summary: "a pod does not tolerate the taints of the pool that it needs",
        checks: "Whether a pod that requests GPUs tolerates every taint of a pool that advertises them. Whether a pod that
selects a pool tolerates the taints of that pool.",
        reason: "The pod stays Pending indefinitely: `node(s) had untolerated taint`. The taints reserve the pool's nodes for
pods with the toleration.",
        remedy: "Add the tolerations in the help; `gpuc check --fix` adds them. gpuc accounts for tolerations that Kueue or the
cloud adds automatically.",
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
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("containers:", "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for unplaced in &ctx.unschedulable {
        let UnschedulableCause::Taints(pools) = &unplaced.cause else {
            continue;
        };
        let evaluations: Vec<_> = pools
            .iter()
            .map(|index| &unplaced.evaluations[*index])
            .collect();
        let pod = &ctx.pods[unplaced.pod];
        let Some(first) = evaluations.first() else {
            continue;
        };
        let missing = missing_tolerations(first.pool, &unplaced.demand);
        // A toleration that does not match the taint completely.
        let partial = obstacles(first).map(|reason| reason.request_span);
        let partial = partial.filter(|span| span.is_written()).min();
        let message = format!(
            "{} does not tolerate the taints of pool `{}`",
            pod.title(),
            first.pool.name
        );
        let span = partial.unwrap_or_else(|| unplaced.span(&ctx.pods));
        let mut builder = report.diagnostic(&RULE.code, span, message);
        for evaluation in &evaluations {
            for reason in obstacles(evaluation) {
                builder = builder.label(
                    reason.pool_span,
                    format!("pool `{}` {reason}", evaluation.pool.name),
                );
            }
        }
        let words: Vec<_> = missing.iter().map(|it| flow_toleration(it)).collect();
        let builder = builder.help(format!("add to `tolerations`: {}", words.join(", ")));
        let texts = |pool: &Pool| {
            let missing =
                crate::rules::toleration_missing::missing_tolerations(pool, &unplaced.demand);
            missing
                .iter()
                .map(|it| flow_toleration(it))
                .collect::<Vec<_>>()
        };
        let is_same = evaluations
            .iter()
            .all(|evaluation| texts(evaluation.pool) == words);
        let corrected = match missing.as_slice() {
            [only] => correction_edit(ctx, pod, &unplaced.demand, only),
            _ => None,
        };
        if !is_same {
            builder.emit();
            continue;
        }
        match (corrected, add_tolerations_edit(ctx, pod, &missing)) {
            (Some(edits), _) => builder.suggest(edits).emit(),
            // Knative accepts tolerations only with the feature `kubernetes.podspec-tolerations`.
            (None, Some(edit)) if pod.object.is_in_group("serving.knative.dev") => {
                builder.suggest(vec![edit]).emit()
            }
            (None, Some(edit)) => builder.fix(vec![edit]).emit(),
            (None, None) => builder.emit(),
        };
    }
}

/// The tolerations that the pod lacks for a pool.
fn missing_tolerations<'p>(pool: &'p Pool, demand: &Demand) -> Vec<&'p Toleration> {
    let is_missing = |toleration: &&Toleration| {
        let mut taints = pool.taints.iter();
        let taint = taints.find(|it| it.key == toleration.key && it.effect == toleration.effect);
        taint.is_some_and(|taint| !demand.tolerations.iter().any(|it| tolerates(it, taint)))
    };
    pool.tolerations.iter().filter(is_missing).collect()
}

fn toleration_json(toleration: &Toleration) -> Json {
    let (key, effect) = (&toleration.key, &toleration.effect);
    if toleration.value.is_empty() {
        return json!({"key": key, "operator": "Exists", "effect": effect});
    }
    json!({"key": key, "operator": "Equal", "value": toleration.value, "effect": effect})
}

/// Corrects a toleration with the same key that matches no taint of any pool.
fn correction_edit(
    ctx: &CheckContext<'_>,
    pod: &Pod<'_>,
    demand: &Demand,
    missing: &Toleration,
) -> Option<Vec<Edit>> {
    let taints = || ctx.cluster.pools.iter().flat_map(|pool| &pool.taints);
    let is_useless = |it: &&PodToleration| !taints().any(|taint| tolerates(it, taint));
    let mut own = demand.tolerations.iter().filter(|it| it.key == missing.key);
    let wrong = own.clone().find(is_useless)?;
    // With several it is not certain which one is wrong.
    if own.any(|it| it.span != wrong.span) {
        return None;
    }
    let list = pod.placement().get("tolerations")?.items();
    let item = list.iter().find(|item| item.span() == wrong.span)?;
    let right = toleration_json(missing);
    let mut edits = Vec::new();
    for (key, is_right) in [
        (
            "value",
            wrong.matches_any_value || wrong.value == missing.value,
        ),
        (
            "effect",
            wrong.effect.is_empty() || right["effect"] == *wrong.effect,
        ),
    ] {
        let text = right.get(key).and_then(Json::as_str);
        match (is_right, item.get(key), text) {
            (true, ..) => {}
            (false, Some(written), Some(text)) => {
                edits.push(text_edit::replace_text(ctx.sources, written, text)?);
            }
            (false, None, Some(text)) => {
                edits.push(text_edit::append_entry(
                    ctx.sources,
                    item,
                    key,
                    &Json::from(text),
                )?);
            }
            (false, _, None) => return None,
        }
    }
    (!edits.is_empty()).then_some(edits)
}

/// The toleration in flow style, in backticks.
fn flow_toleration(toleration: &Toleration) -> String {
    format!(
        "`{}`",
        text_edit::flow_text(&toleration_json(toleration), false)
    )
}

/// Adds the missing tolerations.
fn add_tolerations_edit(
    ctx: &CheckContext<'_>,
    pod: &Pod<'_>,
    missing: &[&Toleration],
) -> Option<Edit> {
    let values: Vec<Json> = missing.iter().map(|it| toleration_json(it)).collect();
    let existing = pod.placement().get("tolerations");
    // Tolerations of a template would replace those of its workflow.
    let workflow = pod.workflow.and_then(|it| it.get("tolerations"));
    if existing.is_none() && workflow.is_some() {
        return None;
    }
    let empty = pod
        .placement()
        .entry("tolerations")
        .filter(|it| it.value.items().is_empty());
    let filled =
        empty.and_then(|it| text_edit::fill_value(ctx.sources, it, &Json::from(values.clone())));
    if !values.is_empty() && filled.is_some() {
        return filled;
    }
    match (existing, values.as_slice()) {
        (_, []) => None,
        (None, values) => {
            let values = Json::from(values.to_vec());
            text_edit::append_entry(ctx.sources, pod.placement(), "tolerations", &values)
        }
        (Some(list), [first, rest @ ..]) => {
            let mut edit = text_edit::append_item(ctx.sources, list, first)?;
            for value in rest {
                edit.text
                    .push_str(&text_edit::append_item(ctx.sources, list, value)?.text);
            }
            Some(edit)
        }
    }
}
