//! A ResourceQuota refuses pods.

use std::sync::LazyLock;

use gpuc_syntax::diag::{Code, Correction, Severity};
use regex::Regex;

use super::refusals::{Answer, refusals};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::Quantity;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7601",
        name: "quota-exceeded",
        severity: Severity::Error,
        summary: "a ResourceQuota refuses pods",
        checks: "Whether a ResourceQuota refused to create a pod in the last hour, and still has no room for it.",
        reason: "The pods do not exist, so that `kubectl get pods` shows nothing: only an event of the Job, the \
ReplicaSet or another owner names the quota. The controller tries again with increasing delay.",
        remedy: "End pods of the namespace, raise the quota, or request less. If the quota counts CPU or memory, \
every container must set them, or a LimitRange must have defaults.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: ResourceQuota
    metadata: {name: gpus, namespace: ml}
    spec: {hard: {requests.nvidia.com/gpu: "8"}}
    status:
      hard: {requests.nvidia.com/gpu: "8"}
      used: {requests.nvidia.com/gpu: "6"}
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: train, namespace: ml}
    spec: {suspend: false}
  - apiVersion: v1
    kind: Event
    metadata: {name: train.1, namespace: ml}
    involvedObject: {kind: Job, namespace: ml, name: train}
    reason: FailedCreate
    message: >-
      Error creating: pods "train-x" is forbidden: exceeded quota: gpus,
      requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=6, limited: requests.nvidia.com/gpu=8
"#,
        correction: Correction::Replace(
            r#"used: {requests.nvidia.com/gpu: "6"}"#,
            r#"used: {requests.nvidia.com/gpu: "4"}"#,
        ),
    },
    layer: Layer::Quota,
    is_symptom: false,
    needs: &[Kind::Event, Kind::ResourceQuota, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// Source: kubernetes `staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go`, 2026-11-28.
static EXCEEDED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"exceeded quota: ([^,]+), requested: (.+?), used: (.+?), limited: ([^\s;]+)").ok()
});

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for refusal in refusals(ctx) {
        if refusal.answer != Answer::Quota {
            continue;
        }
        let namespace = &refusal.owner.namespace;
        let message = &refusal.event.message;
        let Some((message, help)) = explain(ctx, namespace, message) else {
            continue;
        };
        let teams = ctx.cluster.into_iter().flat_map(|it| &it.teams);
        let mut teams =
            teams.filter(|team| team.namespaces.iter().any(|it| it.value == *namespace));
        findings.push(
            Finding::new(&CHECK.code, refusal.owner.clone(), message)
                .evidence(Evidence::event(refusal.event))
                .input(teams.next().map(|team| team.name.span))
                .help(help)
                .command(format!(
                    "kubectl describe resourcequotas --namespace {namespace}"
                )),
        );
    }
}

/// The problem and what to do; `None` if the quota has room now.
fn explain(ctx: &Context<'_>, namespace: &str, message: &str) -> Option<(String, String)> {
    let captures = EXCEEDED.as_ref().and_then(|it| it.captures(message));
    let Some(captures) = captures else {
        let (_, rest) = message.split_once("failed quota: ")?;
        let (name, rest) = rest.split_once(':')?;
        let (_, amounts) = rest.split_once("must specify ")?;
        // The amounts are separated by semicolons, each followed by its containers.
        let amounts = amounts.split(';').map(|part| {
            let name = part.split(" for: ").next().unwrap_or(part);
            format!("`{}`", name.trim())
        });
        let amounts: Vec<String> = amounts.collect();
        return Some((
            format!(
                "the ResourceQuota `{name}` refuses pods without {}",
                amounts.join(" and ")
            ),
            "set these amounts in all containers, or create a LimitRange with defaults".to_owned(),
        ));
    };
    let group = |index: usize| captures.get(index).map_or("", |it| it.as_str());
    let name = group(1);
    let (requested, used, limited) = (amounts(group(2)), amounts(group(3)), amounts(group(4)));
    if has_room(ctx, namespace, name, &requested) {
        return None;
    }
    let of = |list: &[(String, String)], key: &str| {
        let found = list.iter().find(|(name, _)| name == key);
        found.map(|(_, amount)| amount.clone())
    };
    let (resource, wanted) = requested.first()?;
    let limit = of(&limited, resource)?;
    let in_use = of(&used, resource)?;
    let parsed = |text: &str| Quantity::Text(text.to_owned()).thousandths();
    if parsed(wanted) > parsed(&limit) {
        return Some((
            format!(
                "the ResourceQuota `{name}` never allows the pods: each requests {wanted} `{resource}` of {limit}"
            ),
            format!(
                "request at most {limit} `{resource}` in a pod, or raise the ResourceQuota `{name}`"
            ),
        ));
    }
    Some((
        format!(
            "the ResourceQuota `{name}` has no room for the pods: {in_use} of {limit} `{resource}` are in use, and a \
                 pod requests {wanted}"
        ),
        format!("end pods of the namespace `{namespace}`, or raise the ResourceQuota `{name}`"),
    ))
}

/// The amounts of `a=1,b=2`.
fn amounts(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|it| it.trim().split_once('='));
    pairs
        .map(|(name, amount)| (name.to_owned(), amount.to_owned()))
        .collect()
}

/// Whether the status of the quota has room for these amounts.
fn has_room(
    ctx: &Context<'_>,
    namespace: &str,
    name: &str,
    requested: &[(String, String)],
) -> bool {
    let Some(quota) = ctx.state.object(Kind::ResourceQuota, namespace, name) else {
        return false;
    };
    let amount = |list: &str, resource: &str| {
        let value = quota.get(list).get(resource)?.as_str()?;
        Quantity::Text(value.to_owned()).thousandths()
    };
    requested.iter().all(|(resource, wanted)| {
        let hard = amount("/status/hard", resource);
        let used = amount("/status/used", resource);
        let wanted = Quantity::Text(wanted.clone()).thousandths();
        match (hard, used, wanted) {
            (Some(hard), Some(used), Some(wanted)) => used.saturating_add(wanted) <= hard,
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, event, list_objects};

    fn find(message: &str) -> (Vec<&'static str>, String) {
        let event = event("StatefulSet", "a", "FailedCreate", message, "11:50:00");
        codes(&list_objects(&[HEALTHY_NODE, &event]))
    }

    #[test]
    fn messages_are_explained() {
        for (message, expected) in [
            (
                "create Pod a-0 in StatefulSet a failed error: pods \"a-0\" is forbidden: exceeded quota: q, \
                 requested: requests.nvidia.com/gpu=16,pods=1, used: requests.nvidia.com/gpu=0,pods=9, limited: \
                 requests.nvidia.com/gpu=8,pods=9",
                "never allows the pods: each requests 16 `requests.nvidia.com/gpu` of 8",
            ),
            (
                "(combined from similar events): Error creating: exceeded quota: q, \
                 requested: requests.memory=4Gi, used: requests.memory=61Gi, limited: requests.memory=64Gi",
                "61Gi of 64Gi `requests.memory` are in use, and a pod requests 4Gi",
            ),
            (
                "Error creating: pods \"x\" is forbidden: failed quota: q: must specify limits.cpu for: main",
                "refuses pods without `limits.cpu`",
            ),
        ] {
            let (found, text) = find(message);
            assert_eq!(found, ["GPUC7601"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn strange_messages_do_no_harm() {
        for message in [
            "exceeded quota: ",
            "exceeded quota: q, requested: , used: , limited: x",
            "failed quota: q",
        ] {
            let (found, text) = find(message);
            assert!(found.is_empty(), "{text}");
        }
    }
}
