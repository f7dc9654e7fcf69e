//! Findings of resolving: names that mean nothing, and parts that cannot be put together.

use crate::diag::{Code, Severity};

/// Every code of this phase, by id.
pub static CODES: &[&Code] = &[
    &KUBERNETES_VERSION_UNREADABLE,
    &KUBERNETES_VERSION_UNSUPPORTED,
    &MACHINE_MISSING,
    &MACHINE_UNKNOWN,
    &MACHINE_NAME_IMPOSSIBLE,
    &ACCELERATOR_NOT_NVIDIA,
    &GPU_MODEL_UNKNOWN,
    &GPU_MODEL_AMBIGUOUS,
    &GPU_CONTRADICTS_MACHINE,
    &GPU_CANNOT_BE_ATTACHED,
    &NO_MACHINE_HAS_GPUS,
    &NODE_COUNT_UNCLEAR,
    &NODE_COUNT_REVERSED,
    &NODE_COUNT_ZERO,
    &MIG_UNSUPPORTED,
    &MIG_PROFILE_UNSUPPORTED,
    &MIG_LAYOUT_IMPOSSIBLE,
    &MIG_GPUS_UNREADABLE,
    &MIG_GPU_TWICE,
    &MIG_LAYOUT_EMPTY,
];

/// The Kubernetes version is not a version.
pub static KUBERNETES_VERSION_UNREADABLE: Code = Code {
    id: "GPUC1001",
    name: "kubernetes-version-unreadable",
    severity: Severity::Error,
    summary: "the Kubernetes version is not a version",
    explain: r#"### What it checks

Whether `kubernetes.version` is a major and a minor version, such as "1.34".

### Why it matters

Without it nothing can be said of what the API server understands. Patch versions are the
cloud's business: they move by themselves.

### What to do

Write major and minor version in quotes. Without quotes YAML reads 1.30 as the number 1.3.
"#,
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "v1.34.2"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
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
"#,
};

/// Gpuc does not compile for this Kubernetes version.
pub static KUBERNETES_VERSION_UNSUPPORTED: Code = Code {
    id: "GPUC1002",
    name: "kubernetes-version-unsupported",
    severity: Severity::Error,
    summary: "gpuc does not compile for this Kubernetes version",
    explain: r"### What it checks

Whether `kubernetes.version` is one that gpuc's output is tested against.

### Why it matters

Manifests for a version that nobody tried may be refused by the API server, or worse, half
understood.

### What to do

Choose a supported version; the help names the range.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.28"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.33"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
};

/// A pool says neither what machine nor what GPUs it has.
pub static MACHINE_MISSING: Code = Code {
    id: "GPUC1003",
    name: "machine-missing",
    severity: Severity::Error,
    summary: "a pool says neither what machine nor what GPUs it has",
    explain: r"### What it checks

Whether a pool has `machine`, or `gpu` for the catalog to pick a machine by.

### Why it matters

There is no sensible default for what a node is.

### What to do

Name the machine type, or the GPUs that a node shall have.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
};

/// A machine type is in no table of gpuc's.
pub static MACHINE_UNKNOWN: Code = Code {
    id: "GPUC1004",
    name: "machine-unknown",
    severity: Severity::Warning,
    summary: "a machine type is in no table of gpuc's",
    explain: r"### What it checks

Whether a machine type is in the catalog of machines with GPUs, or of a family whose sizes
follow from its name.

### Why it matters

The cloud has many machine types without GPUs, so an unknown one is taken for one of those. A
misspelt GPU machine would become a pool without GPUs.

### What to do

Correct the name. If it is right and has no GPUs, write `allow: [machine-unknown]`.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xxlarge
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
};

/// No machine type of this cloud is called so.
pub static MACHINE_NAME_IMPOSSIBLE: Code = Code {
    id: "GPUC1005",
    name: "machine-name-impossible",
    severity: Severity::Error,
    summary: "no machine type of this cloud is called so",
    explain: r"### What it checks

Whether a machine type's name is one that the cloud could have.

### Why it matters

The cloud's own command accepts any text and fails late, or after the cluster has been made.

### What to do

Write the cloud's name for the machine type; `gpuc catalog machines` lists those with GPUs.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
};

/// An accelerator is not NVIDIA's.
pub static ACCELERATOR_NOT_NVIDIA: Code = Code {
    id: "GPUC1006",
    name: "accelerator-not-nvidia",
    severity: Severity::Error,
    summary: "an accelerator is not NVIDIA's",
    explain: r"### What it checks

Whether a machine type or GPU model is another vendor's: AMD, Intel, Google's TPUs, AWS's own
chips.

### Why it matters

Everything that gpuc emits, from the driver to the device plugin, is for NVIDIA GPUs. On another
card it would install and do nothing.

### What to do

Choose a machine with NVIDIA GPUs, or make this pool by other means and leave it out.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4ad.xlarge
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4dn.xlarge
    nodes: {count: 1}
"#,
};

