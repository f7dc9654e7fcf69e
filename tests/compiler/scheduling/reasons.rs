//! The text of each reason.

use gpuc_model::cloud::machine::CpuArchitecture;
use gpuc_model::scheduling::{
    Claim, DefaultRequests, Demand, Feasibility, Image, check_pools, closest_fit, explain_pools,
};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::node::Node;
use serde_json::{Value, json};

use crate::support::{Outcome, compile_text};

fn cluster(version: &str, pools: &[&str]) -> Outcome {
    let pools: Vec<_> = pools
        .iter()
        .map(|pool| format!("  - {{{pool}}}\n"))
        .collect();
    let text = format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
         kubernetes: {{version: \"{version}\"}}\n\
         cloud: {{aws: {{account: \"123456789012\", region: us-east-1, cluster: {{create: {{}}}}}}}}\n\
         stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\nnodePools:\n{}",
        pools.concat()
    );
    compile_text(&text)
}

#[track_caller]
fn assert_reasons(pools: &[&str], demand: &Demand, expected: &[&str]) {
    let outcome = cluster("1.34", pools);
    let cluster = outcome.compilations[0].cluster.as_ref().unwrap();
    let lines = explain_pools(&check_pools(demand, cluster));
    assert_eq!(lines, expected, "{}", outcome.text());
}

fn pod_requesting(resources: &Value) -> Demand {
    demand_of(json!({}), resources)
}

fn demand_of(mut spec: Value, resources: &Value) -> Demand {
    spec["containers"] = json!([{"name": "main", "resources": {"limits": resources}}]);
    Demand::from_pod_spec(&Node::from_json(spec), &DefaultRequests::default())
}

const SYSTEM: &str = "name: system, machine: m7i.xlarge, nodes: {count: 2}";
const TRAIN: &str =
    "name: train, machine: p4d.24xlarge, nodes: {min: 0, max: 2}, network: {efa: {}}";
const SHARED: &str =
    "name: shared, machine: g6.xlarge, nodes: {count: 1}, sharing: {timeSlicing: {replicas: 4}}";
const CUT: &str = "name: cut, machine: p4d.24xlarge, nodes: {count: 1}, \
                   sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}";

#[test]
fn missing_resources_are_explained() {
    assert_reasons(
        &[SYSTEM, TRAIN, CUT],
        &pod_requesting(&json!({"nvidia.com/gpu": 9})),
        &[
            "pool `system` does not advertise `nvidia.com/gpu`",
            "pool `train` has 8 of `nvidia.com/gpu` per node, not 9",
            "pool `cut` does not advertise `nvidia.com/gpu`, only `nvidia.com/mig-1g.5gb`",
        ],
    );
    assert_reasons(
        &[TRAIN, SHARED],
        &pod_requesting(&json!({"nvidia.com/gpu.type": 1, "vpc.amazonaws.com/efa": 4})),
        &[
            "pool `train` does not advertise `nvidia.com/gpu.type`, only `nvidia.com/gpu`",
            "pool `shared` does not advertise `nvidia.com/gpu.type`, only `nvidia.com/gpu`, and does not advertise \
           `vpc.amazonaws.com/efa`",
        ],
    );
    assert_reasons(
        &[SYSTEM],
        &pod_requesting(&json!({"example.com/fpga": 1})),
        &["pool `system` possibly does not advertise `example.com/fpga` according to this file"],
    );
}

#[test]
fn machine_size_and_architecture_are_explained() {
    assert_reasons(
        &[SYSTEM, SHARED],
        &pod_requesting(&json!({"cpu": "4500m", "memory": "24Gi"})),
        &[
            "pool `system` has machines with 4 cores, not 4.5, and has machines with 16 GiB of memory, not 24 GiB",
            "pool `shared` has machines with 4 cores, not 4.5, and has machines with 16 GiB of memory, not 24 GiB",
        ],
    );
    assert_reasons(
        &[
            SYSTEM,
            TRAIN,
            "name: stated, machine: g6.xlarge, nodes: {count: 1}, allocatable: {cpu: 3, memory: 15Gi}",
        ],
        &pod_requesting(&json!({"cpu": "3950m", "memory": "15800Mi"})),
        &[
            "pool `system` has machines with 4 cores and an estimated 3.92 cores allocatable, not 3.95",
            "pool `stated` has nodes with 2.9 cores allocatable, not 3.95, and has nodes with 14.9 GiB of \
             memory allocatable, not 15.4 GiB",
        ],
    );
    assert_reasons(
        &[TRAIN],
        &pod_requesting(&json!({"memory": "1134Gi"})),
        &[
            "pool `train` has machines with 1152 GiB of memory and an estimated 1133.6 GiB of memory allocatable, not \
             1134 GiB",
        ],
    );
    let demand = Demand {
        architecture: Some(Spanned::without_span(CpuArchitecture::Arm64)),
        ..Demand::default()
    };
    assert_reasons(
        &[SYSTEM, "name: arm, machine: g5g.xlarge, nodes: {count: 1}"],
        &demand,
        &["pool `system` runs amd64, not arm64"],
    );
}

#[test]
fn taints_and_labels_are_explained() {
    let own = "name: own, machine: g6.xlarge, nodes: {count: 1}, dedicatedTo: research, \
               taints: [{key: maintenance, effect: NoExecute}, {key: soft, value: x, effect: PreferNoSchedule}]";
    assert_reasons(
        &[own],
        &Demand::default(),
        &[
            "pool `own` has the taint `gpuc.dev/dedicated-to=research:NoSchedule`, which is not tolerated, and has the \
           taint `maintenance:NoExecute`, which is not tolerated",
        ],
    );
    let selector =
        |key: &str, value: &str| demand_of(json!({"nodeSelector": {key: value}}), &json!({}));
    assert_reasons(
        &[SYSTEM, SHARED],
        &selector("gpuc.dev/pool", "shared"),
        &["pool `system` has the label `gpuc.dev/pool: system`, not `shared`"],
    );
    assert_reasons(
        &[SYSTEM, SHARED],
        &selector("nvidia.com/gpu.product", "NVIDIA-L4"),
        &[
            "pool `system` has no label `nvidia.com/gpu.product: NVIDIA-L4`",
            "pool `shared` has the label `nvidia.com/gpu.product: NVIDIA-L4-SHARED`, not `NVIDIA-L4`",
        ],
    );
    // NVIDIA's device plugin does not set this label, and nothing else does.
    let plain = "name: plain, machine: g6.xlarge, nodes: {count: 1}, stack: {devicePlugin: nvidia}";
    assert_reasons(
        &[plain],
        &selector("nvidia.com/gpu.product", "NVIDIA-L4"),
        &["pool `plain` has no label `nvidia.com/gpu.product: NVIDIA-L4`"],
    );
    // Only with strategy `single`, the product has the name of the MIG device.
    let slices = |strategy: &str| {
        format!(
            "name: slices, machine: p4d.24xlarge, nodes: {{count: 1}}, sharing: {{mig: {{strategy: {strategy}, \
             perGpu: [{{layout: [{{profile: 1g.5gb, count: 7}}]}}]}}}}"
        )
    };
    for (strategy, product) in [("single", "-MIG-1g.5gb"), ("mixed", "")] {
        let found = format!(
            "pool `slices` has the label `nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB{product}`, not `NVIDIA-L4`"
        );
        let l4 = selector("nvidia.com/gpu.product", "NVIDIA-L4");
        assert_reasons(&[&slices(strategy)], &l4, &[&found]);
    }
    assert_reasons(
        &[SYSTEM],
        &selector("example.com/by-hand", "x"),
        &["pool `system` possibly has no label `example.com/by-hand: x`"],
    );
    let affinity = |terms: Value| {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let terms = json!({"nodeSelectorTerms": terms});
        let spec = json!({"affinity": {"nodeAffinity": {required: terms}}});
        demand_of(spec, &json!({}))
    };
    let arm = json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]});
    let not_here = json!({"key": "gpuc.dev/pool", "operator": "NotIn", "values": ["system"]});
    assert_reasons(
        &[SYSTEM],
        &affinity(json!([{"matchExpressions": [arm, not_here]}])),
        &[
            "pool `system` has the label `kubernetes.io/arch: amd64`, not `arm64`, and has the label `gpuc.dev/pool: \
           system`, which is excluded",
        ],
    );
    assert_reasons(
        &[SYSTEM],
        &affinity(json!([{"matchExpressions": [arm]}, {"matchExpressions": [not_here]}])),
        &["pool `system` matches none of the 2 terms of the node affinity"],
    );
    let named = json!({"key": "metadata.name", "operator": "In", "values": ["n1"]});
    assert_reasons(
        &[SYSTEM],
        &affinity(json!([{"matchFields": [named]}])),
        &["pool `system` possibly may not contain the named node"],
    );
}

