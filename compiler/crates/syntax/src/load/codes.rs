//! Codes for errors about files and their bases.

use crate::diag::{Code, Correction, Severity};

/// All codes of this module, by id.
pub static CODES: &[&Code] = &[&FILE_UNUSABLE, &BASE_CYCLE, &REMOVE_TARGET_UNKNOWN];

/// A file that cannot be used.
pub static FILE_UNUSABLE: Code = Code {
    id: "GPUC0201",
    name: "file-unusable",
    severity: Severity::Error,
    summary: "a file is missing, cannot be read, is not UTF-8 text, or is a base with several documents",
    checks: "Whether every file on the command line or in `base` exists, is readable, and is UTF-8 text. A file in `base` has
exactly one document, and is in the same Git repository as the file that names it, also after symbolic links.",
        reason: "A document without its base is incomplete. gpuc skips it and checks all other documents. Messages quote lines of a base:
a pull request of a stranger must not print other files of the machine that checks it.",
        remedy: "Write `base` as a path relative to the file that contains it. Save the file as UTF-8. Split a base with several
documents into several files.",
    bad: r#"base: no-such-file.yaml
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    correction: Correction::Whole(GOOD),
};

/// Files whose bases form a cycle.
pub static BASE_CYCLE: Code = Code {
    id: "GPUC0202",
    name: "base-cycle",
    severity: Severity::Error,
    summary: "the bases of files form a cycle, or a chain of more than 16 files",
    checks: "Whether the chain of `base` files ends, after at most 16 files.",
    reason: "With a cycle, there is no file to start the merge with.",
    remedy: "Remove `base` from one of the files, and move the common settings into it.",
    bad: r#"base: gpu-cluster.yaml
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    correction: Correction::Whole(GOOD),
};

/// `remove` of an item that does not exist.
pub static REMOVE_TARGET_UNKNOWN: Code = Code {
    id: "GPUC0203",
    name: "remove-target-unknown",
    severity: Severity::Error,
    summary: "`remove: true` is set for an item that the base does not have",
    checks: "Whether an item of `nodePools`, `teams` or `workloads` with `remove: true` has the name of an item of
the base.",
    reason: "The item was renamed or deleted in the base, or the name has a typo. The item that you want to remove can still exist.",
    remedy: "Correct the name, or delete the item. In a document without `base`, delete the item.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
  - {name: old, remove: true}
"#,
    correction: Correction::Whole(GOOD),
};

const GOOD: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#;
