//! The codes of the audit, which checks the finished plan.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::notebook_profiles::PROFILE_UNSCHEDULABLE;
use super::plugin_configs::PLUGIN_CONFIG_CONTRADICTS_POOL;
use super::workloads::{
    PATCH_OVERRIDES, PATCH_PRIORITY, PATCH_REFUSED, PATCH_UNREADABLE, PATCHED_UNSCHEDULABLE,
};

/// Every code of the audit, by id.
pub const CODES: &[&Code] = &[
    &CHART_VALUE_UNREAD,
    &CHART_NOT_INSTALLED,
    &DIGEST_UNUSED,
    &CHART_OVERRIDES_DERIVED_VALUE,
    &CHART_KUBERNETES_UNSUPPORTED,
    &PLUGIN_CONFIG_CONTRADICTS_POOL,
    &PROFILE_UNSCHEDULABLE,
    &PATCH_OVERRIDES,
    &PATCHED_UNSCHEDULABLE,
    &PATCH_UNREADABLE,
    &PATCH_REFUSED,
    &PATCH_PRIORITY,
];

/// A value that a chart does not read.
pub static CHART_VALUE_UNREAD: Code = Code {
    id: "GPUC3001",
    name: "chart-value-unread",
    severity: Severity::Error,
    summary: "a chart does not read a value",
    checks: "Whether the pinned version of a chart reads every key below `charts.<chart>.values`, and whether
each value has the expected type.",
        reason: "Helm silently ignores a key that no template of the chart reads, so the value has no effect. For
example, tolerations in the wrong place leave a DaemonSet with zero pods.",
        remedy: "Write the key that the help names. `gpuc catalog charts` lists the version of each chart; the chart's
repository documents its values.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
charts:
  kueue:
    values:
      controlerManager: {replicas: 2}
"#,
    correction: Correction::Replace("controlerManager:", "controllerManager:"),
};

/// A chart with settings that is not installed.
pub static CHART_NOT_INSTALLED: Code = Code {
    id: "GPUC3002",
    name: "chart-not-installed",
    severity: Severity::Error,
    summary: "a chart has settings and is not installed",
    checks: "Whether every chart below `charts` is installed. Naming a chart there installs some charts. Other
charts follow from the rest of the file, such as NVIDIA's device plugin from `stack.devicePlugin`.",
        reason: "The values have no effect.",
        remedy: "Enable the chart's feature with the key that `gpuc explain charts` names, or remove the chart.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
charts:
  nvidia-device-plugin:
    values: {resources: {limits: {memory: 128Mi}}}
"#,
    correction: Correction::Replace(r#"runtimeImage: "registry.example.com/gpuc-runtime:0.1.0""#, "devicePlugin: nvidia"),
};

/// A digest of an image that is not used.
pub static DIGEST_UNUSED: Code = Code {
    id: "GPUC3003",
    name: "digest-unused",
    severity: Severity::Error,
    summary: "`digests` names an image that is not used",
    checks: "Whether a chart or a manifest of the tree uses each image in `digests`, under the image's name
without a mirror.",
        reason: "After a chart upgrade, the digest of the old image pins nothing, and the new image is pulled
without a digest.",
        remedy: "Write the image as `gpuc.lock.json` lists it without `mirror`, or remove the line.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
charts: {kueue: {}}
digests:
  "registry.k8s.io/kueue/kueue:v0.19.1": sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
"#,
    correction: Correction::Replace(r#""registry.k8s.io/kueue/kueue:v0.19.1":"#, r#""registry.k8s.io/kueue/kueue:v0.19.2":"#),
};

/// A chart value that overrides a derived value.
pub static CHART_OVERRIDES_DERIVED_VALUE: Code = Code {
    id: "GPUC3004",
    name: "chart-overrides-derived-value",
    severity: Severity::Warning,
    summary: "a chart value overrides a value that gpuc derives from the file",
    checks: "Whether a key below `charts.<chart>.values` overrides a value that gpuc derives from the rest of the
file: where pods run (`tolerations`, `nodeSelector`, `affinity`, `runtimeClassName`), which
components are enabled (`enabled`), names that other components refer to (`fullnameOverride`,
`clusterName`), and the MIG layouts of the GPU Operator. A list replaces gpuc's list, and `null` removes its value.",
        reason: "Your value takes precedence. A DaemonSet without the toleration for a pool's taint runs on none of
its nodes, and a disabled driver is not installed. The README and `cloud/verify.sh` still expect
them.",
        remedy: "Add the tolerations from the help to your own, or change the keys that gpuc's value derives from:
the pool's `taints`, `stack`, `monitoring`. If the override is intended, add the finding's name to
`allow`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 1}}
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    taints: [{key: gpu, value: "yes", effect: NoSchedule}]
charts:
  nvidia-device-plugin:
    values:
      tolerations:
        - {key: maintenance, operator: Exists}
"#,
    correction: Correction::Replace("Exists}
", r#"Exists}
        - {key: gpu, operator: Equal, value: "yes", effect: NoSchedule}
"#),
};

/// A Kubernetes version that the project of an installed chart does not support.
pub static CHART_KUBERNETES_UNSUPPORTED: Code = Code {
    id: "GPUC3005",
    name: "chart-kubernetes-unsupported",
    severity: Severity::Warning,
    summary: "the project of a chart does not support the Kubernetes version",
    checks: "Whether `kubernetes.version` is a version that the project of each installed chart supports with the
pinned chart version, if it states any. A chart for which the file sets the tag of its own image is not checked.",
        reason: "The project has not tested the combination. Controllers use APIs that newer Kubernetes versions
remove or change, and the Cluster Autoscaler simulates the scheduler of its own minor version.",
        remedy: "Use a supported Kubernetes version; `gpuc catalog charts` lists them for each chart. If the cluster already
runs a newer version, test the chart on it and add the finding's name to `allow`. With `--format json`, the
catalog also prints the source of the versions.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.37"}
cloud: {onPrem: {context: demo}}
stack: {driver: operator, devicePlugin: operator}
nodePools:
  - {name: gpu, gpu: {model: L4, perNode: 1}, hosts: [node-1], nodes: {count: 1}}
"#,
    correction: Correction::Replace("1.37", "1.36"),
};
