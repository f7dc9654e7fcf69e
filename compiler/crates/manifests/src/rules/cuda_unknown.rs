//! The CUDA version of an image is newer than the versions that gpuc knows.

use gpuc_model::scheduling::cuda_version;
use gpuc_schema::gpu::cuda::{RELEASES, min_branch_for};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4034",
        name: "manifest-cuda-unknown",
        severity: Severity::Warning,
        summary: "the CUDA version of an image is newer than the versions that gpuc knows",
        checks: "Whether gpuc knows the major version of CUDA in the name of an image that uses GPUs.",
        reason: "gpuc cannot check which driver the CUDA version needs and which GPU models it supports.",
        remedy: "Compare NVIDIA's release notes for that CUDA version with the drivers and GPU models of the pools. If they
are compatible, write `allow: [manifest-cuda-unknown]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("nvcr.io/nvidia/cuda:99.0.0-base-ubuntu24.04", "nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let newest = RELEASES.iter().map(|release| release.major).max();
    for pod in ctx.pods.iter().filter(|pod| pod.requests_gpus()) {
        for container in &pod.containers {
            let Some(image) = container.image() else {
                continue;
            };
            let cuda = image.text().and_then(cuda_version);
            let Some(cuda) = cuda.filter(|it| Some(it.major) > newest) else {
                continue;
            };
            if min_branch_for(cuda.major).is_some() {
                continue;
            }
            let message = format!("unknown CUDA version {cuda}: the required driver is not known");
            let builder = report.diagnostic(&RULE.code, image.span(), message);
            let with_driver = ctx.cluster.gpu_pools().map(|it| it.0);
            let mut with_driver =
                with_driver.filter_map(|pool| Some((pool, pool.driver_version.as_ref()?)));
            let builder = match with_driver.next() {
                Some((pool, version)) => {
                    let text = format!("pool `{}` has driver {}", pool.name, version.value);
                    builder.label(version.span, text)
                }
                None => builder,
            };
            builder
                .help("compare NVIDIA's release notes with the drivers and GPU models of the pools")
                .emit();
        }
    }
}
