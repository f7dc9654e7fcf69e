//! The text of each reason.

use gpuc_model::cloud::machine::CpuArchitecture;
use gpuc_model::scheduling::{Answer, Claim, Defaults, Demand, Image, best, explain, places};
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
fn says(pools: &[&str], demand: &Demand, expected: &[&str]) {
    let outcome = cluster("1.34", pools);
    let cluster = outcome.compilations[0].cluster.as_ref().unwrap();
    let lines = explain(&places(demand, cluster));
    assert_eq!(lines, expected, "{}", outcome.text());
}

fn pod(resources: &Value) -> Demand {
    asks(json!({}), resources)
}

fn asks(mut spec: Value, resources: &Value) -> Demand {
    spec["containers"] = json!([{"name": "main", "resources": {"limits": resources}}]);
    Demand::of_pod(&Node::from_json(spec), &Defaults::default())
}

const SYSTEM: &str = "name: system, machine: m7i.xlarge, nodes: {count: 2}";
const TRAIN: &str =
    "name: train, machine: p4d.24xlarge, nodes: {min: 0, max: 2}, network: {efa: {}}";
const SHARED: &str =
    "name: shared, machine: g6.xlarge, nodes: {count: 1}, sharing: {timeSlicing: {replicas: 4}}";
const CUT: &str = "name: cut, machine: p4d.24xlarge, nodes: {count: 1}, \
                   sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}";

#[test]
fn missing_resources() {
    says(
        &[SYSTEM, TRAIN, CUT],
        &pod(&json!({"nvidia.com/gpu": 9})),
        &[
            "pool `system` does not advertise `nvidia.com/gpu`",
            "pool `train` has 8 of `nvidia.com/gpu` per node, not 9",
            "pool `cut` does not advertise `nvidia.com/gpu`, only `nvidia.com/mig-1g.5gb`",
        ],
    );
    says(
        &[TRAIN, SHARED],
        &pod(&json!({"nvidia.com/gpu.type": 1, "vpc.amazonaws.com/efa": 4})),
        &[
            "pool `train` does not advertise `nvidia.com/gpu.type`, only `nvidia.com/gpu`",
            "pool `shared` does not advertise `nvidia.com/gpu.type`, only `nvidia.com/gpu`, and does not advertise \
           `vpc.amazonaws.com/efa`",
        ],
    );
    says(
        &[SYSTEM],
        &pod(&json!({"example.com/fpga": 1})),
        &["pool `system` possibly does not advertise `example.com/fpga` according to this file"],
    );
}

#[test]
fn machine_size_and_architecture() {
    says(
        &[SYSTEM, SHARED],
        &pod(&json!({"cpu": "4500m", "memory": "24Gi"})),
        &[
            "pool `system` has machines with 4 cores, not 4.5, and has machines with 16 GiB of memory, not 24 GiB",
            "pool `shared` has machines with 4 cores, not 4.5, and has machines with 16 GiB of memory, not 24 GiB",
        ],
    );
    says(
        &[
            SYSTEM,
            TRAIN,
            "name: told, machine: g6.xlarge, nodes: {count: 1}, allocatable: {cpu: 3, memory: 15Gi}",
        ],
        &pod(&json!({"cpu": "3950m", "memory": "15800Mi"})),
        &[
            "pool `system` has machines with 4 cores and an estimated 3.92 cores allocatable, not 3.95",
            "pool `told` has nodes with 2.99 cores allocatable, not 3.95, and has nodes with 14.9 GiB of \
             memory allocatable, not 15.4 GiB",
        ],
    );
    says(
        &[TRAIN],
        &pod(&json!({"memory": "1134Gi"})),
        &[
            "pool `train` has machines with 1152 GiB of memory and an estimated 1133.6 GiB of memory allocatable, not \
             1134 GiB",
        ],
    );
    let demand = Demand {
        architecture: Some(Spanned::unwritten(CpuArchitecture::Arm64)),
        ..Demand::default()
    };
    says(
        &[SYSTEM, "name: arm, machine: g5g.xlarge, nodes: {count: 1}"],
        &demand,
        &["pool `system` runs amd64, not arm64"],
    );
}

