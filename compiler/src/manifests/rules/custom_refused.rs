//! A custom resource breaks a rule that its definition says.

use crate::api_server::Refused;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Object, Rule, Scene, installed, refused};

/// A custom resource breaks a rule that its definition says.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4090",
        name: "manifest-custom-refused",
        severity: Severity::Warning,
        summary: "a custom resource breaks a rule that its definition says",
        explain: "### What it checks

JobSets, Kubeflow's TrainJobs and runtimes, and Kueue's queues, flavors and topologies: whether what the
definition of each says in rules holds for an object that is made, with the defaults that the API server
writes. It is the definition of the version that the message names, whose chart gpuc installs, and the
words are its own. Rules about what may change later are not asked. Where gpuc installs the project in
this cluster it is an error, `manifest-custom-impossible`.

### Why it matters

The API server refuses the object.

### What to do

Change what the rule speaks of. Where the cluster has another version without the rule, write `allow:
[manifest-custom-refused]`.
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
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec:
  levels:
    - nodeLabel: kubernetes.io/hostname
    - nodeLabel: example.com/rack
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
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec:
  levels:
    - nodeLabel: example.com/rack
    - nodeLabel: kubernetes.io/hostname
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let is_told = |object: &Object, it: &Refused| {
        it.rule_of.is_some() && !installed::brings(scene.cluster, object.group())
    };
    refused::report(scene, &RULE.code, is_told, report);
}
