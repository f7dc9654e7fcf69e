//! Machines and their GPUs.

use crate::diag::{Code, Severity};

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

The cloud has many machine types without GPUs, so an unknown one is taken for one of those. What
is misspelt fails late, when the cloud is asked for it.

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
  - {name: system, machine: m7x.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
};

/// A machine type is of a family with GPUs, and in no table of gpuc's.
pub static GPU_MACHINE_UNKNOWN: Code = Code {
    id: "GPUC1021",
    name: "gpu-machine-unknown",
    severity: Severity::Error,
    summary: "a machine type is of a family with GPUs, and in no table of gpuc's",
    explain: r"### What it checks

Whether a machine type of a family that has GPUs (`g` and `p` of Amazon EC2, `a` and `g` of Google
Compute Engine, the N series of Azure) is in the catalog.

### Why it matters

Which GPUs a node has, how many, and how they may be shared all follow from the machine. For one
that the catalog does not have gpuc cannot say any of it.

### What to do

Correct the name: `gpuc catalog machines` lists them. A machine that is newer than gpuc's tables
needs a newer gpuc.
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