#[test]
fn taints_and_labels() {
    let own = "name: own, machine: g6.xlarge, nodes: {count: 1}, dedicatedTo: research, \
               taints: [{key: maintenance, effect: NoExecute}, {key: soft, value: x, effect: PreferNoSchedule}]";
    says(
        &[own],
        &Demand::default(),
        &[
            "pool `own` has the taint `gpuc.dev/dedicated-to=research:NoSchedule`, which is not tolerated, and has the \
           taint `maintenance:NoExecute`, which is not tolerated",
        ],
    );
    let selector = |key: &str, value: &str| asks(json!({"nodeSelector": {key: value}}), &json!({}));
    says(
        &[SYSTEM, SHARED],
        &selector("gpuc.dev/pool", "shared"),
        &["pool `system` has the label `gpuc.dev/pool: system`, not `shared`"],
    );
    says(
        &[SYSTEM, SHARED],
        &selector("nvidia.com/gpu.product", "NVIDIA-L4"),
        &[
            "pool `system` has no label `nvidia.com/gpu.product: NVIDIA-L4`",
            "pool `shared` has the label `nvidia.com/gpu.product: NVIDIA-L4-SHARED`, not `NVIDIA-L4`",
        ],
    );
    says(
        &[SYSTEM],
        &selector("example.com/by-hand", "x"),
        &["pool `system` possibly has no label `example.com/by-hand: x`"],
    );
    let affinity = |terms: Value| {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let terms = json!({"nodeSelectorTerms": terms});
        let spec = json!({"affinity": {"nodeAffinity": {required: terms}}});
        asks(spec, &json!({}))
    };
    let arm = json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]});
    let not_here = json!({"key": "gpuc.dev/pool", "operator": "NotIn", "values": ["system"]});
    says(
        &[SYSTEM],
        &affinity(json!([{"matchExpressions": [arm, not_here]}])),
        &[
            "pool `system` has the label `kubernetes.io/arch: amd64`, not `arm64`, and has the label `gpuc.dev/pool: \
           system`, which is excluded",
        ],
    );
    says(
        &[SYSTEM],
        &affinity(json!([{"matchExpressions": [arm]}, {"matchExpressions": [not_here]}])),
        &["pool `system` matches none of the 2 terms of the node affinity"],
    );
    let named = json!({"key": "metadata.name", "operator": "In", "values": ["n1"]});
    says(
        &[SYSTEM],
        &affinity(json!([{"matchFields": [named]}])),
        &["pool `system` possibly may not contain the named node"],
    );
}

#[test]
fn unsupported_gpu_requests() {
    says(
        &[SHARED],
        &pod(&json!({"nvidia.com/gpu": 2})),
        &[
            "pool `shared` advertises `nvidia.com/gpu` as replicas, and 2 of them provide no more than one",
        ],
    );
    let mps = "name: mps, machine: g6.xlarge, nodes: {count: 1}, sharing: {mps: {replicas: 4}}";
    says(
        &[mps],
        &pod(&json!({"nvidia.com/gpu": 2})),
        &["pool `mps` advertises `nvidia.com/gpu` as replicas, and rejects a request for 2"],
    );
    let two = pod(&json!({"nvidia.com/mig-1g.5gb": 2}));
    says(
        &[CUT],
        &two,
        &[
            "pool `cut` possibly advertises `nvidia.com/mig-1g.5gb` as MIG devices, and a program uses only one of 2",
        ],
    );
    let talk = Demand {
        gpus_talk: true,
        ..two
    };
    says(
        &[CUT],
        &talk,
        &[
            "pool `cut` advertises `nvidia.com/mig-1g.5gb` as MIG devices, and 2 of them cannot communicate with each other",
        ],
    );
    let large = |resource: &str| Demand {
        gpu_memory: Some(Spanned::unwritten(30 << 10)),
        ..pod(&json!({resource: 1}))
    };
    says(
        &[TRAIN, SHARED],
        &large("nvidia.com/gpu"),
        &["pool `shared` has GPUs l4-24gb with 23034 MiB of memory, not 30720 MiB"],
    );
    says(
        &[CUT],
        &large("nvidia.com/mig-1g.5gb"),
        &["pool `cut` has MIG devices 1g.5gb with 4864 MiB of memory, not 30720 MiB"],
    );
}

