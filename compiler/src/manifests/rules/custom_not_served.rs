//! A custom resource is of an API version that its definition does not serve.

use crate::api_server;
use crate::diag::{Code, Draft, Report, Severity, words};
use crate::manifests::{Object, Rule, Scene, installed};
use crate::node::Node;

/// A custom resource is of an API version that its definition does not serve.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4091",
        name: "manifest-custom-not-served",
        severity: Severity::Warning,
        summary: "a custom resource is of an API version that its definition does not serve",
        explain: "### What it checks

The `apiVersion` of JobSets, LeaderWorkerSets, Kubeflow's TrainJobs, runtimes and PyTorchJobs, Kueue's
queues, flavors and classes, and Volcano's jobs and queues: whether the definition of the kind, in the
version that the message names, serves it. Where gpuc installs the project in this cluster it is an error,
`manifest-api-not-served`.

### Why it matters

The API server refuses the object: `no matches for kind \"PyTorchJob\" in version
\"kubeflow.org/v1beta2\"`. Nothing else of the object is checked by its definition.

### What to do

Write what the help says. Where the cluster has another version of the project that serves it, write
`allow: [manifest-custom-not-served]`.
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
apiVersion: trainer.kubeflow.org/v1beta1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1.0.0
    numNodes: 1
    resourcesPerNode: {limits: {nvidia.com/gpu: 2}}
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
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1.0.0
    numNodes: 1
    resourcesPerNode: {limits: {nvidia.com/gpu: 2}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let objects = scene.objects.iter();
    for object in objects.filter(|it| !installed::brings(scene.cluster, it.group())) {
        if let Some(other) = Other::of(object) {
            other.draft(&RULE.code, report).emit();
        }
    }
}

/// An object of a version that its definition does not serve.
pub(super) struct Other<'s> {
    object: &'s Object,
    written: &'s Node,
    project: &'static str,
    versions: Vec<&'static str>,
}

impl<'s> Other<'s> {
    /// What an object is, where it is one.
    pub(super) fn of(object: &'s Object) -> Option<Self> {
        let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
        let (project, versions) = api_server::instead(version, kind)?;
        let written = object.root.get("apiVersion");
        // What a program fills in may be any.
        let written = written.filter(|_| !version.contains(['{', '$']))?;
        Some(Self {
            object,
            written,
            project,
            versions,
        })
    }

    /// Says so.
    pub(super) fn draft<'r>(self, code: &'static Code, report: &'r mut Report) -> Draft<'r> {
        let message = format!(
            "{} is of `{}`, by which {} serves no {}",
            self.object.title(),
            self.object.api_version,
            self.project,
            self.object.kind
        );
        let draft = report.draft(code, self.written.span(), message);
        draft.help(format!("write {}", words::all(&self.versions, "or")))
    }
}
