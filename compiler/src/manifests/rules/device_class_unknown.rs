//! A claim names a `DeviceClass` that the cluster does not have.

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::claims::classes;
use crate::manifests::{Rule, Scene};

/// A claim names a `DeviceClass` that the cluster does not have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4019",
        name: "manifest-device-class-unknown",
        severity: Severity::Error,
        summary: "a claim names a DeviceClass that the cluster does not have",
        explain: "### What it checks

Whether each DeviceClass of NVIDIA's or of gpuc's that a ResourceClaim or its template names is
there: a pool's own, one that NVIDIA's driver for claims brings, or one of the manifests.

### Why it matters

A pod whose claim cannot be allocated waits for ever.

### What to do

Name the class of a pool with `allocation: dra`; the help lists them. Without such a pool, ask for
the resource that the device plugin offers.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev}}]
"#,
    },
    run,
};

/// What NVIDIA's driver for claims brings, and the domain of its names.
///
/// Source: NVIDIA/k8s-dra-driver-gpu@v0.4.0 deployments/helm/dra-driver-nvidia-gpu/templates/deviceclass-*.yaml.
const BROUGHT: &[&str] = &["gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"];
/// And what it brings where nodes are linked by NVLink.
const OF_DOMAINS: &[&str] = &[
    "compute-domain-daemon.nvidia.com",
    "compute-domain-default-channel.nvidia.com",
];
const NVIDIAS: &str = ".nvidia.com";

/// What people call a class without the domain of whoever brings it.
const PLAIN: &[&str] = &["gpu", "gpus", "mig", "nvidia", "nvidia-gpu"];

fn run(scene: &Scene<'_>, report: &mut Report) {
    let kinds = ["ResourceClaim", "ResourceClaimTemplate"];
    let mut known: Vec<&str> = Vec::new();
    let pools = scene.cluster.pools.iter().flat_map(|pool| &pool.classes);
    known.extend(pools.map(|class| class.name.as_str()));
    let has_driver = !known.is_empty();
    if has_driver {
        known.extend(BROUGHT);
    }
    let claimed = scene.cluster.pools_claimed();
    let mut cards = claimed.filter_map(|pool| pool.gpus.get()?.as_ref());
    // Whoever sets the driver up by hand may have asked for these too.
    let is_by_hand = scene.cluster.written.charts.dra_driver_nvidia_gpu.is_some();
    if cards.any(|gpus| gpus.model.links_nodes() || is_by_hand) {
        known.extend(OF_DOMAINS);
    }
    let own = scene
        .objects
        .iter()
        .filter(|object| object.kind == "DeviceClass");
    let own: Vec<_> = own.filter_map(|object| object.name.as_deref()).collect();
    for object in scene
        .objects
        .iter()
        .filter(|it| kinds.contains(&it.kind.as_str()))
    {
        for node in classes(&object.root) {
            let class = node.text().unwrap_or_default();
            let is_ours = class.ends_with(".gpuc.dev") || class.ends_with(NVIDIAS);
            // A resource's name is no class's, whoever brings it.
            let is_wrong = PLAIN.contains(&class) || class.starts_with("nvidia.com");
            let is_misspelt = ["nvid", "gpuc"].iter().any(|part| class.contains(part));
            let near = words::nearest(class, known.iter().copied());
            let near = near.filter(|_| is_misspelt && !class.ends_with(".gpuc.dev"));
            let is_there = known.contains(&class) || own.contains(&class);
            if is_there || !(is_ours || is_wrong || near.is_some()) {
                continue;
            }
            let message = format!(
                "{} claims devices of `{class}`, which is not there",
                object.title()
            );
            let draft = report.draft(&RULE.code, node.span(), message);
            let mut claimed = scene.cluster.pools_claimed();
            let draft = match claimed
                .next()
                .or(scene.cluster.gpu_pools().next().map(|it| it.0))
            {
                Some(pool) => draft.label(pool.name.span, format!("pool `{}` has GPUs", pool.name)),
                None => draft,
            };
            let is_brought = |it: &&&str| BROUGHT.contains(it) || OF_DOMAINS.contains(it);
            let pools = known.iter().filter(|it| !is_brought(it));
            let pools: Vec<_> = pools.copied().collect();
            let draft = match (near, pools.as_slice()) {
                (Some(near), _) => draft.help(format!("write `{near}`")),
                (None, []) => draft
                    .help("no pool has `allocation: dra`: ask for a resource instead of a claim"),
                (None, pools) => draft.help(format!("the pools have {}", words::all(pools, "and"))),
            };
            draft.emit();
        }
    }
}
