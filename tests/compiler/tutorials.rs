//! The clusters of public tutorials with their pods: each cluster builds, and `check --manifests` agrees with the
//! resources, taints and labels that exist under each owner of the driver, the device plugin and the labels.
//!
//! The clusters and pods have the settings of the tutorials, in our own words. Each page was read on 2026-11-26 or is
//! cited in the facts that the catalog cites.

use crate::support::compile_text;

struct Tutorial {
    /// The page, for messages.
    page: &'static str,
    /// The cluster, below `metadata` and the version.
    cluster: &'static str,
    /// Specifications of pods and the codes that `check --manifests` reports for them.
    pods: &'static [(&'static str, &'static [&'static str])],
}

const TUTORIALS: &[Tutorial] = &[
    Tutorial {
        page: "docs.aws.amazon.com/eks: managed node group with GPUs, NVIDIA's device plugin",
        cluster: "cloud: {aws: {account: \"123456789012\", region: us-west-2, cluster: {create: {}}}}\n\
                  stack: {devicePlugin: nvidia}\n\
                  nodePools:\n\
                  - {name: system, machine: m7i.large, nodes: {count: 2}}\n\
                  - {name: gpu, machine: g4dn.xlarge, nodes: {count: 1}}\n",
        pods: &[
            (
                "containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &[],
            ),
            (
                "nodeSelector: {node.kubernetes.io/instance-type: g4dn.xlarge}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &[],
            ),
            // Nothing labels the nodes with their GPUs.
            (
                "nodeSelector: {nvidia.com/gpu.product: Tesla-T4}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &["GPUC4006"],
            ),
            // g4dn.xlarge has one GPU.
            (
                "containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 2}}}]",
                &["GPUC4008", "GPUC4013"],
            ),
        ],
    },
    Tutorial {
        page: "docs.cloud.google.com/kubernetes-engine: GPUs in Standard node pools, GKE's driver and plugin",
        cluster: "cloud: {gcp: {project: my-project, location: us-central1, nodeServiceAccount: gke-nodes@my-project.iam.gserviceaccount.com, cluster: {create: {}}}}\n\
                  stack: {devicePlugin: cloud}\n\
                  nodePools:\n\
                  - {name: system, machine: e2-standard-4, nodes: {min: 1, max: 3}}\n\
                  - {name: gpu, machine: g2-standard-4, nodes: {min: 0, max: 2}}\n",
        pods: &[
            // GKE adds the toleration to pods that request GPUs.
            (
                "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &[],
            ),
            (
                "nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &["GPUC4006"],
            ),
            (
                "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-tesla-t4}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &["GPUC4006"],
            ),
        ],
    },
    Tutorial {
        page: "learn.microsoft.com/azure/aks/gpu-cluster: T4 pool with the taint sku=gpu, NVIDIA's device plugin",
        cluster: "cloud: {azure: {subscription: 00000000-0000-0000-0000-000000000000, resourceGroup: rg, location: \
                  eastus, cluster: {create: {}}}}\n\
                  stack: {devicePlugin: nvidia}\n\
                  nodePools:\n\
                  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}\n\
                  - name: gpu\n  machine: Standard_NC4as_T4_v3\n  nodes: {min: 1, max: 3}\n  \
                  taints: [{key: sku, value: gpu, effect: NoSchedule}]\n",
        pods: &[
            (
                "tolerations: [{key: sku, operator: Equal, value: gpu, effect: NoSchedule}]\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &[],
            ),
            (
                "containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &["GPUC4004"],
            ),
            // The toleration of other clouds.
            (
                "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &["GPUC4004"],
            ),
        ],
    },
    Tutorial {
        page: "docs.nvidia.com/datacenter/cloud-native/gpu-operator: kubeadm hosts, time-slicing by the operator",
        cluster: "cloud: {onPrem: {context: demo}}\n\
                  stack: {driver: operator, devicePlugin: operator}\n\
                  nodePools:\n\
                  - {name: cpu, hosts: [a], nodes: {count: 1}}\n\
                  - name: gpu\n  hosts: [b]\n  nodes: {count: 1}\n  gpu: {model: T4, perNode: 1}\n  \
                  sharing: {timeSlicing: {replicas: 4}}\n",
        pods: &[
            // The name of the shared product, as the tutorial shows it.
            (
                "nodeSelector: {nvidia.com/gpu.product: Tesla-T4-SHARED}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &[],
            ),
            (
                "nodeSelector: {nvidia.com/gpu.product: Tesla-T4}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &["GPUC4006"],
            ),
            // Renamed only with `rename: true`.
            (
                "containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu.shared: 1}}}]",
                &["GPUC4001"],
            ),
        ],
    },
    Tutorial {
        page: "docs.nvidia.com/datacenter/cloud-native/gpu-operator: MIG with the strategy mixed",
        cluster: "cloud: {onPrem: {context: demo}}\n\
                  stack: {driver: operator, devicePlugin: operator}\n\
                  nodePools:\n\
                  - {name: cpu, hosts: [a], nodes: {count: 1}}\n\
                  - name: gpu\n  hosts: [b]\n  nodes: {count: 1}\n  gpu: {model: a100-sxm4-40gb, perNode: 8}\n  \
                  sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}\n",
        pods: &[
            (
                "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}]",
                &[],
            ),
            // The name of the product under the strategy `single`.
            (
                "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB-MIG-1g.5gb}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}]",
                &["GPUC4006"],
            ),
            (
                "containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &["GPUC4001"],
            ),
        ],
    },
    Tutorial {
        page: "github.com/NVIDIA/k8s-device-plugin README: the chart with GPU Feature Discovery",
        cluster: "cloud: {onPrem: {context: demo}}\n\
                  stack: {devicePlugin: nvidia}\n\
                  charts: {node-feature-discovery: {}}\n\
                  nodePools:\n\
                  - {name: cpu, hosts: [a], nodes: {count: 1}}\n\
                  - {name: gpu, hosts: [b], nodes: {count: 1}, gpu: {model: T4, perNode: 1}}\n",
        pods: &[
            (
                "nodeSelector: {nvidia.com/gpu.present: \"true\"}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &[],
            ),
            (
                "nodeSelector: {nvidia.com/gpu.count: \"2\"}\n\
                 containers: [{name: a, image: \"r.example.com/a:1\", resources: {limits: {nvidia.com/gpu: 1}}}]",
                &["GPUC4006"],
            ),
        ],
    },
];

#[test]
fn clusters_of_tutorials_build_and_their_pods_are_judged() {
    let mut wrong = Vec::new();
    for tutorial in TUTORIALS {
        let text = format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
             kubernetes: {{version: \"1.35\"}}\n{}",
            tutorial.cluster
        );
        let outcome = compile_text(&text);
        let builds = outcome.compilations[0].output.is_some();
        assert!(builds, "{}: {}", tutorial.page, outcome.text());
        for (spec, expected) in tutorial.pods {
            let mut outcome = compile_text(&text);
            let before = outcome.codes().len();
            let lines = spec.lines().map(|line| format!("  {line}\n"));
            let pod = format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n{}",
                lines.collect::<String>()
            );
            outcome.add_manifests(&[("a.yaml", &pod)]);
            let found = outcome.codes().split_off(before);
            if found != *expected {
                wrong.push(format!(
                    "{}\n{spec}\n{found:?}, expected {expected:?}",
                    tutorial.page
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