#[test]
fn more_pods_than_nodes() {
    let demand = |pods, apart| Demand {
        pods: Some(Spanned::unwritten(pods)),
        apart,
        ..pod(&json!({"nvidia.com/gpu": 4}))
    };
    says(&[TRAIN], &demand(4, false), &[]);
    says(
        &[TRAIN],
        &demand(5, false),
        &["pool `train` has at most 2 nodes, but 5 pods at once need 3"],
    );
    says(
        &[TRAIN],
        &demand(3, true),
        &["pool `train` has at most 2 nodes, but 3 pods at once need 3"],
    );
}

#[test]
fn images_that_the_driver_or_gpu_cannot_run() {
    let image = |name: &str| Demand {
        images: vec![Image::new(Spanned::unwritten(name.to_owned()))],
        ..pod(&json!({"nvidia.com/gpu": 1}))
    };
    let old = "name: old, machine: p4d.24xlarge, nodes: {count: 1}, os: {family: Ubuntu}, \
               stack: {driver: operator, driverVersion: \"550.54.15\"}";
    says(&[old], &image("nvidia/cuda:12.8.1-base-ubuntu24.04"), &[]);
    says(
        &[old],
        &image("pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime"),
        &[
            "pool `old` has driver 550, but `pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime` with CUDA 13.0 \
           needs 580 or later",
        ],
    );
    says(
        &[old],
        &image("nvcr.io/nvidia/pytorch:25.08-py3"),
        &[
            "pool `old` possibly has driver 550, but `nvcr.io/nvidia/pytorch:25.08-py3` with CUDA 13.0 needs 580 or \
           later",
        ],
    );
    let volta = "name: volta, machine: p3.2xlarge, nodes: {count: 1}";
    says(
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
    says(&[volta], &no_gpu, &[]);
}

#[test]
fn resource_claims() {
    let pools = [
        "name: a, machine: p4d.24xlarge, nodes: {count: 1}, stack: {allocation: dra}",
        "name: b, machine: g6.xlarge, nodes: {count: 1}, stack: {allocation: dra}",
    ];
    let claim = |class: &str, count| Demand {
        claims: vec![Claim {
            class: Spanned::unwritten(class.to_owned()),
            count,
            span: Span::NONE,
        }],
        ..Demand::default()
    };
    says(
        &pools,
        &claim("a.gpuc.dev", 9),
        &[
            "pool `a` has 8 of `a.gpuc.dev` per node, not 9",
            "pool `b` has no device of DeviceClass `a.gpuc.dev`, only `b.gpuc.dev`",
        ],
    );
    says(&pools, &claim("gpu.nvidia.com", 1), &[]);
    says(
        &pools[..1],
        &claim("other", 1),
        &["pool `a` possibly has no device of DeviceClass `other` according to this file"],
    );
    says(
        &pools[..1],
        &pod(&json!({"nvidia.com/gpu": 1})),
        &["pool `a` does not advertise `nvidia.com/gpu`"],
    );
    // From 1.36 Kubernetes makes the claim.
    let outcome = cluster("1.36", &pools);
    let cluster = outcome.compilations[0].cluster.as_ref().unwrap();
    let verdicts = places(&pod(&json!({"nvidia.com/gpu": 2})), cluster);
    assert_eq!(
        explain(&verdicts),
        ["pool `b` has 1 of `nvidia.com/gpu` per node, not 2"]
    );
    assert_eq!(best(&verdicts).unwrap().pool.name.value, "a");
    assert_eq!(verdicts[0].answer(), Answer::Yes);
}
