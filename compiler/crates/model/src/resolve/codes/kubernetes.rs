//! Codes of the Kubernetes version.

use gpuc_syntax::diag::{Code, Severity};

/// The Kubernetes version is invalid.
pub static KUBERNETES_VERSION_UNREADABLE: Code = Code {
    id: "GPUC1001",
    name: "kubernetes-version-unreadable",
    severity: Severity::Error,
    summary: "the Kubernetes version is invalid",
    explain: r#"### What it checks

Whether `kubernetes.version` is a major and a minor version, such as "1.34".

### Why it matters

Without the version, gpuc does not know which API the server supports. The cloud chooses patch
versions and updates them automatically.

### How to fix it

Write the major and minor version in quotes. Without quotes, YAML reads 1.30 as the number 1.3.
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

/// The Kubernetes version is not supported.
pub static KUBERNETES_VERSION_UNSUPPORTED: Code = Code {
    id: "GPUC1002",
    name: "kubernetes-version-unsupported",
    severity: Severity::Error,
    summary: "the Kubernetes version is not supported",
    explain: "### What it checks

Whether `kubernetes.version` is one that gpuc's output is tested against.

### Why it matters

The API server may reject manifests that were not tested with its version, or ignore parts of them.

### How to fix it

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
