//! What can be wrong with the shape of a configuration.

use crate::diag::{Code, Severity};

/// Every code of this module, by id.
pub static CODES: &[&Code] = &[
    &WRONG_TYPE,
    &NUMBER_OUT_OF_RANGE,
    &UNKNOWN_KEY,
    &UNKNOWN_VALUE,
    &NOT_ONE_CHOICE,
    &MISSING_KEY,
    &NOT_A_CLUSTER,
];

/// A value of another type than is needed.
pub static WRONG_TYPE: Code = Code {
    id: "GPUC0101",
    name: "wrong-type",
    severity: Severity::Error,
    summary: "a value is text, a number, a list or a mapping where something else is needed",
    explain: "\
### What it checks

Every value has the type that its key needs. YAML 1.2 decides what a value without quotes is: `true` and `false` are the
only booleans, `1.34` is a number, `yes` is text.

### Why it matters

YAML's own guesses lose what was meant: `version: 1.30` is the number 1.3, and an account id with a leading zero loses
it. A number that starts with 0 is decimal to YAML 1.2 and octal to YAML 1.1, so gpuc asks which one is meant.

### What to do

Quote what is text, write `true` or `false`, and write numbers without quotes, `_` or exponents. A key without a value
can be left out.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: 1.34}
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

/// A whole number that is too small or too large.
pub static NUMBER_OUT_OF_RANGE: Code = Code {
    id: "GPUC0102",
    name: "number-out-of-range",
    severity: Severity::Error,
    summary: "a whole number is less or more than its key may be",
    explain: "\
### What it checks

Whole numbers lie in the range that the schema gives their key: `gpuc schema` prints it, and editors show it.

### Why it matters

The number means nothing to Kubernetes or to a cloud: there are no -1 nodes.

### What to do

Write a number in the range that the message names.
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
    nodes: {count: -1}
"#,
    good: GOOD,
};

/// A key that means nothing.
pub static UNKNOWN_KEY: Code = Code {
    id: "GPUC0103",
    name: "unknown-key",
    severity: Severity::Error,
    summary: "a mapping has a key that means nothing there",
    explain: "\
### What it checks

Every key is known where it stands. The message names the keys that are.

### Why it matters

A key with a typing mistake would be passed over in silence, and the cluster built without what it says.

### What to do

Correct the key, or move it to where it belongs: `gpuc schema` prints all of them.
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
    taint: [{key: gpu, effect: NoSchedule}]
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
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    taints: [{key: gpu, effect: NoSchedule}]
    nodes: {count: 1}
"#,
};

/// A name that is not in the list.
pub static UNKNOWN_VALUE: Code = Code {
    id: "GPUC0104",
    name: "unknown-value",
    severity: Severity::Error,
    summary: "a value is none of those that its key takes",
    explain: "\
### What it checks

Values that are names out of a list are in it, in the same case.

### Why it matters

What the name stands for is not known, and nothing can be built for it.

### What to do

Take one of the values that the message names.
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
    os: {family: Ubuntu2504}
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
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    os: {family: Ubuntu2404}
    nodes: {count: 1}
"#,
};

/// A choice that chooses nothing, several things, or in the wrong form.
pub static NOT_ONE_CHOICE: Code = Code {
    id: "GPUC0105",
    name: "not-one-choice",
    severity: Severity::Error,
    summary: "a key that holds one of several things holds none or more than one of them",
    explain: "\
### What it checks

Keys such as `cloud`, `capacity` and `sharing` hold exactly one of several things. One with settings is a key with its
settings below, `{spot: {}}` if there are none; one without settings is written alone, `onDemand`.

### Why it matters

A cluster runs in one cloud, and a pool's GPUs are shared in one way. gpuc does not guess which one counts.

### What to do

Keep one of them. Give what differs a cluster or a pool of its own.
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
    sharing: {mps: {replicas: 4}, timeSlicing: {replicas: 4}}
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
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    sharing: {timeSlicing: {replicas: 4}}
    nodes: {count: 1}
"#,
};

/// A key that has to be there.
pub static MISSING_KEY: Code = Code {
    id: "GPUC0106",
    name: "missing-key",
    severity: Severity::Error,
    summary: "a mapping lacks a key that has no default",
    explain: "\
### What it checks

Keys without a default are there.

### Why it matters

Only you know the value: gpuc makes up no names, versions, accounts or sizes.

### What to do

Add the key.
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
"#,
    good: GOOD,
};

/// A document that describes something else.
pub static NOT_A_CLUSTER: Code = Code {
    id: "GPUC0107",
    name: "not-a-cluster",
    severity: Severity::Error,
    summary: "a document describes something other than a GPU cluster",
    explain: "\
### What it checks

A document is a mapping with gpuc's `apiVersion` and `kind`.

### Why it matters

A Kubernetes manifest, Helm values or an eksctl file given by mistake would be reported key by key, and none of it would
help.

### What to do

Give gpuc the right file. Each document of a file starts with `apiVersion: gpuc.dev/v1alpha1` and `kind: GpuCluster`.
",
    bad: r"apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: us-east-1}
managedNodeGroups:
  - name: gpu
    instanceType: g6.xlarge
",
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
