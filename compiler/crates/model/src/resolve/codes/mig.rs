//! Codes of MIG layouts.

use gpuc_syntax::diag::{Code, Correction, Severity};

/// The GPU model does not support MIG.
pub static MIG_UNSUPPORTED: Code = Code {
    id: "GPUC1015",
    name: "mig-unsupported",
    severity: Severity::Error,
    summary: "the GPU model does not support MIG",
    checks: "Whether a pool with `sharing: {mig: …}` has a GPU model that supports MIG.",
    reason: "Other GPU models ignore the setting, and pods that request MIG devices stay pending.",
    remedy: "Choose a GPU model that supports MIG, or use time-slicing or MPS.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: T4, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    correction: Correction::Replace(
        "mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]",
        "timeSlicing: {replicas: 4",
    ),
};

/// The GPU model does not have this MIG profile.
pub static MIG_PROFILE_UNSUPPORTED: Code = Code {
    id: "GPUC1016",
    name: "mig-profile-unsupported",
    severity: Severity::Error,
    summary: "the GPU model does not have this MIG profile",
    checks: "Whether the pool's GPU model has each profile of a layout.",
        reason: "The name of a profile contains its compute slices and its memory, and the memory differs between GPU
models: 1g.5gb exists on the A100 40GB, 1g.6gb on the A30.",
        remedy: "Write a profile of the GPU model; the help lists them.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 4}]}]}}
"#,
    correction: Correction::Replace("profile: 1g.5gb", "profile: 1g.6gb"),
};

/// The MIG devices of a layout do not fit on one GPU.
pub static MIG_LAYOUT_IMPOSSIBLE: Code = Code {
    id: "GPUC1017",
    name: "mig-layout-impossible",
    severity: Severity::Error,
    summary: "the MIG devices of a layout do not fit on one GPU",
    checks: "Whether all MIG devices of a layout can be placed on the memory slices of the GPU without overlap.",
        reason: "A MIG device can start only at certain memory slices, so a layout whose sizes add up may still be
impossible. The driver rejects it on the node, when pods are already scheduled there.",
        remedy: "Remove MIG devices; the help shows the largest part of the layout that fits.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 2g.12gb, count: 1}, {profile: 1g.6gb, count: 3}]}]}}
"#,
    correction: Correction::Replace("count: 3", "count: 2"),
};

/// The `gpus` of a layout are not GPUs of a node.
pub static MIG_GPUS_INVALID: Code = Code {
    id: "GPUC1018",
    name: "mig-gpus-invalid",
    severity: Severity::Error,
    summary: "the `gpus` of a layout are not GPUs of a node",
    checks: r"Whether `gpus` is a list of indexes and ranges below the number of GPUs on a node.",
    reason: r"A layout for a GPU that does not exist would have no effect.",
    remedy: r#"Count from 0: a node with 8 GPUs has "0-7"."#,
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{gpus: "1-2", layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    correction: Correction::Replace(r#"gpus: "1-2""#, r#"gpus: "0-1""#),
};

/// A GPU has two layouts.
pub static MIG_GPU_TWICE: Code = Code {
    id: "GPUC1019",
    name: "mig-gpu-twice",
    severity: Severity::Error,
    summary: "a GPU has two layouts",
    checks: "Whether each GPU of a node is in at most one entry of `perGpu`.",
    reason: "A GPU has one MIG geometry at a time.",
    remedy: "List each GPU once.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{gpus: "0", layout: [{profile: 2g.12gb, count: 2}]}, {layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    correction: Correction::Replace("{layout:", r#"{gpus: "1", layout:"#),
};

/// A pool with MIG sharing has no MIG devices.
pub static MIG_LAYOUT_EMPTY: Code = Code {
    id: "GPUC1020",
    name: "mig-layout-empty",
    severity: Severity::Error,
    summary: "a pool with MIG sharing has no MIG devices",
    checks: "Whether at least one GPU of a pool with `sharing: {mig: …}` has a MIG device.",
    reason: "A GPU in MIG mode without MIG devices advertises nothing: no container can use it.",
    remedy: "Write the MIG devices, or `sharing: none`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: []}}
"#,
    correction: Correction::Replace(
        "perGpu: [",
        "perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}",
    ),
};
