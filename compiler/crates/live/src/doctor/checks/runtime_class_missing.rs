//! A RuntimeClass that pods of the GPU stack or with GPUs name does not exist.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gpuc_syntax::diag::{Code, Correction, Severity};
use regex::Regex;

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::{Event, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7204",
        name: "runtime-class-missing",
        severity: Severity::Error,
        summary: "pods are refused because their RuntimeClass does not exist",
        checks: "Whether the API server refuses pods because the RuntimeClass that they name does not exist.",
        reason: "The controller cannot create the pods: its object exists, no pod does, and only an event says why. \
Events are deleted after an hour.",
        remedy: "Create the RuntimeClass, or remove `runtimeClassName` from the pod's template. The GPU Operator \
creates the RuntimeClass `nvidia`; without the operator, use CDI or create it by hand. Clouds that inject the driver \
by default need none.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Event
    metadata: {name: plugin.1, namespace: kube-system}
    involvedObject: {kind: DaemonSet, namespace: kube-system, name: nvidia-device-plugin}
    reason: FailedCreate
    message: >-
      Error creating: pods "nvidia-device-plugin-x" is forbidden: pod rejected: RuntimeClass "nvidia" not found
    type: Warning
    count: 17
    lastTimestamp: "2026-11-28T12:00:00Z"
"#,
        correction: Correction::Replace(
            r"  - apiVersion: v1
    kind: Event
",
            r"  - apiVersion: node.k8s.io/v1
    kind: RuntimeClass
    metadata: {name: nvidia}
    handler: nvidia
  - apiVersion: v1
    kind: Event
",
        ),
    },
    layer: Layer::Toolkit,
    is_symptom: false,
    needs: &[Kind::Event, Kind::RuntimeClass],
    needs_logs: Logs::None,
    run,
};

/// The message of the admission plugin for RuntimeClasses.
///
/// Source: kubernetes `plugin/pkg/admission/runtimeclass/admission.go`, 2026-11-28.
static MESSAGE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"RuntimeClass "([^"]+)" not found"#).ok());

/// The seconds in which controllers try to create a pod again: at most 17 minutes.
const RETRY_SECONDS: u64 = 1800;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let events = ctx.state.events.items.iter();
    let refused = events.filter(|event| event.reason == "FailedCreate");
    let mut known = BTreeSet::new();
    for event in refused {
        let object = event.subject();
        let Some(name) = missing_class(ctx, event).filter(|_| !known.contains(&object)) else {
            continue;
        };
        known.insert(object.clone());
        let message = format!("pods are refused: the RuntimeClass `{name}` does not exist");
        findings.push(
            Finding::new(&CHECK.code, object, message)
                .evidence(Evidence::event(event))
                .help(format!(
                    "create the RuntimeClass `{name}`, or remove `runtimeClassName` from the pod's template"
                ))
                .command("kubectl get runtimeclasses"),
        );
    }
}

/// The RuntimeClass that an event names as missing, if it is missing still.
fn missing_class<'e>(ctx: &Context<'_>, event: &'e Event) -> Option<&'e str> {
    let name = MESSAGE.as_ref()?.captures(&event.message)?.get(1)?.as_str();
    let age = ctx.age(event.last_seen());
    let is_old = age.is_none_or(|age| age > RETRY_SECONDS);
    let exists = ctx.state.object(Kind::RuntimeClass, "", name).is_some();
    (!is_old && !exists && !is_deleted(ctx, event)).then_some(name)
}

/// Whether the DaemonSet that an event is about does not exist any more.
fn is_deleted(ctx: &Context<'_>, event: &Event) -> bool {
    let daemon_sets = &ctx.state.daemon_sets;
    let object = event.subject();
    let mut others = daemon_sets.items.iter();
    object.kind == "DaemonSet"
        && daemon_sets.completeness.is_complete()
        && !others.any(|it| ObjectRef::of_kind("DaemonSet", &it.metadata) == object)
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
    fn pods_that_are_refused_for_other_reasons_have_other_checks() {
        let (codes, text) = check(r#"RuntimeClass "nvidia" not found"#, "exceeded quota: gpus");
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn one_object_has_one_finding() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (_, event) = objects.split_once("items:\n").unwrap();
        let second = event.replace("plugin.1", "plugin.2");
        let (codes, text) = codes(&format!("{objects}{second}"));
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert_eq!(text.matches("-->").count(), 1, "{text}");
    }

    #[test]
    fn events_of_deleted_daemon_sets_do_not_count() {
        let other = r"  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: other, namespace: kube-system}
";
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&format!("{objects}{other}"));
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn old_events_do_not_count() {
        let later = r#"  - apiVersion: v1
    kind: Event
    metadata: {name: other, namespace: default}
    lastTimestamp: "2026-11-28T12:50:00Z"
"#;
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&format!("{objects}{later}"));
        assert!(codes.is_empty(), "{text}");
    }
}
