//! Codes for errors in the shape of a configuration.

use crate::diag::{Code, Correction, Severity};

/// All codes of this module, by id.
pub static CODES: &[&Code] = &[
    &WRONG_TYPE,
    &NUMBER_OUT_OF_RANGE,
    &LIST_EMPTY,
    &UNKNOWN_KEY,
    &UNKNOWN_VALUE,
    &EXACTLY_ONE_REQUIRED,
    &MISSING_KEY,
    &NOT_A_CLUSTER,
];

/// A value of the wrong type.
pub static WRONG_TYPE: Code = Code {
    id: "GPUC0101",
    name: "wrong-type",
    severity: Severity::Error,
    summary: "a value has the wrong type",
    checks: "Whether every value has the type of its key. YAML 1.2 determines the type of a value without quotes: `true` and
`false` are the only booleans, `1.36` is a number, `yes` is a string.",
        reason: "YAML's implicit types change values: `version: 1.30` is the number 1.3, and an account ID loses a leading zero. A number
that starts with 0 is decimal in YAML 1.2 and octal in YAML 1.1, so it is ambiguous.",
        remedy: "Quote strings, use `true` or `false` for booleans, and write numbers without quotes, `_` or exponents. Remove keys
without a value.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: 1.36}
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

/// An integer that is out of range.
pub static NUMBER_OUT_OF_RANGE: Code = Code {
    id: "GPUC0102",
    name: "number-out-of-range",
    severity: Severity::Error,
    summary: "an integer is out of range",
    checks: "Whether integers are in the range of their key in the schema. `gpuc schema` prints the schema, and editors show
the range.",
    reason: "The number is invalid for Kubernetes or the cloud: a pool cannot have -1 nodes.",
    remedy: "Use a number in the range that the message shows.",
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
    nodes: {count: -1}
"#,
    correction: Correction::Whole(GOOD),
};

/// An empty list.
pub static LIST_EMPTY: Code = Code {
    id: "GPUC0108",
    name: "list-empty",
    severity: Severity::Error,
    summary: "a list that needs an item is empty",
    checks: "Whether lists that restrict something have an item, such as the ranges that can reach an API server.",
    reason: "An empty list looks like \"none\", but the setting would be absent: the whole internet could reach the API
server.",
    remedy: "Add an item, or remove the key.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {publicAccessCidrs: []}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
    correction: Correction::Replace("publicAccessCidrs: []", "publicAccessCidrs: [203.0.113.0/24]"),
};

/// An unknown key.
pub static UNKNOWN_KEY: Code = Code {
    id: "GPUC0103",
    name: "unknown-key",
    severity: Severity::Error,
    summary: "a mapping has an unknown key",
    checks: "Whether every key is known in its mapping. The message lists the known keys.",
    reason: "Without this check, a key with a typo would be ignored, and the cluster would be built without its setting.",
    remedy: "Correct the key, or move it to the correct mapping. `gpuc explain KEY` prints the documentation of a key.",
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
    taint: [{key: gpu, effect: NoSchedule}]
    nodes: {count: 1}
"#,
    correction: Correction::Whole(
        r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    taints: [{key: gpu, effect: NoSchedule}]
    nodes: {count: 1}
"#,
    ),
};

/// An unknown value of an enumeration.
pub static UNKNOWN_VALUE: Code = Code {
    id: "GPUC0104",
    name: "unknown-value",
    severity: Severity::Error,
    summary: "a value is not one of the values of its key",
    checks: "Whether values of an enumeration are in its list, in the same case.",
    reason: "gpuc cannot generate anything for an unknown value.",
    remedy: "Use one of the values that the message lists.",
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
    os: {family: Ubuntu2504}
    nodes: {count: 1}
"#,
    correction: Correction::Replace("Ubuntu2504", "Ubuntu2404"),
};

/// A choice with no option, several options, or an option in the wrong form.
pub static EXACTLY_ONE_REQUIRED: Code = Code {
    id: "GPUC0105",
    name: "exactly-one-required",
    severity: Severity::Error,
    summary: "a key that takes exactly one of several options has none or more than one",
    checks: "Whether keys such as `cloud`, `capacity` and `sharing` have exactly one of several options. An option with settings
is a key with nested settings, or with `{}`, such as `{spot: {}}`. An option without settings is a plain value, such
as `onDemand`.",
        reason: "A cluster runs on one platform, and a pool's GPUs are shared in one way. gpuc does not guess which option is intended.",
        remedy: "Keep one option. Use separate clusters or pools for different options.",
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
    sharing: {mps: {replicas: 4}, timeSlicing: {replicas: 4}}
    nodes: {count: 1}
"#,
    correction: Correction::Replace("mps: {replicas: 4}, ", ""),
};

/// A missing required key.
pub static MISSING_KEY: Code = Code {
    id: "GPUC0106",
    name: "missing-key",
    severity: Severity::Error,
    summary: "a required key is missing",
    checks: "Whether all required keys, which have no default, are set.",
    reason: "Only you know the value: gpuc does not invent names, versions, accounts or sizes.",
    remedy: "Add the key.",
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
"#,
    correction: Correction::Whole(GOOD),
};

/// A document that does not describe a GPU cluster.
pub static NOT_A_CLUSTER: Code = Code {
    id: "GPUC0107",
    name: "not-a-cluster",
    severity: Severity::Error,
    summary: "a document does not describe a GPU cluster",
    checks: "Whether every document is a mapping with gpuc's `apiVersion` and `kind`.",
        reason: "Without this check, every key of a Kubernetes manifest, a Helm values file or an eksctl file would be reported
separately.",
        remedy: "Check the path of the file. Each document of a file starts with `apiVersion: gpuc.dev/v1alpha1` and `kind: GpuCluster`.",
    bad: r"apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: us-east-1}
managedNodeGroups:
  - name: gpu
    instanceType: g6.xlarge
",
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
