//! A webhook that must answer does not.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::refusals::{Answer, refusals};
use super::webhooks::{Webhook, all_webhooks, find_webhooks, is_available, is_starting};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7604",
        name: "webhook-unavailable",
        severity: Severity::Error,
        summary: "a webhook with `failurePolicy: Fail` does not answer",
        checks: "Whether the Service of each webhook with `failurePolicy: Fail` has an endpoint that is ready, and \
whether the API server reached the webhooks in the last hour.",
        reason: "The API server refuses every request that the webhook should check. If these are pods, no pod \
starts, often not even the pods of the webhook itself or of the device plugin.",
        remedy: "Start the pods of the Service. If they cannot start because the webhook refuses them, delete the \
webhook configuration: its controller or its chart creates it again. For an error of certificates, restart the \
controller that renews `caBundle`.",
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
  - apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: kueue-validating-webhook-configuration}
    webhooks:
      - name: vpod.kb.io
        failurePolicy: Fail
        clientConfig: {service: {namespace: kueue-system, name: kueue-webhook-service}}
  - apiVersion: v1
    kind: Service
    metadata: {name: kueue-webhook-service, namespace: kueue-system}
    spec: {selector: {app: kueue}}
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata:
      name: kueue-webhook-service-x
      namespace: kueue-system
      labels: {kubernetes.io/service-name: kueue-webhook-service}
    endpoints: [{addresses: [10.0.0.7], conditions: {ready: false}}]
"#,
        correction: Correction::Replace("conditions: {ready: false}", "conditions: {ready: true}"),
    },
    layer: Layer::Api,
    is_symptom: false,
    needs: &[
        Kind::ValidatingWebhookConfiguration,
        Kind::MutatingWebhookConfiguration,
        Kind::EndpointSlice,
        Kind::Event,
    ],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let mut reported: BTreeSet<ObjectRef> = BTreeSet::new();
    for webhook in all_webhooks(ctx) {
        let is_required = webhook.is_required() && !is_starting(ctx, &webhook);
        let object = webhook.object();
        if !is_required || reported.contains(&object) || is_available(ctx, &webhook) != Some(false)
        {
            continue;
        }
        let (namespace, service) = (webhook.namespace(), webhook.service());
        let message = format!(
            "the webhook `{}` must answer, but its Service `{namespace}/{service}` has no endpoint that is ready",
            webhook.name()
        );
        reported.insert(object.clone());
        findings.push(
            Finding::new(&CHECK.code, object.clone(), message)
                .field(object, "webhooks[*].failurePolicy", "Fail")
                .field(
                    ObjectRef::new("Service", namespace, service),
                    "endpoints that are ready",
                    "0",
                )
                .help(format!(
                    "start the pods of the Service `{namespace}/{service}`; if the webhook refuses them itself, \
                     delete the webhook configuration first"
                ))
                .command(format!("kubectl get pods --namespace {namespace} --output wide")),
        );
    }
    for refusal in refusals(ctx) {
        let Answer::Webhook(name) = refusal.answer else {
            continue;
        };
        let Some((problem, help)) = explain(&refusal.event.message) else {
            continue;
        };
        for webhook in find_webhooks(ctx, name) {
            if !reported.insert(webhook.object()) {
                continue;
            }
            findings.push(report(&webhook, problem, help).evidence(Evidence::event(refusal.event)));
        }
    }
}

fn report(webhook: &Webhook<'_>, problem: &str, help: &str) -> Finding {
    let message = format!(
        "the webhook `{}` is not available: {problem}",
        webhook.name()
    );
    Finding::new(&CHECK.code, webhook.object(), message)
        .help(help)
        .command(format!(
            "kubectl get pods --namespace {} --output wide",
            webhook.namespace()
        ))
}

