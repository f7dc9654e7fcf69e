//! Origins in the tree: every output that changes with a line of the input names that line as an origin.

use std::collections::BTreeMap;

use gpuc_model::plan::{Object, Plan};
use gpuc_syntax::node::Origin;
use gpuc_syntax::source::Span;

use crate::support::{Outcome, compile_text};

/// A cluster and changes of it, as pairs of old and new text.
struct Case {
    yaml: &'static str,
    changes: &'static [(&'static str, &'static str)],
}

const CASES: &[Case] = &[
    Case {
        yaml: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: train
    machine: p5.48xlarge
    zones: [us-east-1a]
    nodes: {count: 2}
    capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 2, start: "2096-12-01T11:30:00Z", end: "2096-12-15T11:30:00Z"}}
monitoring: {prometheus: {existing: {release: kube-prometheus-stack}}}
"#,
        changes: &[("2096-12-01", "2096-12-02"), ("2096-12-15", "2096-12-14")],
    },
    Case {
        yaml: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: gpuc, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: train
    machine: p4d.24xlarge
    nodes: {count: 2}
    os: {family: AmazonLinux2023}
    dedicatedTo: research
    taints: [{key: sku, value: gpu, effect: NoSchedule}]
    sharing: {timeSlicing: {replicas: 4}}
  - name: old
    machine: g5.2xlarge
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}
"#,
        changes: &[
            ("name: demo", "name: other"),
            ("0.1.0", "0.2.0"),
            ("name: train", "name: drill"),
            ("p4d.24xlarge", "g6.12xlarge"),
            ("dedicatedTo: research", "dedicatedTo: vision"),
            ("key: sku", "key: owner"),
            ("value: gpu", "value: vision"),
            ("effect: NoSchedule", "effect: NoExecute"),
            ("replicas: 4", "replicas: 3"),
            ("nodegroup: gpu-a", "nodegroup: gpu-b"),
            ("devicePlugin: gpuc", "devicePlugin: nvidia"),
        ],
    },
    Case {
        yaml: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: infer
    machine: g2-standard-8
    nodes: {count: 2}
    os: {family: ContainerOptimized}
    sharing: {mps: {replicas: 4, rename: false}}
  - name: attached
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {count: 1}
    stack: {driver: daemonSet, driverVersion: "580.65.06", driverImage: "registry.example.com/installer:1.0.0"}
  - name: slices
    machine: a2-highgpu-1g
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 3g.20gb, count: 1}]}]}}
"#,
        changes: &[
            ("name: demo", "name: other"),
            ("gpuc-runtime:0.1.0", "gpuc-runtime:0.2.0"),
            ("installer:1.0.0", "installer:2.0.0"),
            (
                "driverVersion: \"580.65.06\"",
                "driverVersion: \"580.82.07\"",
            ),
            ("g2-standard-8", "g2-standard-24"),
            ("model: T4", "model: P4"),
            ("perNode: 1", "perNode: 2"),
            ("family: ContainerOptimized", "family: Ubuntu"),
            ("replicas: 4", "replicas: 3"),
            ("rename: false", "rename: true"),
            ("strategy: mixed", "strategy: single"),
            ("profile: 3g.20gb", "profile: 2g.10gb"),
            ("count: 1}]}]", "count: 2}]}]"),
        ],
    },
    Case {
        yaml: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: gpuc, runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: train
    machine: p4d.24xlarge
    nodes: {count: 2}
    dedicatedTo: research
    sharing: {timeSlicing: {replicas: 4, rename: false}}
monitoring:
  exporter: dcgm
  alerts: {temperatureCelsius: 85, disabled: [GpuIdle]}
  dashboards: true
  prometheus: {install: {retentionDays: 15, grafana: {adminSecret: grafana-admin}}}
"#,
        changes: &[
            ("name: train", "name: drill"),
            ("p4d.24xlarge", "g6.12xlarge"),
            ("count: 2}\n    dedicated", "count: 3}\n    dedicated"),
            ("dedicatedTo: research", "dedicatedTo: vision"),
            ("replicas: 4", "replicas: 3"),
            ("rename: false", "rename: true"),
            ("devicePlugin: gpuc", "devicePlugin: nvidia"),
            ("exporter: dcgm", "exporter: gpuc"),
            ("temperatureCelsius: 85", "temperatureCelsius: 80"),
            ("[GpuIdle]", "[GpuXid]"),
            ("dashboards: true", "dashboards: false"),
            ("retentionDays: 15", "retentionDays: 30"),
            ("grafana-admin", "grafana-login"),
            (
                "{install: {retentionDays: 15, grafana: {adminSecret: grafana-admin}}}",
                "{existing: {release: monitoring}}",
            ),
        ],
    },
    Case {
        yaml: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab, distribution: kubeadm}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: edge
    gpu: {model: L40S, perNode: 2}
    hosts: [edge-01]
    nodes: {count: 1}
    os: {family: Ubuntu2404}
    sharing: {timeSlicing: {replicas: 4, rename: false}}
