//! A file defines an object twice.

use std::collections::BTreeMap;

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::object::Object;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4098",
        name: "manifest-object-duplicated",
        severity: Severity::Warning,
        summary: "a file defines an object twice",
        checks: "Whether two objects of a file have the same API group, kind, namespace and name.",
        reason: "`kubectl apply` creates the first object and replaces it with the second one; kustomize, Flux and Argo CD reject
the file or report a conflict. One of the two is never there.",
        remedy: "Rename one of the objects, or delete it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
--- # manifest.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: research}
data: {model: small}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: research}
data: {model: large}
"#,
        correction: Correction::Replace(
            "name: settings, namespace: research}
data: {model: large}",
            "name: other-settings, namespace: research}
data: {model: large}",
        ),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let mut first_names: BTreeMap<_, &Node> = BTreeMap::new();
    for object in ctx.objects.iter().filter(|it| !is_hook(it)) {
        let Some(name) = name_node(object) else {
            continue;
        };
        let key = (
            object.root.span().source,
            object.group(),
            &object.kind,
            &object.namespace,
            &object.name,
        );
        // The steps of a workflow may be alternatives.
        if object.is_embedded {
            continue;
        }
        let Some(first) = first_names.get(&key) else {
            first_names.insert(key, name);
            continue;
        };
        let message = format!("the file defines {} twice", object.title());
        report
            .diagnostic(&RULE.code, name.span(), message)
            .primary_label("replaces the first one")
            .label(first.span(), "the first object of this name")
            .help("rename one of them, or delete it")
            .emit();
    }
}

/// Whether an object is a hook of Helm, which exists only during an installation.
fn is_hook(object: &Object) -> bool {
    let metadata = object.root.get("metadata");
    let annotations = metadata.and_then(|it| it.get("annotations"));
    annotations.is_some_and(|it| it.get("helm.sh/hook").is_some())
}

/// The name of an object, unless a template or a controller completes it.
fn name_node(object: &Object) -> Option<&Node> {
    let name = object.root.get("metadata")?.get("name")?;
    let is_complete = |text: &&str| !text.is_empty() && !text.contains(['{', '$', '<']);
    name.text().filter(is_complete).map(|_| name)
}
