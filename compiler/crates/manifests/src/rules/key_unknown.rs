//! A pod uses an unknown key of a Secret or ConfigMap.

use gpuc_syntax::diag::words::{nearest, some};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Entry, Node};

use crate::claims::may_meet;
use crate::{Object, Pod, Rule, Scene};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4095",
        name: "manifest-key-unknown",
        severity: Severity::Warning,
        summary: "a pod uses an unknown key of a Secret or ConfigMap",
        checks: "Whether the keys that pods use from Secrets and ConfigMaps, as variables and as files, exist in the objects
among the manifests. References marked `optional` are not checked, nor are objects without any keys, which
something else fills.",
        reason: "The container does not start: `CreateContainerConfigError`. A missing file keeps the whole pod in
`ContainerCreating`.",
        remedy: "Write an existing key. If something adds keys in the cluster, allow the finding.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
kind: Secret
metadata: {name: hub, namespace: research}
stringData: {token: replace-me}
---
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: hub, key: tokn}}}]
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("key: tokn", "key: token"),
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for reference in references(pod) {
            let Some(name) = reference.key.text() else {
                continue;
            };
            let Some(target) = target(scene, pod, &reference) else {
                continue;
            };
            let keys: Vec<_> = keys(target).collect();
            if keys.is_empty() || keys.iter().any(|it| it.key == name) {
                continue;
            }
            let names: Vec<_> = keys.iter().map(|it| it.key.as_str()).collect();
            let closest = nearest(name, names.iter().copied());
            let existing = keys.iter().find(|it| Some(it.key.as_str()) == closest);
            let message = format!(
                "{}: unknown key `{name}` of {}",
                pod.title(),
                target.title()
            );
            let builder = report.diagnostic(&RULE.code, reference.key.span(), message);
            let span = existing.or(keys.first()).map(|it| it.key_span);
            let builder = match span {
                Some(span) => builder.label(span, "an existing key"),
                None => builder,
            };
            let help = match closest {
                Some(closest) => format!("did you mean `{closest}`?"),
                None => format!("use an existing key: {}", some(&names, 3)),
            };
            builder.help(help).emit();
        }
    }
}

/// A reference of a pod to a key.
struct Reference<'n> {
    kind: &'static str,
    name: &'n str,
    key: &'n Node,
}

/// The kinds with the fields that refer to them: in a variable, as a volume, and the name in the volume.
const SOURCES: &[(&str, &str, &str, &str)] = &[
    ("Secret", "secretKeyRef", "secret", "secretName"),
    ("ConfigMap", "configMapKeyRef", "configMap", "name"),
];

/// The references of a pod that are not optional.
fn references<'n>(pod: &Pod<'n>) -> Vec<Reference<'n>> {
    let mut found = Vec::new();
    let is_needed = |node: &&Node| node.get("optional").and_then(Node::text) != Some("true");
    let list = |node: &'n Node, key: &str| node.get(key).map_or(&[][..], Node::items);
    for (kind, variable, volume, name) in SOURCES {
        for container in &pod.containers {
            let sources = list(container.node, "env").iter();
            let sources = sources.filter_map(|it| it.get("valueFrom")?.get(variable));
            found.extend(sources.filter(is_needed).filter_map(|source| {
                let (name, key) = (source.get("name")?.text()?, source.get("key")?);
                Some(Reference { kind, name, key })
            }));
        }
        for of_pod in list(pod.spec, "volumes") {
            let whole = of_pod.get(volume).map(|it| (it, *name));
            let parts = of_pod.get("projected").map(|it| list(it, "sources"));
            let parts = parts.into_iter().flatten();
            let parts = parts.filter_map(|it| Some((it.get(volume)?, "name")));
            for (source, name) in whole.into_iter().chain(parts) {
                let Some(name) = source.get(name).and_then(Node::text) else {
                    continue;
                };
                let items = list(source, "items").iter().filter(|_| is_needed(&source));
                let keys = items.filter_map(|it| it.get("key"));
                found.extend(keys.map(|key| Reference { kind, name, key }));
            }
        }
    }
    found
}

/// The object that a reference names; `None` if it is ambiguous or a kustomization changes it.
fn target<'s>(scene: &Scene<'s>, pod: &Pod<'_>, reference: &Reference<'_>) -> Option<&'s Object> {
    let objects = scene.objects.iter().enumerate();
    let mut named = objects.filter(|(_, it)| {
        let is_named = it.kind == reference.kind && it.name.as_deref() == Some(reference.name);
        is_named && it.api_version == "v1" && may_meet(it, pod.object)
    });
    let (index, only) = named.next()?;
    let is_whole = named.next().is_none() && !scene.changed.contains(&index);
    is_whole.then_some(only)
}

/// The keys of a Secret or ConfigMap.
fn keys(object: &Object) -> impl Iterator<Item = &Entry> {
    let parts = ["data", "stringData", "binaryData"].into_iter();
    let parts = parts.filter_map(|part| object.root.get(part));
    parts.flat_map(Node::entries)
}