"#,
        changes: &[
            ("name: demo", "name: other"),
            ("model: L40S", "model: L4"),
            ("perNode: 2", "perNode: 4"),
            ("rename: false", "rename: true"),
            ("0.1.0", "0.2.0"),
            ("context: lab", "context: edge"),
            ("distribution: kubeadm", "distribution: k3s"),
            ("name: edge", "name: rim"),
        ],
    },
    Case {
        yaml: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: spot
    machine: Standard_NC4as_T4_v3
    nodes: {min: 1, max: 2}
    capacity: {spot: {}}
    sharing: {timeSlicing: {replicas: 4}}
"#,
        changes: &[
            ("name: spot", "name: cheap"),
            ("capacity: {spot: {}}", "capacity: onDemand"),
            ("replicas: 4", "replicas: 3"),
            ("sharing: {timeSlicing", "sharing: {mps"),
        ],
    },
    Case {
        yaml: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {allocation: dra}
nodePools:
  - name: train
    gpu: {model: L40S, perNode: 4}
    hosts: [dgx-1]
    nodes: {count: 1}
    taints: [{key: sku, value: gpu, effect: NoSchedule}]
    sharing: {mps: {replicas: 4}}
    network: {rdma: {infiniband: {driver: operator}}}
"#,
        changes: &[
            ("name: train", "name: drill"),
            ("model: L40S", "model: L4"),
            ("value: gpu", "value: vision"),
            ("replicas: 4", "replicas: 8"),
            ("infiniband: {driver: operator}", "roce: {driver: operator}"),
            ("driver: operator", "driver: preinstalled"),
        ],
    },
];

#[test]
fn changed_values_name_the_changed_line() {
    let mut missing = Vec::new();
    for case in CASES {
        let before = compile(case.yaml);
        for (from, to) in case.changes {
            let at = case.yaml.find(from);
            let at = at.unwrap_or_else(|| panic!("{from} is not in the text"));
            let after = compile_text(&case.yaml.replacen(from, to, 1));
            if after.compilations[0].plan.is_none() {
                missing.push(format!("{from} -> {to}: {}", after.text()));
                continue;
            }
            // The change begins after the common prefix of both texts.
            let same = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b);
            let changed = at + same.count();
            for (what, text, origin) in plan_parts(plan(&before)) {
                let now = plan_parts(plan(&after));
                let now = now.iter().find(|(other, _, _)| *other == what);
                let is_same = now.is_some_and(|(_, other, _)| *other == text);
                if !is_same && !is_named_by(&origin, changed) {
                    missing.push(format!(
                        "{from} -> {to}: {what} does not name the changed line"
                    ));
                }
            }
        }
    }
    assert!(
        missing.is_empty(),
        "{} origins are missing:\n{}",
        missing.len(),
        missing.join("\n")
    );
}

#[test]
fn plan_values_have_an_origin() {
    for case in CASES {
        for (what, _, origin) in plan_parts(plan(&compile(case.yaml))) {
            assert!(!matches!(origin, Origin::Inherited), "{what} has no origin");
        }
    }
}

fn compile(yaml: &str) -> Outcome {
    let outcome = compile_text(yaml);
    let built = outcome.compilations.iter().all(|one| one.plan.is_some());
    assert!(built, "{}", outcome.text());
    outcome
}

fn plan(outcome: &Outcome) -> &Plan {
    outcome.compilations[0].plan.as_ref().unwrap()
}

/// Objects and release values: identity, text and origin.
fn plan_parts(plan: &Plan) -> Vec<(String, String, Origin)> {
    let object = |object: &Object| {
        let identity = &object.identity;
        let what = format!("{} {}", identity.kind, identity.name);
        (
            what,
            gpuc_syntax::yaml::to_yaml(&object.node),
            object.node.origin.clone(),
        )
    };
    let releases = plan.releases.iter().map(|release| {
        let text = gpuc_syntax::yaml::to_yaml(&release.values);
        (
            format!("release {}", release.name),
            text,
            release.values.origin.clone(),
        )
    });
    let parts: BTreeMap<_, _> = (plan.objects.iter().map(object).chain(releases))
        .map(|(what, text, origin)| (what, (text, origin)))
        .collect();
    let parts = parts.into_iter();
    parts
        .map(|(what, (text, origin))| (what, text, origin))
        .collect()
}

/// Whether an origin contains the location of this byte.
fn is_named_by(origin: &Origin, byte: usize) -> bool {
    let holds = |span: &Span| (span.start as usize..=span.end as usize).contains(&byte);
    match origin {
        Origin::Generated(made) => made.inputs.iter().any(holds),
        Origin::Written { span, .. } => holds(span),
        Origin::Inherited => false,
    }
}
