//! Ephemeral storage: what pods can request of the disk of a node.

use crate::support::compile_text;

/// A cloud, a pool, and the largest request for ephemeral storage that fits, if known.
const POOLS: &[(&str, &str, Option<&str>)] = &[
    (AWS, "machine: g6.xlarge", Some("100Gi")),
    (AWS, "machine: g6.xlarge, diskGiB: 300", Some("300Gi")),
    (AWS, "machine: g6.xlarge, localDisks: scratch", Some("250G")),
    (GCP, "machine: g2-standard-4", Some("100Gi")),
    (GCP, "machine: a3-highgpu-8g", Some("6000Gi")),
    (
        GCP,
        "machine: a3-highgpu-8g, localDisks: block",
        Some("100Gi"),
    ),
    (GCP, "machine: a4-highgpu-8g", None),
    (GCP, "machine: g4-standard-48", None),
    (AZURE, "machine: Standard_NC24ads_A100_v4", Some("100Gi")),
    (
        AZURE,
        "machine: Standard_NC24ads_A100_v4, diskGiB: 512",
        Some("512Gi"),
    ),
    (ON_PREM, "gpu: {model: A30, perNode: 1}, hosts: [b]", None),
];

const AWS: &str = "aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}";
const GCP: &str = "gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}";
const AZURE: &str = "azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: demo, \
                     location: eastus, cluster: {create: {}}}";
const ON_PREM: &str = "onPrem: {context: demo}";

/// Whether a pod that requests this much ephemeral storage exceeds the node.
fn is_over_disk(cloud: &str, pool: &str, request: &str) -> bool {
    let system = if cloud == ON_PREM { "hosts: [a]" } else { "" };
    let system = match cloud {
        AWS => "machine: m7i.large",
        GCP => "machine: e2-standard-4",
        AZURE => "machine: Standard_D4s_v5",
        _ => system,
    };
    let mut outcome = compile_text(&format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.34\"}}\n\
         cloud: {{{cloud}}}\nstack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\nnodePools:\n  \
         - {{name: cpu, {system}, nodes: {{count: 1}}}}\n  - {{name: gpu, {pool}, nodes: {{count: 1}}}}\n"
    ));
    assert!(
        outcome.compilations[0].cluster.is_some(),
        "{}",
        outcome.text()
    );
    let before = outcome.findings.len();
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  tolerations: [{{operator: Exists}}]\n  \
         containers:\n    - {{name: a, image: \"r.example.com/a:1\", resources: {{limits: {{nvidia.com/gpu: 1, \
         ephemeral-storage: {request}}}}}}}\n"
    );
    outcome.add_manifests(&[("a.yaml", &pod)]);
    let found = outcome.findings[before..].iter();
    let found: Vec<_> = found.map(|it| it.code.id).collect();
    assert!(
        found.iter().all(|it| *it == "GPUC4008"),
        "{}",
        outcome.text()
    );
    !found.is_empty()
}

#[test]
fn ephemeral_storage_is_limited_by_the_disk() {
    for (cloud, pool, largest) in POOLS {
        match largest {
            Some(largest) => {
                assert!(!is_over_disk(cloud, pool, largest), "{pool}: {largest}");
                let (number, unit) = largest.split_at(largest.find('G').unwrap());
                let more = format!("{}{unit}", number.parse::<u32>().unwrap() + 1);
                assert!(is_over_disk(cloud, pool, &more), "{pool}: {more}");
            }
            None => assert!(!is_over_disk(cloud, pool, "1Pi"), "{pool}"),
        }
    }
}