#[test]
fn unsupported_gpu_requests_are_explained() {
    assert_reasons(
        &[SHARED],
        &pod_requesting(&json!({"nvidia.com/gpu": 2})),
        &[
            "pool `shared` advertises `nvidia.com/gpu` as replicas, and 2 of them provide no more than one",
        ],
    );
    let mps = "name: mps, machine: g6.xlarge, nodes: {count: 1}, sharing: {mps: {replicas: 4}}";
    assert_reasons(
        &[mps],
        &pod_requesting(&json!({"nvidia.com/gpu": 2})),
        &["pool `mps` advertises `nvidia.com/gpu` as replicas, and rejects a request for 2"],
    );
    let two = pod_requesting(&json!({"nvidia.com/mig-1g.5gb": 2}));
    assert_reasons(
        &[CUT],
        &two,
        &[
            "pool `cut` possibly advertises `nvidia.com/mig-1g.5gb` as MIG devices, and a program uses only one of 2",
        ],
    );
    let communicating = Demand {
        gpus_communicate: true,
        ..two
    };
    assert_reasons(
        &[CUT],
        &communicating,
        &[
            "pool `cut` advertises `nvidia.com/mig-1g.5gb` as MIG devices, and 2 of them cannot communicate with each other",
        ],
    );
    let large = |resource: &str| Demand {
        gpu_memory: Some(Spanned::without_span(30 << 10)),
        ..pod_requesting(&json!({resource: 1}))
    };
    assert_reasons(
        &[TRAIN, SHARED],
        &large("nvidia.com/gpu"),
        &["pool `shared` has GPUs l4-24gb with 23034 MiB of memory, not 30720 MiB"],
    );
    assert_reasons(
        &[CUT],
        &large("nvidia.com/mig-1g.5gb"),
        &["pool `cut` has MIG devices 1g.5gb with 4864 MiB of memory, not 30720 MiB"],
    );
}

