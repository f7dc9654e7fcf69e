//! Clusters of clouds: GKE with its own device plugin, EKS with Karpenter, clusters without GPUs, without labels, and
//! groups of different nodes.

use serde_json::{Value, json};

use super::{daemon_pod, errors, imported, keys, node, pool, provided, read, state_without};
use crate::{Input, import};

#[test]
fn gke_with_its_own_plugin() {
    let labels = json!({
        "cloud.google.com/gke-nodepool": "infer", "cloud.google.com/gke-accelerator": "nvidia-l4",
        "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "4",
        "node.kubernetes.io/instance-type": "g2-standard-8", "topology.kubernetes.io/region": "europe-west4",
    });
    let taints = [
        "nvidia.com/gpu=present:NoSchedule",
        "cloud.google.com/impending-node-termination:NoSchedule",
    ];
    let gpu = node("gpu-1", &labels, &taints, &json!({"nvidia.com/gpu": "4"}));
    let image = "gke.gcr.io/nvidia-gpu-device-plugin:1.0";
    let objects = [
        provided(gpu, "gce://acme-prod/europe-west4-a/gpu-1"),
        daemon_pod(
            "kube-system",
            "nvidia-gpu-device-plugin-medium-cos",
            "gpu-1",
            image,
            "nvidia-gpu-device-plugin",
        ),
    ];
    let import = imported(&objects, &[]);
    let infer = pool(&import, "infer");
    assert_eq!(infer["sharing"], json!({"timeSlicing": {"replicas": 4}}));
    // GKE sets the first taint by itself, and the second only for a while.
    assert_eq!(infer.get("taints"), None, "{}", import.yaml);
    let file = read(&import);
    assert_eq!(file["stack"], json!({"devicePlugin": "cloud"}));
    assert_eq!(file["cloud"]["gcp"]["project"], "acme-prod");
    assert_eq!(file["cloud"]["gcp"]["location"], "europe-west4");
    assert_eq!(
        keys(&import.report.guessed),
        ["metadata.name", "cloud.gcp.location"]
    );
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn eks_with_karpenter() {
    let karpenter = |name: &str, machine: &str, gpus: u32| {
        let labels = json!({
            "karpenter.sh/nodepool": "gpu.burst", "node.kubernetes.io/instance-type": machine,
            "topology.kubernetes.io/region": "us-east-1",
        });
        let taints = [
            "nvidia.com/gpu=present:NoSchedule",
            "karpenter.sh/disrupted:NoSchedule",
        ];
        provided(
            node(
                name,
                &labels,
                &taints,
                &json!({"nvidia.com/gpu": gpus.to_string()}),
            ),
            "aws:///us-east-1a/i-1",
        )
    };
    let objects = [
        karpenter("a", "g6.xlarge", 1),
        karpenter("b", "g6.12xlarge", 4),
        karpenter("c", "g6.xlarge", 1),
        json!({
            "kind": "NodePool", "apiVersion": "karpenter.sh/v1", "metadata": {"name": "gpu.burst"},
            "spec": {"limits": {"nvidia.com/gpu": 64}},
        }),
    ];
    let import = imported(&objects, &[]);
    // The nodes of one NodePool have different GPUs: one pool for each machine type.
    let file = read(&import);
    let pools = file["nodePools"].as_array().unwrap();
    let machines: Vec<(&str, &Value)> = pools
        .iter()
        .map(|it| (it["machine"].as_str().unwrap(), &it["nodes"]["count"]))
        .collect();
    assert_eq!(
        machines,
        [("g6.12xlarge", &json!(1)), ("g6.xlarge", &json!(2))],
        "{}",
        import.yaml
    );
    let selector = json!({"karpenter.sh/nodepool": "gpu.burst", "node.kubernetes.io/instance-type": "g6.12xlarge"});
    assert_eq!(pools[0]["existing"]["selector"], selector);
    assert_eq!(pools[0]["taints"].as_array().unwrap().len(), 1);
    assert!(
        import
            .yaml
            .contains("guessed: the nodes that exist; an autoscaler may change their number")
    );
    let limits = import
        .report
        .left_out
        .iter()
        .find(|it| it.source.starts_with("NodePool gpu.burst#spec.limits"));
    assert!(limits.is_some());
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn a_cluster_without_gpus() {
    let labels = json!({
        "kubernetes.azure.com/agentpool": "system", "node.kubernetes.io/instance-type": "Standard_D4s_v5",
        "topology.kubernetes.io/region": "westeurope",
    });
    let id = "azure:///subscriptions/0f1f2f3f-1111-2222-3333-444444444444/resourceGroups/mc_ml_prod_westeurope/providers/x";
    let import = imported(&[provided(node("a", &labels, &[], &json!({})), id)], &[]);
    let file = read(&import);
    assert_eq!(file.get("stack"), None);
    assert_eq!(
        file["cloud"]["azure"]["subscription"],
        "0f1f2f3f-1111-2222-3333-444444444444"
    );
    assert_eq!(file["cloud"]["azure"]["resourceGroup"], "ml");
    assert!(keys(&import.report.guessed).contains(&"cloud.azure.resourceGroup"));
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn nodes_without_labels() {
    let objects = [
        node("a", &json!({}), &[], &json!({"nvidia.com/gpu": "8"})),
        node("b", &json!({}), &[], &json!({"nvidia.com/gpu": "8"})),
        node("c", &json!({}), &[], &json!({})),
    ];
    let import = imported(&objects, &[]);
    let gpu = pool(&import, "gpu");
    assert_eq!(gpu["nodes"], json!({"count": 2}));
    assert_eq!(
        gpu["gpu"],
        json!({"model": "replace-me", "perNode": 8}),
        "{}",
        import.yaml
    );
    assert!(
        import
            .yaml
            .contains("kubectl label nodes a b gpuc.dev/pool=gpu"),
        "{}",
        import.yaml
    );
    assert_eq!(read(&import)["cloud"]["onPrem"]["context"], "replace-me");
    // The build refuses the placeholder instead of treating the pool as one without GPUs.
    assert_eq!(
        errors(&import),
        ["gpu-model-unknown: unknown GPU model `replace-me`"]
    );
}

#[test]
fn different_nodes_in_one_group() {
    let make = |name: &str, machine: &str, taints: &[&str]| {
        let labels = json!({"eks.amazonaws.com/nodegroup": "web", "node.kubernetes.io/instance-type": machine});
        provided(
            node(name, &labels, taints, &json!({})),
            "aws:///us-east-1a/i-1",
        )
    };
    let objects = [
        make("a", "m7i.xlarge", &["team=web:NoSchedule"]),
        make("b", "m7i.xlarge", &[]),
        make("c", "m6i.xlarge", &[]),
    ];
    let import = imported(&objects, &[]);
    let web = pool(&import, "web");
    assert_eq!(web["machine"], "m7i.xlarge");
    assert_eq!(web.get("taints"), None);
    assert!(
        import
            .yaml
            .contains("# guessed: most nodes have it; others have m6i.xlarge"),
        "{}",
        import.yaml
    );
    let left_out = keys(&import.report.left_out);
    assert!(
        left_out.contains(&"nodePools[web].machine") && left_out.contains(&"nodePools[web].taints")
    );
}

#[test]
fn the_name_of_the_context_has_the_account() {
    let labels = json!({"eks.amazonaws.com/nodegroup": "a", "node.kubernetes.io/instance-type": "m7i.xlarge"});
    let state = state_without(&[node("a", &labels, &[], &json!({}))], &[]);
    let input = Input {
        state: &state,
        cloud: &[],
        context: Some("arn:aws:eks:eu-west-1:123456789012:cluster/ML-Prod"),
        builder: None,
    };
    let import = import(input, &super::REGISTRY).unwrap();
    let file = read(&import);
    assert_eq!(file["cloud"]["aws"]["account"], "123456789012");
    assert_eq!(file["cloud"]["aws"]["region"], "eu-west-1");
    assert_eq!(file["metadata"]["name"], "ml-prod");
    assert_eq!(
        file["cloud"]["aws"]["cluster"]["existing"]["name"],
        "ML-Prod"
    );
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn nodes_of_fargate_and_of_the_control_plane_are_in_no_pool() {
    let fargate = json!({"eks.amazonaws.com/compute-type": "fargate"});
    let control = json!({"node-role.kubernetes.io/control-plane": ""});
    let web = json!({"eks.amazonaws.com/nodegroup": "web", "node.kubernetes.io/instance-type": "m7i.xlarge"});
    let objects = [
        node(
            "fargate-1",
            &fargate,
            &["eks.amazonaws.com/compute-type=fargate:NoSchedule"],
            &json!({}),
        ),
        node("control-1", &control, &[], &json!({})),
        node("web-1", &web, &[], &json!({})),
    ];
    let import = imported(&objects, &[]);
    assert_eq!(
        read(&import)["nodePools"].as_array().unwrap().len(),
        1,
        "{}",
        import.yaml
    );
    let left_out = import
        .report
        .left_out
        .iter()
        .find(|it| it.reason.starts_with("2 nodes of the control plane"));
    assert!(left_out.is_some(), "{:?}", import.report.left_out);
    // A cluster of one node runs everything on it.
    let import = imported(&[node("control-1", &control, &[], &json!({}))], &[]);
    assert_eq!(
        read(&import)["nodePools"].as_array().unwrap().len(),
        1,
        "{}",
        import.yaml
    );
}
