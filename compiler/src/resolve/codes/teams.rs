//! Quotas of teams.

use crate::diag::{Code, Severity};

/// A quota speaks of a pool that there is not.
pub static QUOTA_POOL_UNKNOWN: Code = Code {
    id: "GPUC2150",
    name: "quota-pool-unknown",
    severity: Severity::Error,
    summary: "a quota speaks of a pool that there is not",
    explain: r"### What it checks

Whether the pool of each entry of `quota.gpus` is one of the cluster's.

### Why it matters

What GPUs are called, and how many there are, follow from the pool.

### What to do

Write the name of one of the pools.
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
teams:
  - name: research
    quota: {gpus: [{pool: gpus, guaranteed: 2}]}
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
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 2}]}
"#,
};

/// A quota counts what its pool does not offer.
pub static QUOTA_UNIT_WRONG: Code = Code {
    id: "GPUC2151",
    name: "quota-unit-wrong",
    severity: Severity::Error,
    summary: "a quota counts what its pool does not offer",
    explain: r"### What it checks

Whether each entry of `quota.gpus` counts what the pool offers: `shares` where containers share
GPUs, `guaranteed` elsewhere; with `profile` where slices have names of their own.

### Why it matters

A quota counts what pods ask for. On a shared GPU they ask for shares, on a GPU that is cut for
slices: a quota of 2 GPUs would be one of 2 shares.

### What to do

Count what the pool offers, as the help names it.
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
    sharing: {timeSlicing: {replicas: 4}}
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 2}]}
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
    sharing: {timeSlicing: {replicas: 4}}
teams:
  - name: research
    quota: {gpus: [{pool: gpu, shares: 8}]}
"#,
};

/// A quota does not say how much.
pub static QUOTA_AMOUNT_UNCLEAR: Code = Code {
    id: "GPUC2152",
    name: "quota-amount-unclear",
    severity: Severity::Error,
    summary: "a quota does not say how much",
    explain: r"### What it checks

Whether each entry of `quota.gpus` says once how much it gives, whether `limit` is no less than what
is guaranteed, and whether no two entries of a quota speak of the same GPUs.

### Why it matters

An entry without an amount would have to be taken for none or for all. Of two that contradict each
other one would be ignored.

### What to do

Write `guaranteed`, or `shares` where containers share GPUs; `limit` where the team may have more
than that while others leave it idle.
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
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 2, limit: 1}]}
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
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 2, limit: 2}]}
"#,
};

/// A quota is for a namespace that the team has not.
pub static QUOTA_NAMESPACE_UNKNOWN: Code = Code {
    id: "GPUC2153",
    name: "quota-namespace-unknown",
    severity: Severity::Error,
    summary: "a quota is for a namespace that the team has not",
    explain: r"### What it checks

Whether the namespace of each entry of `namespaceQuotas` is one of the team's.

### Why it matters

The quota would be nobody's.

### What to do

Write one of the team's namespaces, or add this one to `namespaces`.
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
teams:
  - name: research
    namespaceQuotas: [{namespace: resaerch, quota: {pods: 100}}]
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
teams:
  - name: research
    namespaceQuotas: [{namespace: research, quota: {pods: 100}}]
"#,
};
