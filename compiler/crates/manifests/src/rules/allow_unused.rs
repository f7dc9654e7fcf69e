//! The annotation `gpuc.dev/allow` names a warning that its object does not have. Needs all findings, so `check`
//! reports it instead of a rule.

use gpuc_syntax::diag::{Code, Correction, Severity};

/// The annotation `gpuc.dev/allow` names a warning that its object does not have. Needs all findings, so `check`
/// reports it instead of a rule.
pub(crate) static CODE: Code = Code {
    id: "GPUC4089",
    name: "manifest-allow-unused",
    severity: Severity::Warning,
    summary: "`gpuc.dev/allow` names a warning that its object does not have",
    checks: "Whether each name in an object's annotation `gpuc.dev/allow` silences a warning of this object or of this
pod template. Objects with errors are not checked: the errors may hide the warning.",
        reason: "A name that stays after its reason is gone hides the next warning of that kind.",
        remedy: "Remove the name.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata:
  name: page
  annotations: {gpuc.dev/allow: manifest-image-floating}
spec:
  containers: [{name: page, image: "registry.example.com/page:1.0.0"}]
"#,
    correction: Correction::Replace("  annotations: {gpuc.dev/allow: manifest-image-floating}
", ""),
};
