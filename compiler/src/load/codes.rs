//! What can be wrong with files and with how they build upon each other.

use crate::diag::{Code, Severity};

/// Every code of this module, by id.
pub static CODES: &[&Code] = &[&FILE_UNUSABLE, &BASE_CYCLE, &REMOVE_NOTHING];

/// A file that cannot be used.
pub static FILE_UNUSABLE: Code = Code {
    id: "GPUC0201",
    name: "file-unusable",
    severity: Severity::Error,
    summary: "a file is missing, cannot be read, is not UTF-8 text, or is a base of several documents",
    explain: "\
### What it checks

Every file that is given or named by `base` is there, can be read, and is UTF-8 text. One that `base` names has exactly
one document.

### Why it matters

A document without its base is half a cluster; it is left out and everything else is checked.

### What to do

`base` is relative to the file it stands in. Save the file as UTF-8. Split a base of several documents into several
files.
",
    bad: r#"base: no-such-file.yaml
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    good: GOOD,
};

/// Files that build upon each other.
pub static BASE_CYCLE: Code = Code {
    id: "GPUC0202",
    name: "base-cycle",
    severity: Severity::Error,
    summary: "files name each other as base, or more than 16 stand upon each other",
    explain: "\
### What it checks

Following `base` from file to file ends, after 16 files at most.

### Why it matters

Files that build upon each other have no beginning: there is no value that the others are laid over.

### What to do

Let one of the files stand without `base`, and move to it what the others share.
",
    bad: r#"base: gpu-cluster.yaml
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    good: GOOD,
};

/// `remove` without anything to remove.
pub static REMOVE_NOTHING: Code = Code {
    id: "GPUC0203",
    name: "remove-nothing",
    severity: Severity::Error,
    summary: "`remove: true` names an item that the base does not have",
    explain: "\
### What it checks

An item of `nodePools`, `teams` or `workloads` with `remove: true` has the name of an item of the base.

### Why it matters

The item was renamed or removed in the base, or the name has a typing mistake: what ought to be gone may still be there.

### What to do

Correct the name, or delete the item. A document without `base` has nothing to remove.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
  - {name: old, remove: true}
"#,
    good: GOOD,
};

const GOOD: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#;
