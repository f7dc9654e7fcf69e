//! A pod names a scheduler of which nothing is known.

use crate::api_server::schedulers::{DEFAULT, meant};
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Pod, Rule, Scene};
use crate::node::Node;

/// A pod names a scheduler of which nothing is known.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4072",
        name: "manifest-scheduler-unknown",
        severity: Severity::Warning,
        summary: "a pod names a scheduler of which nothing is known",
        explain: "### What it checks

The `schedulerName` of pods: whether it is `default-scheduler`, or something among the manifests is
called so that may be the scheduler. Volcano's own jobs and what Volcano queues have its scheduler.

### Why it matters

A pod waits for the scheduler that it names. Where nobody of that name runs it waits for ever, and no
event says so. gpuc installs none beside Kubernetes' own.

### What to do

Remove `schedulerName`, or name the finding in `allow` where the scheduler comes from elsewhere.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      schedulerName: volcano
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
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
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for (pod, name) in named(scene) {
        let text = name.text().unwrap_or_default();
        if meant(text).is_some() || is_there(scene, text) {
            continue;
        }
        let message = format!(
            "{} waits for the scheduler `{text}`, which gpuc does not install",
            pod.title()
        );
        let draft = report.draft(&RULE.code, name.span(), message);
        let help = "remove `schedulerName`, or name the finding in `allow` if somebody installs it";
        draft.help(help).emit();
    }
}

/// The pods that name a scheduler, but for those of kinds whose project brings its own.
pub(super) fn named<'p, 's>(scene: &'p Scene<'s>) -> impl Iterator<Item = (&'p Pod<'s>, &'s Node)> {
    let pods = scene.pods.iter().filter(|pod| !pod.object.is_of(VOLCANO));
    pods.filter_map(|pod| {
        let name = pod.spec.get("schedulerName")?;
        let text = name.text()?;
        (!text.is_empty() && text != DEFAULT && !text.contains(['$', '{'])).then_some((pod, name))
    })
}

/// The group of Volcano's jobs, whose scheduler is Volcano's.
const VOLCANO: &str = "batch.volcano.sh";

/// Whether a scheduler of this name may be among the manifests: its own objects are, or it is called so in one that
/// runs or sets it up.
fn is_there(scene: &Scene<'_>, name: &str) -> bool {
    scene.objects.iter().any(|object| {
        let of_volcano = name == "volcano" && object.api_version.contains(".volcano.sh/");
        let own = object.name.as_deref();
        let is_called = own.is_some_and(|own| own.contains(name));
        let is_configured = object.kind == "ConfigMap" && says(&object.root, name);
        of_volcano || is_called || is_configured
    })
}

fn says(root: &Node, name: &str) -> bool {
    let data = root.get("data").map_or(&[][..], Node::entries);
    let mut texts = data.iter().filter_map(|entry| entry.value.text());
    texts.any(|text| text.contains(name))
}
