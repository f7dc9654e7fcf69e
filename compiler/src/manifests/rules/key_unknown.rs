//! A Secret or ConfigMap does not have the key that a pod names.

use crate::diag::words::{nearest, some};
use crate::diag::{Code, Report, Severity};
use crate::manifests::claims::may_meet;
use crate::manifests::{Object, Pod, Rule, Scene};
use crate::node::{Entry, Node};

/// A Secret or ConfigMap does not have the key that a pod names.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4095",
        name: "manifest-key-unknown",
        severity: Severity::Warning,
        summary: "a Secret or ConfigMap does not have the key that a pod names",
        explain: "### What it checks

Whether the keys that pods take from Secrets and ConfigMaps, for variables and as files, are in them,
where these stand among the manifests. What is `optional` may be absent, and what has no keys at all
gets them from somebody else.

### Why it matters

The container does not start: `CreateContainerConfigError`. A file that is not there keeps the whole pod
in `ContainerCreating`.

### What to do

Write the key that there is. Where something adds keys in the cluster, allow the finding.
",
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
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
      env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}]
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for taken in taken(pod) {
            let Some(name) = taken.key.text() else {
                continue;
            };
            let Some(given) = given(scene, pod, &taken) else {
                continue;
            };
            let keys: Vec<_> = keys(given).collect();
            if keys.is_empty() || keys.iter().any(|it| it.key == name) {
                continue;
            }
            let names: Vec<_> = keys.iter().map(|it| it.key.as_str()).collect();
            let near = nearest(name, names.iter().copied());
            let shown = keys.iter().find(|it| Some(it.key.as_str()) == near);
            let message = format!(
                "{} takes the key `{name}` of {}, which does not have it",
                pod.title(),
                given.title()
            );
            let draft = report.draft(&RULE.code, taken.key.span(), message);
            let place = shown.or(keys.first()).map(|it| it.key_span);
            let draft = match place {
                Some(span) => draft.label(span, "what it has"),
                None => draft,
            };
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", some(&names, 3)),
            };
            draft.help(help).emit();
        }
    }
}

/// A key that a pod takes.
struct Taken<'n> {
    kind: &'static str,
    name: &'n str,
    key: &'n Node,
}

/// The kinds, and the keys by which a pod takes a key of them: for a variable, as a volume, as a part of one.
const SOURCES: &[(&str, &str, &str, &str)] = &[
    ("Secret", "secretKeyRef", "secret", "secretName"),
    ("ConfigMap", "configMapKeyRef", "configMap", "name"),
];

/// What a pod takes that it does not do without.
fn taken<'n>(pod: &Pod<'n>) -> Vec<Taken<'n>> {
    let mut found = Vec::new();
    let is_needed = |node: &&Node| node.get("optional").and_then(Node::text) != Some("true");
    let list = |node: &'n Node, key: &str| node.get(key).map_or(&[][..], Node::items);
    for (kind, variable, volume, name) in SOURCES {
        for container in &pod.containers {
            let sources = list(container.node, "env").iter();
            let sources = sources.filter_map(|it| it.get("valueFrom")?.get(variable));
            found.extend(sources.filter(is_needed).filter_map(|source| {
                let (name, key) = (source.get("name")?.text()?, source.get("key")?);
                Some(Taken { kind, name, key })
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
                found.extend(keys.map(|key| Taken { kind, name, key }));
            }
        }
    }
    found
}

/// The only object that it can be, unless a kustomization changes it.
fn given<'s>(scene: &Scene<'s>, pod: &Pod<'_>, taken: &Taken<'_>) -> Option<&'s Object> {
    let objects = scene.objects.iter().enumerate();
    let mut named = objects.filter(|(_, it)| {
        let is_it = it.kind == taken.kind && it.name.as_deref() == Some(taken.name);
        is_it && it.api_version == "v1" && may_meet(it, pod.object)
    });
    let (index, only) = named.next()?;
    let is_whole = named.next().is_none() && !scene.changed.contains(&index);
    is_whole.then_some(only)
}

/// The keys that it has.
fn keys(object: &Object) -> impl Iterator<Item = &Entry> {
    let parts = ["data", "stringData", "binaryData"].into_iter();
    let parts = parts.filter_map(|part| object.root.get(part));
    parts.flat_map(Node::entries)
}
