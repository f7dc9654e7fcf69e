//! The API server refuses to create pods.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::refusals::{Answer, refusals};
use super::webhooks::{Webhook, find_webhooks, is_available};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7603",
        name: "pods-refused",
        severity: Severity::Error,
        summary: "the API server refuses to create pods",
        checks: "Whether the API server refused to create a pod in the last hour, because of a missing \
PriorityClass or ServiceAccount, of Pod Security, of an admission policy, or of a webhook.",
        reason: "The pods do not exist, so that `kubectl get pods` shows nothing: only an event of the Job, the \
DaemonSet or another owner names the reason.",
        remedy: "Create the object that the message names, or change the template of the pod as the policy \
requires.",
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
      Error creating: pods "train-x" is forbidden: no PriorityClass
      with name production was found
"#,
        correction: Correction::Replace("suspend: false", "suspend: true"),
    },
    layer: Layer::Api,
    is_symptom: true,
    needs: &[Kind::Event, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// A part of the answer, the problem, and what to do. `{}` is the text in quotes after the part.
type Signature = (&'static str, &'static str, &'static str);

/// Source: kubernetes `plugin/pkg/admission` (`runtimeclass`, `priority`, `serviceaccount`, `resourcequota`) and
/// `staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating`, `staging/src/k8s.io/pod-security-admission`,
/// 2026-11-28.
static SIGNATURES: &[Signature] = &[
    (
        "no PriorityClass with name ",
        "the PriorityClass {} does not exist",
        "create the PriorityClass {}, or correct `priorityClassName` in the pod's template",
    ),
    (
        "serviceaccount ",
        "the ServiceAccount {} does not exist",
        "create the ServiceAccount {} in the namespace of the pod",
    ),
    (
        "insufficient quota to match these scopes",
        "no ResourceQuota allows their PriorityClass in the namespace",
        "create a ResourceQuota in the namespace with a `scopeSelector` for the PriorityClass",
    ),
    (
        "violates PodSecurity ",
        "they violate the Pod Security Standard {}",
        "change the security context of the pod's template, or the label `pod-security.kubernetes.io/enforce` of the \
namespace",
    ),
    (
        "ValidatingAdmissionPolicy ",
        "the ValidatingAdmissionPolicy {} denies them",
        "change the pod's template as the message requires",
    ),
    (
        "admission webhook ",
        "the webhook {} denies them",
        "change the pod's template as the message requires",
    ),
    (
        "unable to validate against any security context constraint",
        "no SecurityContextConstraints allow them",
        "grant the ServiceAccount of the pods the use of SecurityContextConstraints that allow the template",
    ),
];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for refusal in refusals(ctx) {
        let message = &refusal.event.message;
        let (problem, help, causes) = match refusal.answer {
            Answer::Webhook(name) => {
                let webhooks: Vec<_> = find_webhooks(ctx, name).collect();
                let has_recovered = !webhooks.is_empty()
                    && message_is_about_connections(message)
                    && webhooks
                        .iter()
                        .all(|it| is_available(ctx, it) == Some(true));
                if has_recovered {
                    continue;
                }
                (
                    format!("the webhook `{name}` does not answer"),
                    "repair the webhook, or delete its configuration if it is not needed"
                        .to_owned(),
                    webhooks.iter().map(Webhook::object).collect(),
                )
            }
            Answer::Other => match explain(ctx, message) {
                Some((problem, help)) => (problem, help, Vec::new()),
                None => continue,
            },
            Answer::Quota | Answer::LimitRange => continue,
        };
        let owner = &refusal.owner;
        findings.push(
            Finding::new(
                &CHECK.code,
                owner.clone(),
                format!("the API server refuses to create the pods: {problem}"),
            )
            .evidence(Evidence::event(refusal.event))
            .depends_on(causes)
            .help(help)
            .command(format!(
                "kubectl describe {} --namespace {} {}",
                owner.kind.to_lowercase(),
                owner.namespace,
                owner.name
            )),
        );
    }
}

/// The problem and what to do, if the answer is known and does not pass by itself.
fn explain(ctx: &Context<'_>, message: &str) -> Option<(String, String)> {
    // Another check reports missing RuntimeClasses.
    if message.contains("pod rejected: RuntimeClass ") {
        return None;
    }
    let mut signatures = SIGNATURES.iter();
    let found = signatures.find_map(|(text, problem, help)| {
        let (_, rest) = message.split_once(text)?;
        let has_name = problem.contains("{}");
        let quoted = rest.strip_prefix(['"', '\'']);
        let name = quoted.and_then(|it| it.split(['"', '\'']).next());
        let name = match name {
            Some(name) => format!("`{name}`"),
            None if has_name => {
                let word = rest.split_whitespace().next()?;
                format!("`{word}`")
            }
            None => String::new(),
        };
        // The owner tries again after the object was created.
        let name_alone = name.trim_matches('`');
        let exists = problem.starts_with("the PriorityClass")
            && ctx
                .state
                .object(Kind::PriorityClass, "", name_alone)
                .is_some();
        let texts = (problem.replace("{}", &name), help.replace("{}", &name));
        Some((texts, exists))
    });
    if let Some(((problem, help), exists)) = found {
        let is_denial = !problem.contains("does not exist")
            || message.contains("not found")
            || message.contains("was found");
        return (is_denial && !exists).then_some((problem, help));
    }
    // Namespaces that are being deleted, timeouts and conflicts pass.
    let is_lasting = message.contains("is forbidden")
        && !message.contains("is being terminated")
        && !message.contains("is being deleted");
    is_lasting.then(|| {
        (
            "they are forbidden".to_owned(),
            "change the pod's template as the message requires".to_owned(),
        )
    })
}

/// Whether the webhook could not be reached, which ends when its pods run.
fn message_is_about_connections(message: &str) -> bool {
    [
        "connection refused",
        "no endpoints available",
        "not found",
        "no route to host",
    ]
    .iter()
    .any(|text| message.contains(text))
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, event, list_objects};

    #[test]
    fn messages_are_explained() {
        for (message, expected) in [
            (
                "no PriorityClass with name high was found",
                "the PriorityClass `high` does not exist",
            ),
            (
                "error looking up service account ml/x: serviceaccount \"x\" not found",
                "the ServiceAccount `x` does not exist",
            ),
            (
                "insufficient quota to match these scopes: [{PriorityClass In [system-node-critical]}]",
                "no ResourceQuota allows",
            ),
            (
                "violates PodSecurity \"baseline:latest\": hostPath volumes",
                "the Pod Security Standard `baseline:latest`",
            ),
            (
                "ValidatingAdmissionPolicy 'gpuc' with binding 'gpuc' denied request: no",
                "the ValidatingAdmissionPolicy `gpuc` denies",
            ),
            ("something new", "they are forbidden"),
        ] {
            let message = format!("Error creating: pods \"x\" is forbidden: {message}");
            let event = event("DaemonSet", "a", "FailedCreate", &message, "11:50:00");
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &event]));
            assert_eq!(found, ["GPUC7603"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn passing_errors_are_silent() {
        for message in [
            "Error creating: pods \"x\" is forbidden: unable to create new content in namespace ml because it is being \
             terminated",
            "Error creating: Timeout: request did not complete within requested timeout",
            "Error creating: etcdserver: leader changed",
            "",
        ] {
            let event = event("DaemonSet", "a", "FailedCreate", message, "11:50:00");
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &event]));
            assert!(found.is_empty(), "{text}");
        }
    }

    #[test]
    fn classes_that_exist_by_now_are_silent() {
        let message =
            "Error creating: pods \"x\" is forbidden: no PriorityClass with name high was found";
        let event = event("DaemonSet", "a", "FailedCreate", message, "11:50:00");
        let class = r#"{"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": "high"}}"#;
        assert_eq!(
            codes(&list_objects(&[HEALTHY_NODE, &event])).0,
            ["GPUC7603"]
        );
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &event, class]));
        assert!(found.is_empty(), "{text}");
    }
}