#[test]
fn more_pods_than_nodes_are_explained() {
    let demand = |pods, apart| Demand {
        pods: Some(Spanned::without_span(pods)),
        anti_affinity: apart,
        ..pod_requesting(&json!({"nvidia.com/gpu": 4}))
    };
    assert_reasons(&[TRAIN], &demand(4, false), &[]);
    assert_reasons(
        &[TRAIN],
        &demand(5, false),
        &["pool `train` has at most 2 nodes, but 5 pods at once need 3"],
    );
    assert_reasons(
        &[TRAIN],
        &demand(3, true),
        &["pool `train` has at most 2 nodes, but 3 pods at once need 3"],
    );
}

#[test]
fn incompatible_images_are_explained() {
    let image = |name: &str| Demand {
        images: vec![Image::new(Spanned::without_span(name.to_owned()))],
        ..pod_requesting(&json!({"nvidia.com/gpu": 1}))
    };
    let old = "name: old, machine: p4d.24xlarge, nodes: {count: 1}, os: {family: Ubuntu}, \
               stack: {driver: operator, driverVersion: \"550.54.15\"}";
    assert_reasons(&[old], &image("nvidia/cuda:12.8.1-base-ubuntu24.04"), &[]);
    assert_reasons(
        &[old],
        &image("pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime"),
        &[
            "pool `old` has driver 550, but `pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime` with CUDA 13.0 \
           needs 580 or later",
        ],
    );
    assert_reasons(
        &[old],
        &image("nvcr.io/nvidia/pytorch:25.08-py3"),
        &[
            "pool `old` possibly has driver 550, but `nvcr.io/nvidia/pytorch:25.08-py3` with CUDA 13.0 needs 580 or \
           later",
        ],
    );
    let volta = "name: volta, machine: p3.2xlarge, nodes: {count: 1}";
    assert_reasons(
        &[volta],
        &image("nvidia/cuda:13.0.1-base-ubuntu24.04"),
        &[
            "pool `volta` has the GPU model v100-sxm2-16gb, which CUDA 13.0 in \
           `nvidia/cuda:13.0.1-base-ubuntu24.04` no longer supports",
        ],
    );
    let no_gpu = Demand {
        resources: Vec::new(),
        ..image("nvidia/cuda:13.0.1-base-ubuntu24.04")
    };
    assert_reasons(&[volta], &no_gpu, &[]);
}

#[test]
fn resource_claims_are_explained() {
    let pools = [
        "name: a, machine: p4d.24xlarge, nodes: {count: 1}, stack: {allocation: dra}",
        "name: b, machine: g6.xlarge, nodes: {count: 1}, stack: {allocation: dra}",
    ];
    let claim = |class: &str, count| Demand {
        claims: vec![Claim {
            class: Spanned::without_span(class.to_owned()),
            count,
            span: Span::NONE,
        }],
        ..Demand::default()
    };
    assert_reasons(
        &pools,
        &claim("a.gpuc.dev", 9),
        &[
            "pool `a` has 8 of `a.gpuc.dev` per node, not 9",
            "pool `b` has no device of DeviceClass `a.gpuc.dev`, only `b.gpuc.dev`",
        ],
    );
    assert_reasons(&pools, &claim("gpu.nvidia.com", 1), &[]);
    assert_reasons(
        &pools[..1],
        &claim("other", 1),
        &["pool `a` possibly has no device of DeviceClass `other` according to this file"],
    );
    assert_reasons(
        &pools[..1],
        &pod_requesting(&json!({"nvidia.com/gpu": 1})),
        &["pool `a` does not advertise `nvidia.com/gpu`"],
    );
    // From Kubernetes 1.36 on, the scheduler creates the ResourceClaim.
    let outcome = cluster("1.36", &pools);
    let cluster = outcome.compilations[0].cluster.as_ref().unwrap();
    let verdicts = check_pools(&pod_requesting(&json!({"nvidia.com/gpu": 2})), cluster);
    assert_eq!(
        explain_pools(&verdicts),
        ["pool `b` has 1 of `nvidia.com/gpu` per node, not 2"]
    );
    assert_eq!(closest_fit(&verdicts).unwrap().pool.name.value, "a");
    assert_eq!(verdicts[0].feasibility(), Feasibility::Fits);
}
