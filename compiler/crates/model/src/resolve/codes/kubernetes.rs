//! Codes of the Kubernetes version.

use gpuc_syntax::diag::{Code, Correction, Severity};

/// The Kubernetes version is invalid.
pub static KUBERNETES_VERSION_UNREADABLE: Code = Code {
    id: "GPUC1001",
    name: "kubernetes-version-unreadable",
    severity: Severity::Error,
    summary: "the Kubernetes version is invalid",
    checks: r#"Whether `kubernetes.version` is a major and a minor version, such as "1.36"."#,
    reason: r"Without the version, gpuc does not know which API the server supports. The cloud chooses patch
versions and updates them automatically.",
    remedy: r"Write the major and minor version in quotes. Without quotes, YAML reads 1.30 as the number 1.3.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "v1.36.2"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    correction: Correction::Replace(r#""v1.36.2""#, r#""1.36""#),
};

/// The Kubernetes version is not supported.
pub static KUBERNETES_VERSION_UNSUPPORTED: Code = Code {
    id: "GPUC1002",
    name: "kubernetes-version-unsupported",
    severity: Severity::Error,
    summary: "the Kubernetes version is not supported",
    checks: "Whether `kubernetes.version` is one that gpuc's output is tested against.",
    reason: "The API server may reject manifests that were not tested with its version, or ignore parts of them.",
    remedy: "Choose a supported version; the help names the range.",
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
    correction: Correction::Replace(r#"version: "1.28""#, r#"version: "1.33""#),
};
