//! An image has a CUDA that is older than the cards.

use gpuc_schema::gpu::cuda::first_cuda_for;

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::held;
use crate::manifests::{Rule, Scene};
use crate::model::{Pool, PoolGpus};
use crate::node::Node;
use crate::placement::{Answer, Cuda, cuda_of};

/// An image has a CUDA that is older than the cards.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4094",
        name: "manifest-cuda-too-old",
        severity: Severity::Warning,
        summary: "an image has a CUDA that is older than the cards",
        explain: "### What it checks

Whether the CUDA that an image's name says is in it has code for the cards of the pools that can hold
the pod. Cards of compute capability 8 came with CUDA 11.0, 9 with 11.8, 10 and 12 with 12.8.

### Why it matters

A program without code for the card ends with `no kernel image is available for execution on the
device`. Only programs that bring PTX, from which the driver makes code when they start, run all the
same; most images of frameworks bring none that helps.

### What to do

Take an image with a later CUDA. Where the program brings PTX, allow the finding.
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
    gpu: {model: H100-NVL, perNode: 2}
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
      image: pytorch/pytorch:1.9.0-cuda10.2-cudnn7-runtime
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
    gpu: {model: H100-NVL, perNode: 2}
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
      image: pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for container in pod.with_gpus() {
            let image = container.image();
            let cuda = image.and_then(Node::text).and_then(cuda_of);
            let (Some(image), Some(cuda)) = (image, cuda) else {
                continue;
            };
            let Some((_, verdicts)) = held(scene.cluster, &scene.claims, pod) else {
                continue;
            };
            let pools = verdicts.iter().filter(|it| it.answer() != Answer::No);
            let newer: Vec<_> = pools.map(|it| newer(it.pool, cuda)).collect();
            let Some(newer) = newer.into_iter().collect::<Option<Vec<_>>>() else {
                continue;
            };
            let Some((pool, gpus, (major, minor))) = newer.first() else {
                continue;
            };
            let message = format!(
                "CUDA {cuda} has no code for `{}`, of compute capability {}",
                gpus.model.key, gpus.model.compute_capability
            );
            let draft = report.draft(&RULE.code, image.span(), message);
            let draft = draft.label(gpus.chosen, format!("pool `{}` has these cards", pool.name));
            draft
                .help(format!(
                    "take an image with CUDA {major}.{minor} or later, unless the program brings PTX"
                ))
                .emit();
        }
    }
}

/// The pool with its cards and the first CUDA with code for them, where that is later than this one.
fn newer(pool: &Pool, cuda: Cuda) -> Option<(&Pool, &PoolGpus, (u8, u8))> {
    let gpus = pool.gpus.get()?.as_ref()?;
    let first = first_cuda_for(gpus.model.compute_capability)?;
    let has = (cuda.major, cuda.minor?);
    (has < first).then_some((pool, gpus, first))
}
