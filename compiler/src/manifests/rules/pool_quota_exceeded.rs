//! Pods that a queue lets start together ask for more than their team may have of one pool.

use super::quota_exceeded::limit;
use crate::check::together::{self, Sum};
use crate::diag::{Code, Report, Severity};
use crate::manifests::sets::loads;
use crate::manifests::{Rule, Scene, gangs};
use crate::placement::{What, stuck};

/// Pods that a queue lets start together ask for more than their team may have of one pool.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4081",
        name: "manifest-pool-quota-exceeded",
        severity: Severity::Error,
        summary: "pods that start together ask for more than their team may have of one pool",
        explain: "### What it checks

Under `queueing: kueue`, the pods of an object of a team's namespace that start together, such as those of
a Job, of a StatefulSet or of a group of Ray's workers, against what the team may have of each of the
pools that hold them: its `limit`, and no more than others lend. Kueue gives all of them the GPUs of one
pool. Pods of a Deployment start one by one, and a Job with `kueue.x-k8s.io/job-min-parallelism` counts
with so many.

### Why it matters

Kueue never admits such a job, however idle the pools are: what the team may have of several pools does
not add up for it.

### What to do

Ask for fewer pods, split the job, or raise the team's `limit` of one pool.
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
  - {name: more, gpu: {model: A30, perNode: 2}, hosts: [node-3], nodes: {count: 1}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}, {pool: more, guaranteed: 2}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, namespace: research}
spec:
  parallelism: 3
  completions: 30
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: sweep
          image: registry.example.com/sweep:1.0.0
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
  - {name: more, gpu: {model: A30, perNode: 2}, hosts: [node-3], nodes: {count: 1}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}, {pool: more, guaranteed: 2}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, namespace: research}
spec:
  parallelism: 2
  completions: 30
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: sweep
          image: registry.example.com/sweep:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for (pod, load) in loads(scene) {
        let team = load.team.and_then(|name| scene.cluster.team(name));
        let Some(stuck) = team.and_then(|team| stuck(scene.cluster, team, &load)) else {
            continue;
        };
        // What is more than all pools together is another finding.
        let what = What::Device(stuck.resource.clone());
        let limit = limit(scene, pod, &stuck.resource);
        let Some((limit, _)) = limit else { continue };
        let gang = [load];
        let is_said = match gangs::at_once(scene.cluster, pod) {
            Some(_) => !Sum::of_one(scene.cluster, &gang, 0).is_empty(),
            None => gang[0].asks(&what) > limit,
        };
        if is_said {
            continue;
        }
        let [load] = gang;
        together::draft_stuck(&stuck, &load, &RULE.code, report).emit();
    }
}
