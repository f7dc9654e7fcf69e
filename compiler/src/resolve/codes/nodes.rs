//! How many nodes.

use crate::diag::{Code, Severity};

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
