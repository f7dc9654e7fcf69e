//! Slices of GPUs.

use crate::diag::{Code, Severity};

/// A card cannot be cut into slices.
pub static MIG_UNSUPPORTED: Code = Code {
    id: "GPUC1015",
    name: "mig-unsupported",
    severity: Severity::Error,
    summary: "a card cannot be cut into slices",
    explain: r"### What it checks

Whether a pool with `sharing: {mig: …}` has a card that does MIG.

### Why it matters

Other cards ignore the request, and pods that ask for slices wait for ever.

### What to do

Choose a card that does MIG, or share this one with time-slicing or MPS.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: T4, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: T4, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4}}
"#,
};

/// A card has no such MIG profile.
pub static MIG_PROFILE_UNSUPPORTED: Code = Code {
    id: "GPUC1016",
    name: "mig-profile-unsupported",
    severity: Severity::Error,
    summary: "a card has no such MIG profile",
    explain: r"### What it checks

Whether each profile of a layout exists on the pool's card.

### Why it matters

Profiles are named by compute slices and memory, and memory differs from card to card: 1g.5gb is
an A100 40GB's, 1g.6gb an A30's.

### What to do

Write a profile that the card has; the help lists them.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 4}]}]}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
};

/// The slices of a layout do not fit on one GPU.
pub static MIG_LAYOUT_IMPOSSIBLE: Code = Code {
    id: "GPUC1017",
    name: "mig-layout-impossible",
    severity: Severity::Error,
    summary: "the slices of a layout do not fit on one GPU",
    explain: r"### What it checks

Whether every slice of a layout finds its place on the GPU's memory slices, with no two on one.

### Why it matters

Slices may start only at certain places, so a layout whose sizes add up may still not exist. The
driver refuses it on the node, after the pod was promised a GPU.

### What to do

Take fewer slices; the help draws the largest part of the layout that fits.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 2g.12gb, count: 1}, {profile: 1g.6gb, count: 3}]}]}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 2g.12gb, count: 1}, {profile: 1g.6gb, count: 2}]}]}}
"#,
};

/// A layout's `gpus` does not name GPUs of a node.
pub static MIG_GPUS_UNREADABLE: Code = Code {
    id: "GPUC1018",
    name: "mig-gpus-unreadable",
    severity: Severity::Error,
    summary: "a layout's `gpus` does not name GPUs of a node",
    explain: r#"### What it checks

Whether `gpus` is a list of indexes and ranges below the number of GPUs on a node.

### Why it matters

A layout for a GPU that does not exist would be applied to none.

### What to do

Count from 0: a node with 8 GPUs has "0-7".
"#,
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{gpus: "1-2", layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{gpus: "0-1", layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
};

/// A GPU has two layouts.
pub static MIG_GPU_TWICE: Code = Code {
    id: "GPUC1019",
    name: "mig-gpu-twice",
    severity: Severity::Error,
    summary: "a GPU has two layouts",
    explain: r"### What it checks

Whether each GPU of a node is named by one entry of `perGpu` at most.

### Why it matters

A GPU has one layout at a time.

### What to do

Name each GPU once.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{gpus: "0", layout: [{profile: 2g.12gb, count: 2}]}, {layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{gpus: "0", layout: [{profile: 2g.12gb, count: 2}]}, {gpus: "1", layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
};

/// MIG without any slice.
pub static MIG_LAYOUT_EMPTY: Code = Code {
    id: "GPUC1020",
    name: "mig-layout-empty",
    severity: Severity::Error,
    summary: "a pool is shared by MIG and has no slices",
    explain: r"### What it checks

Whether some GPU of a pool with `sharing: {mig: …}` has at least one slice.

### Why it matters

A GPU in MIG mode without slices offers nothing: no container can use it.

### What to do

Write the slices, or `sharing: none`.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: []}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
};
