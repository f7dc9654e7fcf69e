//! What may be wrong with what became of a file.

use super::workloads::{
    PATCH_PRIORITY, PATCH_REFUSED, PATCH_UNDONE, PATCH_UNREADABLE, PATCHED_NOWHERE,
};
use crate::diag::{Code, Severity};

/// Every finding of the audit, by id.
pub const CODES: &[&Code] = &[
    &CHART_VALUE_UNREAD,
    &CHART_NOT_INSTALLED,
    &DIGEST_UNUSED,
    &CHART_VALUE_UNDONE,
    &PATCH_UNDONE,
    &PATCHED_NOWHERE,
    &PATCH_UNREADABLE,
    &PATCH_REFUSED,
    &PATCH_PRIORITY,
];

/// A value that a chart does not read.
pub static CHART_VALUE_UNREAD: Code = Code {
    id: "GPUC3001",
    name: "chart-value-unread",
    severity: Severity::Error,
    summary: "a chart does not read a value that it is given",
    explain: "### What it checks

Every key below `charts.<chart>.values` against the keys that the pinned version of the chart
reads, and whether the value is of the kind that the chart wants there.

### Why it matters

Helm ignores a key that no template of the chart reads. What you asked for would not happen, and
nothing would tell you: tolerations that are written in the wrong place leave a DaemonSet at zero
pods.

### What to do

Write the key as the help says. `gpuc catalog charts` names the version of each chart; its
values are documented where the chart comes from.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
charts:
  kueue:
    values:
      controllerManager: {replicas: 2}
"#,
};

/// A chart that is named and not installed.
pub static CHART_NOT_INSTALLED: Code = Code {
    id: "GPUC3002",
    name: "chart-not-installed",
    severity: Severity::Error,
    summary: "a chart is named and nothing installs it",
    explain: "### What it checks

Whether each chart below `charts` is installed. Some are by being named there; others follow
from what the rest of the file says, such as NVIDIA's device plugin from `stack.devicePlugin`.

### Why it matters

The values would go nowhere.

### What to do

Ask for what the chart brings by the key that `gpuc explain charts` names, or remove it.
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
    nodes: {count: 1}
charts:
  nvidia-device-plugin:
    values: {resources: {limits: {memory: 128Mi}}}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
charts:
  nvidia-device-plugin:
    values: {resources: {limits: {memory: 128Mi}}}
"#,
};

/// A digest of an image that nothing runs.
pub static DIGEST_UNUSED: Code = Code {
    id: "GPUC3003",
    name: "digest-unused",
    severity: Severity::Error,
    summary: "`digests` names an image that nothing runs",
    explain: "### What it checks

Whether each image in `digests` is one that a chart or a manifest of the tree runs, under the name
that it has without a mirror.

### Why it matters

After a chart's version moved, the digest of the old image would hold nothing, and the new image
would be pulled without one.

### What to do

Write the image as `gpuc.lock.json` lists it without `mirror`, or remove the line.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
charts: {kueue: {}}
digests:
  "registry.k8s.io/kueue/kueue:v0.19.1": sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
charts: {kueue: {}}
digests:
  "registry.k8s.io/kueue/kueue:v0.19.2": sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
"#,
};

/// A value that undoes what the rest of the file asks for.
pub static CHART_VALUE_UNDONE: Code = Code {
    id: "GPUC3004",
    name: "chart-value-undone",
    severity: Severity::Warning,
    summary: "a chart's value undoes what the rest of the file asks for",
    explain: "### What it checks

Every key below `charts.<chart>.values` against what gpuc itself writes there, for what follows
from the rest of the file: where pods run (`tolerations`, `nodeSelector`, `affinity`,
`runtimeClassName`), what is switched on (`enabled`), and names by which others know a part
(`fullnameOverride`, `clusterName`). A list takes the place of gpuc's list, and `null` takes its value away.

### Why it matters

Your value has the last word. A DaemonSet without the toleration of a pool's taint runs on none of
its nodes, and a driver that is switched off is one that nobody installs, while the README and
`cloud/verify.sh` still count on them.

### What to do

Write the tolerations that the help names beside your own, or change what gpuc's value follows
from: the pool's `taints`, `stack`, `monitoring`. Where it is meant, name the finding in `allow`.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        - {key: gpu, operator: Equal, value: "yes", effect: NoSchedule}
"#,
};
