//! A value that has to be text is a number or a switch.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Pod, Rule, Scene, edit};
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
annotations, those of pod templates too, are text. YAML takes `true`, `yes`, `80` and `1.0` without quotes for something else.

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
        let metadata = object.root.get("metadata");
        of_metadata(scene, metadata, &object.title(), report);
    }
    for pod in &scene.pods {
        let title = pod.title();
        let metadata = around(&pod.object.root, pod.spec).and_then(|it| it.get("metadata"));
        of_metadata(scene, metadata, &title, report);
        for (value, what) in texts(pod) {
            say(scene, value, what, &title, report);
        }
    }
}

fn of_metadata(scene: &Scene<'_>, metadata: Option<&Node>, title: &str, report: &mut Report) {
    for (key, what) in [("labels", "label"), ("annotations", "annotation")] {
        let entries = metadata.and_then(|it| it.get(key));
        for entry in entries.map_or(&[][..], Node::entries) {
            say(scene, &entry.value, what, title, report);
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

/// What has to be text in a pod, and what it is a value of.
fn texts<'n>(pod: &Pod<'n>) -> Vec<(&'n Node, &'static str)> {
    let list = |node: Option<&'n Node>| node.map_or(&[][..], Node::items).iter();
    let mut texts = Vec::new();
    let selector = pod.spec.get("nodeSelector").map_or(&[][..], Node::entries);
    texts.extend(selector.iter().map(|it| (&it.value, "node selector")));
    let tolerations = list(pod.spec.get("tolerations"));
    let values = tolerations.filter_map(|it| it.get("value"));
    texts.extend(values.map(|it| (it, "toleration")));
    let affinity = pod.spec.get("affinity");
    let affinity = affinity.and_then(|it| it.get("nodeAffinity"));
    let get = |key| affinity.and_then(|it: &Node| it.get(key));
    let required = get("requiredDuringSchedulingIgnoredDuringExecution");
    let required = list(required.and_then(|it| it.get("nodeSelectorTerms")));
    let preferred = list(get("preferredDuringSchedulingIgnoredDuringExecution"));
    let terms = required.chain(preferred.filter_map(|it| it.get("preference")));
    let expressions = terms.flat_map(|term| list(term.get("matchExpressions")));
    let values = expressions.flat_map(|it| list(it.get("values")));
    texts.extend(values.map(|it| (it, "node affinity")));
    for container in &pod.containers {
        let env = list(container.node.get("env"));
        let values = env.filter_map(|it| it.get("value"));
        texts.extend(values.map(|it| (it, "variable")));
    }
    texts
}

fn say(scene: &Scene<'_>, node: &Node, what: &str, title: &str, report: &mut Report) {
    let Value::Scalar(Scalar::Written { text, plain: true }) = &node.value else {
        return;
    };
    let is = match read(text, true) {
        Core::Bool(_) => "a switch",
        Core::Integer(_) | Core::Float(_) => "a number",
        Core::Text(text) if SWITCHES.contains(&text.to_ascii_lowercase().as_str()) => "a switch",
        Core::Null | Core::Text(_) => return,
    };
    let message = format!("the {what} `{text}` of {title} is {is}, and has to be text");
    let quoted = format!("\"{text}\"");
    let draft = report.draft(&RULE.code, node.span(), message);
    let draft = draft.help(format!("write `{quoted}`"));
    match edit::value(scene.sources, node, &quoted) {
        Some(edit) => draft.fix(vec![edit]).emit(),
        None => draft.emit(),
    };
}
