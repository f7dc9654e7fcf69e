//! A manifest requests accelerators of another vendor.

use crate::resources::{advertised_resources, is_gpu_name};
use crate::{CheckContext, Rule};

use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4033",
        name: "manifest-resource-not-nvidia",
        severity: Severity::Warning,
        summary: "a manifest requests accelerators of another vendor",
        checks: "Whether a container requests accelerators that are not NVIDIA's, such as `amd.com/gpu`, and that no pool
advertises. gpuc only creates pools with NVIDIA GPUs.",
        reason: "Unless the cluster has nodes that gpuc does not manage, the pod stays Pending indefinitely.",
        remedy: "Request a resource that the help names. If other nodes advertise the resource, write `allow:
[manifest-resource-not-nvidia]`.",
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
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {amd.com/gpu: 1}}
"#,
        correction: Correction::Replace("amd.com/gpu:", "nvidia.com/gpu:"),
    },
    run,
};

/// Resources of other vendors' device plugins, with a description.
///
/// Source: ROCm/k8s-device-plugin, intel/intel-device-plugins-for-kubernetes and the plugin of `HabanaAI` (from
/// memory). Accelerators of clouds are in the facts of each cloud.
const OTHER_VENDORS: &[(&str, &str)] = &[
    ("amd.com/gpu", "AMD's GPUs"),
    ("gpu.intel.com/", "Intel's GPUs"),
    ("habana.ai/", "Intel's Gaudi"),
];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let advertised = advertised_resources(ctx.cluster);
    for pod in &ctx.pods {
        for container in &pod.containers {
            for entry in container.requested_resources() {
                let of_clouds = ctx
                    .cluster
                    .registry
                    .clouds
                    .iter()
                    .flat_map(|it| it.facts().other_accelerators);
                let mut others = OTHER_VENDORS.iter().chain(of_clouds);
                let Some((_, device)) = others.find(|(name, _)| entry.key.starts_with(name)) else {
                    continue;
                };
                if advertised.contains(&entry.key.as_str()) {
                    continue;
                }
                let message = format!(
                    "{} requests `{}`, which no pool advertises",
                    pod.title(),
                    entry.key
                );
                let builder = report.diagnostic(&RULE.code, entry.key_span, message);
                let builder = builder.primary_label(format!("this resource is for {device}"));
                let builder = match ctx.cluster.gpu_pools().next() {
                    Some((pool, _)) => {
                        let text = format!("pool `{}` has NVIDIA GPUs", pool.name);
                        builder.label(pool.name.span, text)
                    }
                    None => builder,
                };
                let gpus: Vec<_> = advertised.iter().filter(|name| is_gpu_name(name)).collect();
                builder
                    .help(match gpus.as_slice() {
                        [] => "remove it; the pools advertise no GPU resources".to_owned(),
                        // Programs for AMD's GPUs often exist for NVIDIA's, those for other accelerators do not.
                        gpus if entry.key.starts_with("amd.com/gpu") => {
                            format!("request {}", phrases::quoted_conjunction(gpus, "or"))
                        }
                        _ => format!(
                            "add the nodes with {device} to the cluster, and name the finding in `allow`"
                        ),
                    })
                    .emit();
            }
        }
    }
}
