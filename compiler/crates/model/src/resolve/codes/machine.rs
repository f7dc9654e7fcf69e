//! Codes of machine types and their GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

/// A pool has neither `machine` nor `gpu`.
pub static MACHINE_MISSING: Code = Code {
    id: "GPUC1003",
    name: "machine-missing",
    severity: Severity::Error,
    summary: "a pool has neither `machine` nor `gpu`",
    checks: "Whether a pool has `machine`, or `gpu` to select a machine from the catalog.",
    reason: "There is no sensible default for the machine type of a node.",
    remedy: "Write the machine type, or the GPUs of a node.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    nodes: {count: 1}
"#,
    correction: Correction::Replace(
        " nodes:",
        " machine: g6.xlarge
    nodes:",
    ),
};

/// A machine type is unknown.
pub static MACHINE_UNKNOWN: Code = Code {
    id: "GPUC1004",
    name: "machine-unknown",
    severity: Severity::Warning,
    summary: "a machine type is unknown",
    checks: "Whether a machine type is in the catalog of machines with GPUs, or in a family whose sizes follow
from its name.",
        reason: "The cloud has many machine types without GPUs, so gpuc treats an unknown one as a machine without
GPUs. A misspelled name fails late, when the cloud creates the machine.",
        remedy: "Correct the name. If it is correct and the machine has no GPUs, write `allow: [machine-unknown]`.
`--deny` does not override this entry. A name that is close to a known one is an error: `machine-mistyped`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m10i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
    correction: Correction::Replace("m10i.xlarge", "m7i.xlarge"),
};

/// A machine type of a family with GPUs is unknown.
pub static GPU_MACHINE_UNKNOWN: Code = Code {
    id: "GPUC1021",
    name: "gpu-machine-unknown",
    severity: Severity::Error,
    summary: "a machine type of a family with GPUs is unknown",
    checks: "Whether a machine type of a family with GPUs is in the catalog. These families are `g` and `p` of
Amazon EC2, `a` and `g` of Google Compute Engine, and the N series of Azure. Old families, such as `p2`, are
not in the catalog.",
        reason: "The machine type determines the model and number of the GPUs of a node, and how they can be shared.
gpuc knows none of this for a machine that is not in the catalog.",
        remedy: "Correct the name: `gpuc catalog machines` lists them. A machine that is newer than the catalog
requires a newer gpuc.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xxlarge
    nodes: {count: 1}
"#,
    correction: Correction::Replace("g6.xxlarge", "g6.xlarge"),
};

/// A machine type is not a valid name on this cloud.
pub static MACHINE_NAME_INVALID: Code = Code {
    id: "GPUC1005",
    name: "machine-name-invalid",
    severity: Severity::Error,
    summary: "a machine type is not a valid name on this cloud",
    checks: "Whether the name of a machine type is possible on this cloud.",
    reason: "The cloud's command accepts any text, and fails late, or after the cluster is created.",
    remedy: "Write the cloud's name for the machine type; `gpuc catalog machines` lists those with GPUs.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {count: 1}
"#,
    correction: Correction::Replace("Standard_NC4as_T4_v3", "g6.xlarge"),
};

/// An accelerator is not from NVIDIA.
pub static ACCELERATOR_NOT_NVIDIA: Code = Code {
    id: "GPUC1006",
    name: "accelerator-not-nvidia",
    severity: Severity::Error,
    summary: "an accelerator is not from NVIDIA",
    checks: "Whether a machine type or GPU model is from another vendor: AMD, Intel, Google (TPUs) or AWS.",
        reason: "Everything that gpuc generates, from the driver to the device plugin, is for NVIDIA GPUs. With
another accelerator it would be installed and have no effect.",
        remedy: "Choose a machine with NVIDIA GPUs, or remove this pool and create it by other means.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4ad.xlarge
    nodes: {count: 1}
"#,
    correction: Correction::Replace("g4ad.xlarge", "g4dn.xlarge"),
};

/// A GPU model is unknown.
pub static GPU_MODEL_UNKNOWN: Code = Code {
    id: "GPUC1007",
    name: "gpu-model-unknown",
    severity: Severity::Error,
    summary: "a GPU model is unknown",
    checks: "Whether `gpu.model` is a key or an alias of a GPU model in the catalog.",
    reason:
        "The GPU model determines the machine type, the MIG profiles, the driver branch and how many
containers can share a GPU.",
    remedy: "Write one of the names that `gpuc catalog gpus` lists.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A300, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    correction: Correction::Replace("model: A300", "model: A30"),
};

/// The name of a GPU matches several GPU models.
pub static GPU_MODEL_AMBIGUOUS: Code = Code {
    id: "GPUC1008",
    name: "gpu-model-ambiguous",
    severity: Severity::Error,
    summary: "the name of a GPU matches several GPU models",
    checks: "Whether `gpu.model` identifies one GPU model.",
        reason: "An A100 has 40 or 80 GB and its MIG profiles differ; a MIG geometry for one does not exist on the
other.",
        remedy: "Write the key of your GPU model; the help lists them.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A100, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    correction: Correction::Replace("model: A100", "model: a100-sxm4-80gb"),
};

/// The `gpu` of a pool contradicts its `machine`.
pub static GPU_CONTRADICTS_MACHINE: Code = Code {
    id: "GPUC1009",
    name: "gpu-contradicts-machine",
    severity: Severity::Error,
    summary: "the `gpu` of a pool contradicts its `machine`",
    checks: "Whether `machine` and `gpu` of a pool describe the same GPUs.",
    reason: "A machine type includes its GPUs; they cannot be chosen separately.",
    remedy: "Remove one of the two keys.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    gpu: {model: L4, perNode: 4}
    nodes: {count: 1}
"#,
    correction: Correction::Replace(
        "gpu: {model: L4, perNode: 4}
    ",
        "",
    ),
};

/// These GPUs cannot be attached to the machine type.
pub static GPU_CANNOT_BE_ATTACHED: Code = Code {
    id: "GPUC1010",
    name: "gpu-cannot-be-attached",
    severity: Severity::Error,
    summary: "these GPUs cannot be attached to the machine type",
    checks: "Whether the cloud attaches this number of GPUs of this model to this machine type.",
        reason: "Only some machine types support attached GPUs. Each GPU model has limits on CPUs and memory for each
number of GPUs.",
        remedy: "Remove `machine` so that gpuc selects one, or follow the reason in the message.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-demo.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: n2-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {count: 1}
"#,
    correction: Correction::Replace("n2-standard-8", "n1-standard-8"),
};

/// The cloud has no machine type with these GPUs.
pub static NO_MACHINE_HAS_GPUS: Code = Code {
    id: "GPUC1011",
    name: "no-machine-has-gpus",
    severity: Severity::Error,
    summary: "the cloud has no machine type with these GPUs",
    checks: "Whether a current machine type of the cloud has exactly this number of GPUs of this model.",
    reason: "Machine types have a fixed number of GPUs, often 1, 4 or 8.",
    remedy: "Write a number that exists; the help lists them.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 3}
    nodes: {count: 1}
"#,
    correction: Correction::Replace("perNode: 3", "perNode: 4"),
};
