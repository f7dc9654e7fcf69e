//! The networks of a pool that components in the cluster configure: `network.rdma`, from the policy by which NVIDIA's
//! Network Operator advertises its devices, and `network.computeDomains`, from the pods of NVIDIA's DRA driver.

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;

use crate::configs::name_of;
use crate::context::Context;
use crate::groups::Group;
use crate::json::{source, text_entries, texts};
use crate::tree::Item;

/// The network of the nodes of a group.
///
/// Source: Mellanox/network-operator@85afd6d9 `api/v1alpha1` (`NicNodePolicy`); Mellanox/k8s-rdma-shared-dev-plugin
/// README.md (selectors), 2026-11-28.
pub(crate) fn rdma(cx: &Context<'_>, group: &Group<'_>) -> Option<Item> {
    let mut policies = cx.state.objects(Kind::NicNodePolicy).iter();
    policies.find_map(|policy| {
        let config = policy.text("/spec/rdmaSharedDevicePlugin/config");
        let config: serde_json::Value = serde_json::from_str(config).ok()?;
        let types = texts(&config, "/configList/0/selectors/linkTypes");
        let kind = match types[..] {
            ["infiniband"] => "infiniband",
            ["ether"] => "roce",
            _ => return None,
        };
        let is_of_group = !group.nodes.is_empty() && selects(policy, group);
        let at = source(
            name_of("NicNodePolicy", policy),
            "spec.rdmaSharedDevicePlugin.config",
            types.join(", "),
        );
        let driver = policy.body.pointer("/spec/ofedDriver").map(|_| {
            let at = format!("{}#spec.ofedDriver", name_of("NicNodePolicy", policy));
            ("driver", Item::text("operator").sure(at))
        });
        is_of_group.then(|| Item::single(kind, Item::map(driver).sure(at)))
    })
}

/// Whether NVIDIA's DRA driver serves ComputeDomains on the nodes of a group, and no GPUs: with `allocation: dra`, gpuc
/// enables ComputeDomains by the GPU model.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu@95932046
/// `deployments/helm/dra-driver-nvidia-gpu/templates/kubeletplugin.yaml`, the names of the containers.
pub(crate) fn compute_domains(cx: &Context<'_>, group: &Group<'_>) -> Option<Item> {
    const CONTAINER: &str = "compute-domains";
    let mut pods = group.nodes.iter().flat_map(|node| cx.pods_on(node));
    let pod = pods.find(|pod| {
        let has = |name: &str| pod.spec.containers.iter().any(|it| it.name == name);
        has(CONTAINER) && !has("gpus")
    })?;
    let at = source(
        format!("Pod {}/{}", pod.metadata.namespace, pod.metadata.name),
        "spec.containers",
        CONTAINER,
    );
    Some(Item::map::<String>([]).sure(at))
}

fn selects(policy: &Object, group: &Group<'_>) -> bool {
    let selector = text_entries(&policy.body, "/spec/nodeSelector");
    let mut nodes = group.nodes.iter();
    !selector.is_empty()
        && nodes.all(|node| {
            let mut labels = selector.iter();
            labels.all(|(key, value)| node.metadata.label(key) == Some(value))
        })
}
