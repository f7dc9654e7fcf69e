//! An image has a CUDA that is newer than gpuc.

use gpuc_schema::gpu::cuda::{RELEASES, min_branch_for};

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene};
use crate::placement::cuda_of;

/// An image has a CUDA that is newer than gpuc.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4034",
        name: "manifest-cuda-unknown",
        severity: Severity::Warning,
        summary: "an image has a CUDA that is newer than gpuc",
        explain: "### What it checks

Whether the CUDA that the name of an image with GPUs says is in it is of a major version that gpuc
knows.

### Why it matters

Which driver it needs, and which cards it drives, is not known, and was not checked.

### What to do

Compare NVIDIA's notes for that CUDA with the pools' drivers and cards. If they fit, write `allow:
[manifest-cuda-unknown]`.
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
  tolerations: [{operator: Exists}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:99.0.0-base-ubuntu24.04
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
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{operator: Exists}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let newest = RELEASES.iter().map(|release| release.major).max();
    for pod in scene.pods.iter().filter(|pod| pod.asks_for_gpus()) {
        for container in &pod.containers {
            let Some(image) = container.image() else {
                continue;
            };
            let cuda = image.text().and_then(cuda_of);
            let Some(cuda) = cuda.filter(|it| Some(it.major) > newest) else {
                continue;
            };
            if min_branch_for(cuda.major).is_some() {
                continue;
            }
            let message = format!("gpuc does not know CUDA {cuda}, and which driver it needs");
            let draft = report.draft(&RULE.code, image.span(), message);
            let with_driver = scene.cluster.gpu_pools().map(|it| it.0);
            let mut with_driver =
                with_driver.filter_map(|pool| Some((pool, pool.driver_version.as_ref()?)));
            let draft = match with_driver.next() {
                Some((pool, version)) => {
                    let text = format!("pool `{}` has driver {}", pool.name, version.value);
                    draft.label(version.span, text)
                }
                None => draft,
            };
            draft
                .help("compare NVIDIA's notes for it with the pools' drivers and cards")
                .emit();
        }
    }
}
