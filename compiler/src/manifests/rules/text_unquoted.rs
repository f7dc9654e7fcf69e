//! A value that has to be text is a number or a switch.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Object, Pod, Rule, Scene, edit};
use crate::node::{Node, Scalar, Value};
use crate::yaml::core_schema::{Core, read};

/// A value that has to be text is a number or a switch.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4026",
        name: "manifest-text-unquoted",
        severity: Severity::Error,
        summary: "a value that has to be text is a number or a switch",
        explain: "### What it checks

Whether the values of `nodeSelector`, node affinity, tolerations, environment variables, labels and
annotations, those of pod templates too, are text; `rayStartParams` of Ray and
`nodeLabels` of Kueue's flavors as well. YAML takes `true`, `yes`, `80` and `1.0` without quotes for
something else.

### Why it matters

The API server refuses the object: `json: cannot unmarshal bool into Go struct field … of type
string`.

### What to do

Put the value into quotes; `gpuc check --fix` does.
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
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {nvidia.com/gpu.present: true}
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
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {nvidia.com/gpu.present: "true"}
"#,
    },
    run,
};

/// Words that are switches in YAML 1.1, which is what kubectl reads.
///
/// Source: go-yaml/yaml v2 `resolve.go`, `resolveMap` (from memory).
const SWITCHES: &[&str] = &["yes", "no", "on", "off"];

fn run(scene: &Scene<'_>, report: &mut Report) {
    for object in scene.objects {
        let title = object.title();
        let metadata = object.root.get("metadata");
        of_metadata(scene, metadata, &title, report);
        for (value, what) in of_kind(object) {
            say(scene, value, &what, &title, report);
        }
    }
    for pod in &scene.pods {
        let title = pod.title();
        let template = around(&pod.object.root, pod.spec);
        // Argo's templates have the metadata of their pods beside the container.
        let mut templates = template.into_iter().chain([pod.spec]);
        let metadata = templates.find_map(|it| it.get("metadata"));
        of_metadata(scene, metadata, &title, report);
        for (value, what) in texts(pod) {
            say(scene, value, &what, &title, report);
        }
    }
}

fn of_metadata(scene: &Scene<'_>, metadata: Option<&Node>, title: &str, report: &mut Report) {
    for (key, what) in [("labels", "label"), ("annotations", "annotation")] {
        let entries = metadata.and_then(|it| it.get(key));
        for entry in entries.map_or(&[][..], Node::entries) {
            let what = format!("{what} `{}`", entry.key);
            say(scene, &entry.value, &what, title, report);
        }
    }
}

/// The template of a pod: what holds its spec, and metadata beside that.
fn around<'n>(node: &'n Node, spec: &Node) -> Option<&'n Node> {
    if node.get("spec").is_some_and(|it| std::ptr::eq(it, spec)) {
        return Some(node);
    }
    let below = node.entries().iter().map(|entry| &entry.value);
    let mut below = below.chain(node.items());
    below.find_map(|it| around(it, spec))
}

/// What has to be text in objects of their own kinds, and what it is a value of: parameters of Ray, labels of a flavor.
///
/// Source: ray-project/kuberay `ray-operator/apis/ray/v1/raycluster_types.go`, `RayStartParams`;
/// kubernetes-sigs/kueue `apis/kueue/v1beta1/resourceflavor_types.go`, `NodeLabels` (from memory).
fn of_kind(object: &Object) -> Vec<(&Node, String)> {
    let mut texts = Vec::new();
    if object.is_of("ray.io") {
        maps(&object.root, "rayStartParams", "parameter", &mut texts);
    } else if object.is_of("kueue.x-k8s.io") {
        maps(&object.root, "nodeLabels", "node label", &mut texts);
    }
    texts
}

/// The values of every mapping with a key.
fn maps<'n>(node: &'n Node, key: &str, what: &str, texts: &mut Vec<(&'n Node, String)>) {
    for item in node.items() {
        maps(item, key, what, texts);
    }
    for entry in node.entries() {
        if entry.key == key {
            let entries = entry.value.entries().iter();
            texts.extend(entries.map(|it| (&it.value, format!("{what} `{}`", it.key))));
        } else {
            maps(&entry.value, key, what, texts);
        }
    }
}

/// What has to be text in a pod, and what it is a value of.
fn texts<'n>(pod: &Pod<'n>) -> Vec<(&'n Node, String)> {
    let list = |node: Option<&'n Node>| node.map_or(&[][..], Node::items).iter();
    let mut texts = Vec::new();
    let selector = pod.spec.get("nodeSelector").map_or(&[][..], Node::entries);
    texts.extend(
        selector
            .iter()
            .map(|it| (&it.value, format!("node selector `{}`", it.key))),
    );
    let named = |of: &str, node: &Node, key: &str| match node.get(key).and_then(Node::text) {
        Some(name) => format!("{of} `{name}`"),
        None => of.to_owned(),
    };
    let tolerations = list(pod.spec.get("tolerations"));
    let values =
        tolerations.filter_map(|it| Some((it.get("value")?, named("toleration of", it, "key"))));
    texts.extend(values);
    let affinity = pod.spec.get("affinity");
    let affinity = affinity.and_then(|it| it.get("nodeAffinity"));
    let get = |key| affinity.and_then(|it: &Node| it.get(key));
    let required = get("requiredDuringSchedulingIgnoredDuringExecution");
    let required = list(required.and_then(|it| it.get("nodeSelectorTerms")));
    let preferred = list(get("preferredDuringSchedulingIgnoredDuringExecution"));
    let terms = required.chain(preferred.filter_map(|it| it.get("preference")));
    let expressions = terms.flat_map(|term| list(term.get("matchExpressions")));
    let values = expressions.flat_map(|it| {
        let what = named("node affinity to", it, "key");
        list(it.get("values")).map(move |value| (value, what.clone()))
    });
    texts.extend(values);
    for container in &pod.containers {
        let env = list(container.node.get("env"));
        let values = env.filter_map(|it| Some((it.get("value")?, named("variable", it, "name"))));
        texts.extend(values);
    }
    texts
}

/// Whether YAML 1.1 reads a number with `_` between its digits.
///
/// Source: go-yaml/yaml v2 `resolve.go`, `resolve` (from memory).
fn is_number_of_old(text: &str) -> bool {
    let is_mark = |c: char| c.is_ascii_digit() || c == '_' || c == '.';
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.contains('_')
        && digits.chars().all(is_mark)
        && digits.replace('_', "").parse::<f64>().is_ok()
}

fn say(scene: &Scene<'_>, node: &Node, what: &str, title: &str, report: &mut Report) {
    let Value::Scalar(Scalar::Written { text, plain: true }) = &node.value else {
        return;
    };
    let is = match read(text, true) {
        Core::Bool(_) => "a switch",
        Core::Integer(_) | Core::Float(_) => "a number",
        Core::Text(text) if SWITCHES.contains(&text.to_ascii_lowercase().as_str()) => "a switch",
        Core::Text(text) if is_number_of_old(text) => "a number",
        Core::Null | Core::Text(_) => return,
    };
    let message = format!("the {what} of {title} is {is}, and has to be text");
    let quoted = format!("\"{text}\"");
    let draft = report.draft(&RULE.code, node.span(), message);
    let draft = draft.here(format!("`{text}` has no quotes"));
    let draft = draft.help(format!("write `{quoted}`"));
    match edit::value(scene.sources, node, &quoted) {
        Some(edit) => draft.fix(vec![edit]).emit(),
        None => draft.emit(),
    };
}