/// Errors that do not end when the pods of a webhook run.
///
/// Source: Go `crypto/x509` and `net/http`, kubernetes-sigs/kueue issue 5509, 2026-11-28.
fn explain(message: &str) -> Option<(&'static str, &'static str)> {
    let has = |text: &str| message.contains(text);
    if has("x509: ") || has("tls: ") {
        return Some((
            "the API server does not accept its certificate",
            "restart the controller that sets `caBundle` in the webhook configuration, or renew the certificate",
        ));
    }
    let is_late = has("context deadline exceeded") || has("Client.Timeout") || has("i/o timeout");
    is_late.then_some((
        "the API server waits too long",
        "allow traffic from the control plane to the pods of the webhook, and read their logs",
    ))
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, event, list_objects};

    fn webhook(policy: &str) -> String {
        format!(
            r#"{{"kind": "MutatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1",
              "metadata": {{"name": "kueue", "creationTimestamp": "2026-11-28T11:00:00Z"}},
              "webhooks": [{{}}, {{"name": "u", "clientConfig": {{"url": "https://x"}}}},
                {{"name": "mjob.kb.io", "failurePolicy": {policy},
                  "clientConfig": {{"service": {{"namespace": "kueue", "name": "hook"}}}}}}]}}"#
        )
    }

    fn slice(endpoints: &str) -> String {
        format!(
            r#"{{"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
              "metadata": {{"name": "hook-x", "namespace": "kueue",
                "labels": {{"kubernetes.io/service-name": "hook"}}}},
              "endpoints": {endpoints}}}"#
        )
    }

    const READY: &str = r#"[{"addresses": ["10.0.0.1"]}]"#;

    #[test]
    fn endpoints_are_compared() {
        for (policy, endpoints, expected) in [
            (r#""Fail""#, "null", 1),
            ("null", "[]", 1),
            (r#""Ignore""#, "[]", 0),
            (r#""Fail""#, READY, 0),
            (
                r#""Fail""#,
                r#"[{"addresses": [], "conditions": {"ready": true}}]"#,
                1,
            ),
        ] {
            let (found, text) = codes(&list_objects(&[
                HEALTHY_NODE,
                &webhook(policy),
                &slice(endpoints),
            ]));
            assert_eq!(found.len(), expected, "{policy} {endpoints}: {text}");
        }
        // Endpoints that are not known are no evidence.
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &webhook("null")]));
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn webhooks_that_start_are_silent() {
        let service = r#"{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "hook", "namespace": "kueue"},
          "spec": {"selector": {"app": "kueue"}}}"#;
        for (time, expected) in [("11:59:00", 0), ("11:30:00", 1)] {
            let pod = format!(
                r#"{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "kueue-x", "namespace": "kueue",
                    "labels": {{"app": "kueue"}}, "creationTimestamp": "2026-11-28T{time}Z"}},
                  "status": {{"phase": "Running"}}}}"#
            );
            let objects = [HEALTHY_NODE, &webhook("null"), &slice("[]"), service, &pod];
            let (found, text) = codes(&list_objects(&objects));
            assert_eq!(found.len(), expected, "{text}");
        }
    }

    #[test]
    fn refused_pods_are_explained() {
        let refused = |error: &str| {
            let message = format!(
                "Error creating: Internal error occurred: failed calling webhook \"mjob.kb.io\": \
                 failed to call webhook: {error}"
            );
            event("StatefulSet", "a", "FailedCreate", &message, "11:50:00")
        };
        let x509 = "x509: certificate signed by unknown authority";
        for (error, endpoints, expected) in [
            (x509, READY, &["GPUC7604"][..]),
            ("context deadline exceeded", READY, &["GPUC7604"]),
            ("connect: connection refused", "[]", &["GPUC7604"]),
            // The webhook runs again.
            ("connect: connection refused", READY, &[]),
        ] {
            let objects = [
                HEALTHY_NODE,
                &webhook("null"),
                &slice(endpoints),
                &refused(error),
            ];
            let (found, text) = codes(&list_objects(&objects));
            assert_eq!(found, expected, "{error}: {text}");
            assert_eq!(
                text.contains("StatefulSet ml/a"),
                !expected.is_empty(),
                "{text}"
            );
        }
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &refused(x509)]));
        assert_eq!(found, ["GPUC7603"], "{text}");
    }
}
