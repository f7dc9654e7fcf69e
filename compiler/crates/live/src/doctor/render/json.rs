//! The diagnosis as JSON.

use gpuc_syntax::source::Sources;
use serde_json::{Value, json};

use super::place;
use crate::doctor::{Cause, Diagnosis, Evidence, Finding, Step};
use crate::objects::ObjectRef;

/// The diagnosis as JSON: `{"version":1,"causes":[…],"notChecked":[…],"totals":{…}}`.
///
/// `steps` is the story of a pod, if one was selected.
pub fn json(diagnosis: &Diagnosis, steps: &[Step], sources: &Sources) -> String {
    let causes = diagnosis.causes.iter();
    let causes = causes.map(|cause| cause_value(cause, sources));
    let skipped = diagnosis.skipped.iter().map(|skipped| {
        json!({
            "code": skipped.check.code.id,
            "name": skipped.check.code.name,
            "reasons": skipped.reasons,
        })
    });
    let steps = steps.iter().map(
        |step| json!({"step": step.name, "outcome": step.outcome.as_str(), "text": step.text}),
    );
    let value = json!({
        "version": 1,
        "steps": steps.collect::<Vec<_>>(),
        "causes": causes.collect::<Vec<_>>(),
        "notChecked": skipped.collect::<Vec<_>>(),
        "completedChecks": diagnosis.completed,
        "totals": {
            "nodes": diagnosis.totals.nodes,
            "gpuNodes": diagnosis.totals.gpu_nodes,
            "pods": diagnosis.totals.pods,
        },
    });
    format!("{value:#}\n")
}

/// A cause and what it explains, as in the list `causes` of [`json()`].
pub fn cause_value(cause: &Cause, sources: &Sources) -> Value {
    let mut value = finding_value(&cause.finding, sources);
    let explained = cause.consequences.iter();
    let explained: Vec<Value> = explained.map(|it| finding_value(it, sources)).collect();
    value["explains"] = explained.into();
    value
}

fn finding_value(finding: &Finding, sources: &Sources) -> Value {
    json!({
        "code": finding.code.id,
        "name": finding.code.name,
        "severity": finding.code.severity.as_str(),
        "layer": finding.layer.as_str(),
        "message": finding.message,
        "objects": finding.subjects.iter().map(object_value).collect::<Vec<_>>(),
        "evidence": finding.evidence.iter().map(evidence_value).collect::<Vec<_>>(),
        "input": finding.input.map(|span| place(sources, span)),
        "help": finding.help,
        "command": finding.command,
    })
}

fn object_value(object: &ObjectRef) -> Value {
    let mut value = json!({"kind": object.kind, "name": object.name});
    if !object.namespace.is_empty() {
        value["namespace"] = object.namespace.clone().into();
    }
    value
}

fn evidence_value(evidence: &Evidence) -> Value {
    match evidence {
        Evidence::Field {
            object,
            path,
            value,
        } => json!({"object": object_value(object), "path": path, "value": value}),
        Evidence::Event {
            object,
            reason,
            message,
            count,
        } => json!({
            "object": object_value(object),
            "event": reason,
            "message": message,
            "count": count,
        }),
        Evidence::Log {
            object,
            container,
            line,
        } => json!({"object": object_value(object), "container": container, "line": line}),
    }
}
