//! Combinations that must not occur on a node, for each known conflict of driver, device plugin, sharing and taints.
//! Either a rule rejects the combination and shows both locations, or it is impossible because gpuc derives both sides
//! from one key.

use std::collections::BTreeMap;

use crate::support::compile_text;

/// Why a conflict cannot occur.
enum Rejection {
    /// A finding with this name and at least this number of locations.
    Reported(&'static str, usize),
    /// gpuc generates consistent files: one file contains the first text, and no file contains the second.
    Resolved {
        /// A text that a file contains.
        has: &'static str,
        /// A text that no file contains.
        lacks: &'static str,
    },
}

use Rejection::{Reported, Resolved};

const AWS: &str = r#"{aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}"#;
const AZURE: &str = "{azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, \
                     location: eastus, cluster: {existing: {}}}}";
const GCP: &str = "{gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}";
const LAB: &str = "{onPrem: {context: lab}}";

/// The conflict, the value of `cloud`, the keys of the pool, and the reason why the conflict cannot occur.
const CONFLICTS: &[(&str, &str, &str, Rejection)] = &[
    (
        "C01: eksctl's device plugin next to the operator's",
        AWS,
        "machine: g6.xlarge, stack: {devicePlugin: operator}",
        Resolved {
            has: "--install-nvidia-plugin=false",
            lacks: "--install-nvidia-plugin=true",
        },
    ),
    (
        "C02: the operator's device plugin next to the one in Bottlerocket",
        AWS,
        "machine: g6.xlarge, os: {family: Bottlerocket}, stack: {devicePlugin: operator}",
        Reported("device-plugin-conflict", 2),
    ),
    (
        "C03: the operator's driver on an image that contains a driver",
        AWS,
        "machine: g6.xlarge, os: {family: AmazonLinux2023}, stack: {driver: operator}",
        Reported("operator-driver-unsupported", 2),
    ),
    (
        "C03: the operator's toolkit on an image that contains a toolkit",
        AWS,
        "machine: g6.xlarge, stack: {devicePlugin: operator}",
        Resolved {
            has: "toolkit:\n  enabled: false\n",
            lacks: "toolkit:\n  enabled: true\n",
        },
    ),
    (
        "C04: a machine whose GPUs eksctl does not detect",
        AWS,
        "machine: p3.8xlarge, stack: {devicePlugin: operator}",
        Reported("gpu-unrecognized-by-eksctl", 1),
    ),
    (
        "C05: a fractional GPU, which EC2 counts as 0 GPUs",
        AWS,
        "machine: g6f.xlarge, stack: {devicePlugin: operator}",
        Reported("fractional-gpu-uncounted", 1),
    ),
    (
        "C06: GKE's device plugin next to the operator's",
        GCP,
        "machine: g2-standard-8, stack: {devicePlugin: operator}",
        Resolved {
            has: "gke-no-default-nvidia-gpu-device-plugin=true",
            lacks: "gpu-driver-version=default",
        },
    ),
    (
        "C07: GKE's sharing without GKE's device plugin",
        GCP,
        "machine: g2-standard-8, stack: {devicePlugin: operator}, sharing: {timeSlicing: {replicas: 4}}",
        Resolved {
            has: "timeSlicing:",
            lacks: "gpu-sharing-strategy",
        },
    ),
    (
        "C08: GKE's own taint repeated in the file",
        GCP,
        "machine: g2-standard-8, stack: {devicePlugin: operator}, \
         taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]",
        Reported("gke-taint-automatic", 1),
    ),
    (
        "C09: AKS's managed GPU pools",
        AZURE,
        "machine: Standard_NC4as_T4_v3, stack: {devicePlugin: cloud}",
        Reported("plugin-unavailable", 1),
    ),
    (
        "C10: AKS without a driver and without the toolkit",
        AZURE,
        "machine: Standard_NC4as_T4_v3, stack: {driver: operator, devicePlugin: operator}",
        Resolved {
            has: "toolkit:\n  enabled: true\n",
            lacks: "--gpu-driver Install",
        },
    ),
    (
        "C10: AKS's driver and the operator's",
        AZURE,
        "machine: Standard_NC4as_T4_v3, stack: {driver: preinstalled, devicePlugin: operator}",
        Resolved {
            has: "driver:\n  enabled: false\n",
            lacks: "--gpu-driver None",
        },
    ),
    (
        "C11: a taint without a value, which az refuses",
        AZURE,
        "machine: Standard_NC4as_T4_v3, stack: {devicePlugin: operator}, taints: [{key: sku, effect: NoSchedule}]",
        Reported("taint-value-missing", 1),
    ),
    (
        "C12: MPS and MIG on one GPU",
        LAB,
        "gpu: {model: a100-sxm4-40gb, perNode: 1}, hosts: [a], stack: {devicePlugin: operator}, \
         sharing: {mps: {replicas: 4}, mig: {strategy: single, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}",
        Reported("exactly-one-required", 1),
    ),
    (
        "C13: EFA across several zones",
        AWS,
        "machine: p5.48xlarge, zones: [us-east-1a, us-east-1b], network: {efa: {}}, stack: {devicePlugin: operator}",
        Reported("efa-several-zones", 1),
    ),
    (
        "C14: a driver that no longer supports the GPU model",
        LAB,
        "gpu: {model: v100-sxm2-16gb, perNode: 1}, hosts: [a], \
         stack: {driver: operator, devicePlugin: operator, driverVersion: 595.91.07}",
        Reported("driver-too-new", 2),
    ),
    (
        "C14: the default driver for a GPU model that it does not support",
        LAB,
        "gpu: {model: v100-sxm2-16gb, perNode: 1}, hosts: [a], stack: {driver: operator, devicePlugin: operator}",
        Resolved {
            has: "580.178.04",
            lacks: "595.91.07",
        },
    ),
    (
        "C15: MIG devices from AKS, and a device plugin that does not advertise them",
        AZURE,
        "machine: Standard_NC24ads_A100_v4, stack: {driver: preinstalled, devicePlugin: operator}, \
         sharing: {mig: {strategy: single, perGpu: [{layout: [{profile: 1g.10gb, count: 7}]}]}}",
        Resolved {
            has: "mig:\n  strategy: single\n",
            lacks: "migStrategy: none\n    sharing",
        },
    ),
];

#[test]
fn conflicts_are_rejected_or_impossible() {
    let mut wrong = Vec::new();
    for (what, cloud, pool, rejection) in CONFLICTS {
        let text = format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
             kubernetes: {{version: \"1.36\"}}\ncloud: {cloud}\nnodePools:\n  \
             - {{name: gpu, nodes: {{count: 1}}, {pool}}}\n"
        );
        let outcome = compile_text(&text);
        match rejection {
            Reported(name, locations) => {
                let mut found = outcome.findings.iter();
                let found = found.find(|found| found.code.name == *name);
                let shown = found.map_or(0, |found| {
                    let labels = found.labels.iter().map(|label| label.span);
                    labels.filter(|span| span.is_written()).count() + 1
                });
                if shown < *locations {
                    wrong.push(format!("{what}: {shown} locations\n{}", outcome.text()));
                }
            }
            Resolved { has, lacks } => {
                let files: BTreeMap<_, _> = outcome.files().into_iter().collect();
                let any = |text: &str| files.values().any(|file| file.contains(text));
                if !any(has) || any(lacks) {
                    let text = outcome.text();
                    wrong.push(format!("{what}: {} {}\n{text}", any(has), any(lacks)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn known_conflicts_are_in_the_table() {
    let known: Vec<_> = (1..=15).map(|number| format!("C{number:02}")).collect();
    let mut listed: Vec<_> = CONFLICTS.iter().map(|row| row.0[..3].to_owned()).collect();
    listed.dedup();
    assert_eq!(listed, known);
}
