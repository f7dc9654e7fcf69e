//! A ResourceQuota refuses pods.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gpuc_syntax::diag::{Code, Correction, Severity};
use regex::Regex;
use serde::Deserialize;

use super::refusals::{Answer, refusals};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::{Object, ObjectRef, PodSpec, Quantity};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7601",
        name: "quota-exceeded",
        severity: Severity::Error,
        summary: "a ResourceQuota refuses pods",
        checks: "Whether a ResourceQuota refused to create a pod in the last hour, and still has no room for it. A \
Job without pods is found without an event, by a quota that is full.",
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
    needs: &[Kind::Event, Kind::ResourceQuota, Kind::Pod, Kind::Job],
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
        findings.push(
            Finding::new(&CHECK.code, refusal.owner.clone(), message)
                .evidence(Evidence::event(refusal.event))
                .help(help)
                .command(format!(
                    "kubectl describe resourcequotas --namespace {namespace}"
                )),
        );
    }
    let refused: BTreeSet<ObjectRef> = (findings.iter())
        .filter(|it| it.code.id == CHECK.code.id)
        .flat_map(|it| it.subjects.iter().cloned())
        .collect();
    let jobs = ctx.state.objects(Kind::Job).iter();
    let jobs = jobs.filter(|job| !refused.contains(&ObjectRef::of_kind("Job", &job.metadata)));
    findings.extend(jobs.filter_map(|job| job_without_pods(ctx, job)));
}

/// The seconds in which the pods of a Job are created.
const CREATION_SECONDS: u64 = 600;

/// A Job whose pods a full quota refuses. The event expires after an hour.
fn job_without_pods(ctx: &Context<'_>, job: &Object) -> Option<Finding> {
    let is_true = |kind| job.condition(kind).is_some_and(|it| it.is_true());
    let has_ended = is_true("Complete") || is_true("Failed") || is_true("SuccessCriteriaMet");
    let is_suspended = job.get("/spec/suspend") == true;
    let active = job.get("/status/active").as_u64().unwrap_or_default();
    let age = ctx.age(job.metadata.creation_timestamp);
    let is_new = age.is_some_and(|seconds| seconds < CREATION_SECONDS);
    let is_deleted = job.metadata.deletion_timestamp.is_some();
    if has_ended || is_suspended || active > 0 || is_new || is_deleted {
        return None;
    }
    let spec = PodSpec::deserialize(job.get("/spec/template/spec")).ok()?;
    let demand = PodDemand::from_spec(&spec);
    let namespace = &job.metadata.namespace;
    let quotas = ctx.state.objects(Kind::ResourceQuota).iter();
    // A quota with scopes may not be about these pods.
    let mut quotas = quotas.filter(|quota| {
        quota.metadata.namespace == *namespace
            && quota.get("/spec/scopes").is_null()
            && quota.get("/spec/scopeSelector").is_null()
    });
    quotas.find_map(|quota| {
        let name = &quota.metadata.name;
        let mut gpus = demand.gpus();
        let (resource, wanted) = gpus.find(|(resource, wanted)| {
            let requested = [(format!("requests.{resource}"), wanted.to_string())];
            let is_limited = !quota.get("/status/hard")[&requested[0].0].is_null();
            is_limited && !has_room(ctx, namespace, name, &requested)
        })?;
        let key = format!("requests.{resource}");
        let value = |list: &str| quota.get(list)[&key].as_str().unwrap_or_default().to_owned();
        let (in_use, limit) = (value("/status/used"), value("/status/hard"));
        let message = format!(
            "the ResourceQuota `{name}` has no room for the pods: {in_use} of {limit} `{key}` are in use, and a pod \
             requests {wanted}"
        );
        let object = ObjectRef::of_kind("ResourceQuota", &quota.metadata);
        Some(
            Finding::new(&CHECK.code, ObjectRef::of_kind("Job", &job.metadata), message)
                .field(object, &format!("status.used[\"{key}\"]"), in_use)
                .help(format!(
                    "end pods of the namespace `{namespace}`, or raise the ResourceQuota `{name}`"
                ))
                .command(format!("kubectl describe resourcequotas --namespace {namespace}")),
        )
    })
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

    /// A Job without an event, and a quota of which this much is used.
    fn job(fields: &str, used: &str) -> (Vec<&'static str>, String) {
        let job = format!(
            r#"{{"kind": "Job", "apiVersion": "batch/v1",
              "metadata": {{"name": "train", "namespace": "ml", "creationTimestamp": "2026-11-28T11:00:00Z"}},
              "spec": {{{fields} "template": {{"spec": {{"containers": [
                {{"name": "main", "resources": {{"limits": {{"nvidia.com/gpu": "4"}}}}}}]}}}}}}, "status": {{}}}}"#
        );
        let quota = format!(
            r#"{{"kind": "ResourceQuota", "apiVersion": "v1", "metadata": {{"name": "q", "namespace": "ml"}},
              "status": {{"hard": {{"requests.nvidia.com/gpu": "8"}}, "used": {{"requests.nvidia.com/gpu": "{used}"}}}}}}"#
        );
        codes(&list_objects(&[HEALTHY_NODE, &job, &quota]))
    }

    #[test]
    fn a_job_without_pods_and_without_an_event_is_explained_by_a_full_quota() {
        let (found, text) = job("", "8");
        assert_eq!(found, ["GPUC7601"], "{text}");
        assert!(
            text.contains("8 of 8 `requests.nvidia.com/gpu` are in use, and a pod requests 4"),
            "{text}"
        );
        assert!(text.contains("Job ml/train"), "{text}");
        assert_eq!(job("", "5").0, ["GPUC7601"]);
        assert_eq!(job("", "4").0, [] as [&str; 0]);
        assert_eq!(job(r#""suspend": true,"#, "8").0, [] as [&str; 0]);
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
