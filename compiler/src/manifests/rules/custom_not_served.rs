//! A custom resource is of an API version that its definition does not serve.

use crate::api_server;
use crate::diag::{Code, Report, Severity, words};
use crate::manifests::{Rule, Scene};

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
version that the message names, serves it.

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
    for object in scene.objects {
        let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
        let Some((project, versions)) = api_server::instead(version, kind) else {
            continue;
        };
        // What a program fills in may be any.
        let Some(written) = object
            .root
            .get("apiVersion")
            .filter(|_| !version.contains(['{', '$']))
        else {
            continue;
        };
        let message = format!(
            "{} is of `{version}`, by which {project} serves no {kind}",
            object.title()
        );
        let draft = report.draft(&RULE.code, written.span(), message);
        draft
            .help(format!("write {}", words::all(&versions, "or")))
            .emit();
    }
}