/// No GPU is called so.
pub static GPU_MODEL_UNKNOWN: Code = Code {
    id: "GPUC1007",
    name: "gpu-model-unknown",
    severity: Severity::Error,
    summary: "no GPU is called so",
    explain: r"### What it checks

Whether `gpu.model` is a key or an alias of a card in the catalog.

### Why it matters

The card decides the machine, the slices, the driver branch and how many can share it.

### What to do

Write one of the names that `gpuc catalog gpus` lists.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A300, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
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
"#,
};

/// A GPU's name stands for several cards.
pub static GPU_MODEL_AMBIGUOUS: Code = Code {
    id: "GPUC1008",
    name: "gpu-model-ambiguous",
    severity: Severity::Error,
    summary: "a GPU's name stands for several cards",
    explain: r"### What it checks

Whether `gpu.model` names one card.

### Why it matters

An A100 has 40 or 80 GB and its slices differ; a layout for one does not exist on the other.

### What to do

Write the key of the card you have; the help lists them.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A100, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: a100-sxm4-80gb, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
};

/// A pool's `gpu` is not what its machine has.
pub static GPU_CONTRADICTS_MACHINE: Code = Code {
    id: "GPUC1009",
    name: "gpu-contradicts-machine",
    severity: Severity::Error,
    summary: "a pool's `gpu` is not what its machine has",
    explain: r"### What it checks

Whether `machine` and `gpu` of one pool say the same.

### Why it matters

A machine type comes with its GPUs; they cannot be chosen apart from it.

### What to do

Remove one of the two.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    gpu: {model: L4, perNode: 4}
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
};

/// A machine cannot have these GPUs added.
pub static GPU_CANNOT_BE_ATTACHED: Code = Code {
    id: "GPUC1010",
    name: "gpu-cannot-be-attached",
    severity: Severity::Error,
    summary: "a machine cannot have these GPUs added",
    explain: r"### What it checks

Whether the cloud attaches this many of this card to this machine type.

### Why it matters

Only some machine types take GPUs of one's choice, and each card has limits on CPUs and memory
for each count.

### What to do

Remove `machine` to have one picked, or follow the reason given.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, cluster: {existing: {}}}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: n2-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, cluster: {existing: {}}}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {count: 1}
"#,
};

/// The cloud has no machine with these GPUs.
pub static NO_MACHINE_HAS_GPUS: Code = Code {
    id: "GPUC1011",
    name: "no-machine-has-gpus",
    severity: Severity::Error,
    summary: "the cloud has no machine with these GPUs",
    explain: r"### What it checks

Whether some current machine type of the cloud has exactly this many of this card.

### Why it matters

Machine types have a fixed number of GPUs, often 1, 4 or 8.

### What to do

Write a number that exists; the help lists them.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 3}
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 4}
    nodes: {count: 1}
"#,
};

/// A pool does not say how many nodes it has.
pub static NODE_COUNT_UNCLEAR: Code = Code {
    id: "GPUC1012",
    name: "node-count-unclear",
    severity: Severity::Error,
    summary: "a pool does not say how many nodes it has",
    explain: r"### What it checks

Whether `nodes` has either `count`, or `min` and `max`.

### Why it matters

Half a range would need a guess, and guesses about numbers of GPU nodes are expensive.

### What to do

Write `nodes: {count: 2}` or `nodes: {min: 0, max: 4}`.
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
    nodes: {min: 1}
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
"#,
};

/// The fewest nodes are more than the most.
pub static NODE_COUNT_REVERSED: Code = Code {
    id: "GPUC1013",
    name: "node-count-reversed",
    severity: Severity::Error,
    summary: "the fewest nodes are more than the most",
    explain: r"### What it checks

Whether `nodes.min` is at most `nodes.max`.

### Why it matters

No number of nodes is in such a range; clouds refuse it after the cluster has been made.

### What to do

Swap the two numbers.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
autoscaler: clusterAutoscaler
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: m7i.xlarge
    nodes: {min: 3, max: 2}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
autoscaler: clusterAutoscaler
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: m7i.xlarge
    nodes: {min: 2, max: 3}
"#,
};

/// A pool can never have a node.
pub static NODE_COUNT_ZERO: Code = Code {
    id: "GPUC1014",
    name: "node-count-zero",
    severity: Severity::Error,
    summary: "a pool can never have a node",
    explain: r"### What it checks

Whether a pool may have at least one node.

### Why it matters

A pool of no nodes runs nothing, and some clouds refuse it.

### What to do

Raise the number, or remove the pool.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 0}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
};

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
