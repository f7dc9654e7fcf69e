//! A claim names a DeviceClass that the cluster does not have.

use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use crate::claims::device_class_nodes;
use crate::{CheckContext, Rule};

/// Classes of NVIDIA's driver that are no misspelled names of others: of former versions, and of optional features.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu `deployments/helm/dra-driver-nvidia-gpu/templates` (from memory).
const FORMER_CLASSES: &[&str] = &["imex.nvidia.com", "vfio.gpu.nvidia.com"];

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4019",
        name: "manifest-device-class-unknown",
        severity: Severity::Error,
        summary: "a claim names a DeviceClass that the cluster does not have",
        checks: "Whether each NVIDIA or gpuc DeviceClass that a ResourceClaim or ResourceClaimTemplate names exists: a class
of a pool, of NVIDIA's DRA driver, or of the manifests.",
        reason: "A pod whose claim cannot be allocated stays Pending indefinitely.",
        remedy: "Name the DeviceClass of a pool with `allocation: dra`; the help lists them. If there is no such pool,
request the resource that the device plugin advertises.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: train.gpuc.dev}}]
"#,
        correction: Correction::Replace("train.gpuc.dev", "gpu.gpuc.dev"),
    },
    run,
};

/// The DeviceClasses of NVIDIA's DRA driver.
///
/// Source: NVIDIA/k8s-dra-driver-gpu@v0.4.0 deployments/helm/dra-driver-nvidia-gpu/templates/deviceclass-*.yaml.
const DRIVER_CLASSES: &[&str] = &["gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"];
/// Its additional DeviceClasses for nodes connected by NVLink.
const DOMAIN_CLASSES: &[&str] = &[
    "compute-domain-daemon.nvidia.com",
    "compute-domain-default-channel.nvidia.com",
];
/// The domain of their names.
const NVIDIA_DOMAIN: &str = ".nvidia.com";

/// Common names of classes without a domain.
const COMMON_NAMES: &[&str] = &["gpu", "gpus", "mig", "nvidia", "nvidia-gpu"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let kinds = ["ResourceClaim", "ResourceClaimTemplate"];
    let mut known: Vec<&str> = Vec::new();
    let pools = ctx.cluster.pools.iter().flat_map(|pool| &pool.classes);
    known.extend(pools.map(|class| class.name.as_str()));
    let has_driver = !known.is_empty();
    if has_driver {
        known.extend(DRIVER_CLASSES);
    }
    let claimed = ctx.cluster.dra_driver_pools();
    let mut gpus = claimed.filter_map(|pool| pool.gpus.get()?.as_ref());
    // Custom chart values may enable these classes too.
    let is_customized = ctx.cluster.config.charts.dra_driver_nvidia_gpu.is_some();
    if gpus.any(|gpus| gpus.model.has_multi_node_nvlink() || is_customized) {
        known.extend(DOMAIN_CLASSES);
    }
    let own = ctx
        .objects
        .iter()
        .filter(|object| object.kind == "DeviceClass");
    let own: Vec<_> = own.filter_map(|object| object.name.as_deref()).collect();
    for object in ctx
        .objects
        .iter()
        .filter(|it| kinds.contains(&it.kind.as_str()))
    {
        for node in device_class_nodes(&object.root) {
            let class = node.text().unwrap_or_default();
            let has_known_domain = class.ends_with(".gpuc.dev") || class.ends_with(NVIDIA_DOMAIN);
            // The name of an extended resource is never a DeviceClass.
            let is_wrong = COMMON_NAMES.contains(&class) || class.starts_with("nvidia.com");
            let is_misspelled = ["nvid", "gpuc"].iter().any(|part| class.contains(part));
            let closest = phrases::closest_match(class, known.iter().copied());
            let closest = closest.filter(|_| is_misspelled && !class.ends_with(".gpuc.dev"));
            let closest = closest.filter(|_| !FORMER_CLASSES.contains(&class));
            let exists = known.contains(&class) || own.contains(&class);
            if exists || !(has_known_domain || is_wrong || closest.is_some()) {
                continue;
            }
            let message = format!("{}: unknown DeviceClass `{class}`", object.title());
            let builder = report.diagnostic(&RULE.code, node.span(), message);
            let mut claimed = ctx.cluster.dra_pools();
            let builder = match claimed
                .next()
                .or(ctx.cluster.gpu_pools().next().map(|it| it.0))
            {
                Some(pool) => {
                    builder.label(pool.name.span, format!("pool `{}` has GPUs", pool.name))
                }
                None => builder,
            };
            let is_driver_class =
                |it: &&&str| DRIVER_CLASSES.contains(it) || DOMAIN_CLASSES.contains(it);
            let pools = known.iter().filter(|it| !is_driver_class(it));
            let pools: Vec<_> = pools.copied().collect();
            let is_of_driver = FORMER_CLASSES.contains(&class) || DOMAIN_CLASSES.contains(&class);
            let builder = match (closest, pools.as_slice()) {
                (None, _) if is_of_driver => builder.help(
                    "remove the claim, or name the finding in `allow` if you install the driver of this class yourself",
                ),
                (Some(closest), _) => builder.help(format!("write `{closest}`")),
                (None, []) => builder
                    .help("request an extended resource instead of a claim; no pool has `allocation: dra`"),
                (None, pools) => builder.help(format!(
                    "name a DeviceClass of the pools: {}",
                    phrases::quoted_conjunction(pools, "or")
                )),
            };
            builder.emit();
        }
    }
}
