//! A LimitRange refuses pods.

use std::sync::LazyLock;

use gpuc_syntax::diag::{Code, Correction, Severity};
use regex::Regex;

use super::refusals::{Answer, refusals};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7602",
        name: "limit-range-violated",
        severity: Severity::Error,
        summary: "a LimitRange refuses pods",
        checks: "Whether a LimitRange refused to create a pod in the last hour: a container or the pod requests \
more than its maximum or less than its minimum.",
        reason: "The pods do not exist, so that `kubectl get pods` shows nothing: only an event of the Job, the \
ReplicaSet or another owner names the limit.",
        remedy: "Change the requests and limits in the template of the pod, or the LimitRange of the namespace.",
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
      Error creating: pods "train-x" is forbidden: maximum cpu
      usage per Container is 8, but limit is 16
"#,
        correction: Correction::Replace("suspend: false", "suspend: true"),
    },
    layer: Layer::Quota,
    is_symptom: false,
    needs: &[Kind::Event, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// Source: kubernetes `plugin/pkg/admission/limitranger/admission.go`, 2026-11-28.
static VIOLATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let bound = r"(maximum|minimum) (\S+) usage per (\w+) is ([^\s,]+?)[,.]\s+";
    let actual = r"(?:but (?:limit|request) is (\S+?)[\],]?(?:\s|$))?";
    Regex::new(&format!("{bound}{actual}")).ok()
});

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for refusal in refusals(ctx) {
        if refusal.answer != Answer::LimitRange {
            continue;
        }
        let namespace = &refusal.owner.namespace;
        let captures = VIOLATION
            .as_ref()
            .and_then(|it| it.captures(&refusal.event.message));
        let problem = captures.and_then(|captures| {
            let group = |index: usize| captures.get(index).map(|it| it.as_str());
            let (bound, resource) = (group(1)?, group(2)?);
            let (kind, limit) = (group(3)?, group(4)?);
            let kind = kind.to_lowercase();
            Some(match group(5) {
                Some(actual) => {
                    format!("the {bound} of `{resource}` in a {kind} is {limit}, but its template has {actual}")
                }
                None => format!("the {bound} of `{resource}` in a {kind} is {limit}, but its template sets none"),
            })
        });
        let problem = problem.unwrap_or("its template violates a limit".to_owned());
        findings.push(
            Finding::new(
                &CHECK.code,
                refusal.owner.clone(),
                format!("a LimitRange refuses the pods: {problem}"),
            )
            .evidence(Evidence::event(refusal.event))
            .help(format!(
                "change the amounts in the pod's template, or the LimitRange of the namespace `{namespace}`"
            ))
            .command(format!("kubectl describe limitranges --namespace {namespace}")),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, event, list_objects};

    #[test]
    fn messages_are_explained() {
        for (message, expected) in [
            (
                "maximum nvidia.com/gpu usage per Pod is 4, but limit is 8",
                "the maximum of `nvidia.com/gpu` in a pod is 4, but its template has 8",
            ),
            (
                "[minimum memory usage per Container is 1Gi, but request is 512Mi, x]",
                "the minimum of `memory` in a container is 1Gi, but its template has 512Mi",
            ),
            (
                "maximum cpu usage per Container is 8.  No limit is specified",
                "in a container is 8, but its template sets none",
            ),
            (
                "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000",
                "violates a limit",
            ),
        ] {
            let message = format!("Error creating: pods \"x\" is forbidden: {message}");
            let event = event("StatefulSet", "a", "FailedCreate", &message, "11:50:00");
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &event]));
            assert_eq!(found, ["GPUC7602"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }
}
