//! Name instead of a resource ID.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::{Capacity, Placement};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;
use super::subscription_unreadable::is_subscription_id;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2718",
        name: "aks-resource-id",
        severity: Severity::Error,
        summary: "a value is not an Azure resource ID",
        checks: "Whether subnets, managed identities, disk encryption sets, capacity reservation groups and proximity
placement groups are identified by their full resource ID.",
        reason: "A name alone does not identify the subscription and the resource group.",
        remedy: "Write the resource ID, which the `show` command of the resource prints: `az network vnet subnet show`,
`az identity show`, `az disk-encryption-set show`, `az capacity reservation group show`, `az ppg show`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
    network: {placement: {group: gpus}}
"#,
        correction: Correction::Replace("group: gpus", "group: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Compute/proximityPlacementGroups/gpus"),
    },
    run,
};

const SUBNET_TYPE: &[&str] = &["Microsoft.Network", "virtualNetworks", "subnets"];
const IDENTITY_TYPE: &[&str] = &["Microsoft.ManagedIdentity", "userAssignedIdentities"];
const ENCRYPTION_TYPE: &[&str] = &["Microsoft.Compute", "diskEncryptionSets"];
const RESERVATION_TYPE: &[&str] = &["Microsoft.Compute", "capacityReservationGroups"];
const PLACEMENT_TYPE: &[&str] = &["Microsoft.Compute", "proximityPlacementGroups"];

fn run(cluster: &Cluster, report: &mut Report) {
    let mut ids = Vec::new();
    if let Some(create) = create_section(cluster) {
        let subnet = create.subnet.as_ref();
        ids.extend(subnet.map(|id| (id, "a subnet", SUBNET_TYPE)));
        let identity = create.identity.as_ref();
        ids.extend(identity.map(|id| (id, "a managed identity", IDENTITY_TYPE)));
        let nodes = create.kubelet_identity.as_ref();
        ids.extend(nodes.map(|id| (id, "a managed identity", IDENTITY_TYPE)));
        let encryption = create.disk_encryption_set.as_ref();
        ids.extend(encryption.map(|id| (id, "a disk encryption set", ENCRYPTION_TYPE)));
    }
    for pool in &cluster.pools {
        let settings = &pool.settings;
        ids.extend(
            settings
                .subnets
                .iter()
                .map(|id| (id, "a subnet", SUBNET_TYPE)),
        );
        if let Capacity::Reservation(reservation) = &settings.capacity.value {
            ids.push((
                &reservation.id,
                "a capacity reservation group",
                RESERVATION_TYPE,
            ));
        }
        let placement = settings.network.placement.as_ref();
        if let Some(Placement::Group(id)) = placement.map(|placement| &placement.value) {
            ids.push((id, "a proximity placement group", PLACEMENT_TYPE));
        }
    }
    for (id, noun, kind) in ids {
        if !is_resource_id(id, kind) {
            report_invalid(id, noun, kind, report);
        }
    }
}

fn report_invalid(id: &Spanned<String>, noun: &str, kind: &[&str], report: &mut Report) {
    let names: Vec<_> = kind[1..]
        .iter()
        .map(|part| format!("{part}/NAME"))
        .collect();
    report
        .diagnostic(
            &RULE.code,
            id.span,
            format!("`{id}` is not the resource ID of {noun}"),
        )
        .help(format!(
            "write /subscriptions/ID/resourceGroups/NAME/providers/{}/{}",
            kind[0],
            names.join("/")
        ))
        .emit();
}

/// Whether `id` is the ID of a resource of this kind: its provider, then its types from the outermost. Azure compares
/// IDs case-insensitively.
fn is_resource_id(id: &str, kind: &[&str]) -> bool {
    let parts: Vec<_> = id.split('/').collect();
    let [
        "",
        subscriptions,
        subscription,
        groups,
        group,
        providers,
        provider,
        rest @ ..,
    ] = parts.as_slice()
    else {
        return false;
    };
    let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "_-.()".contains(c))
    };
    let types = kind[1..].iter().zip(rest.chunks(2));
    same(subscriptions, "subscriptions")
        && is_subscription_id(subscription)
        && same(groups, "resourceGroups")
        && is_name(group)
        && same(providers, "providers")
        && same(provider, kind[0])
        && rest.len() == 2 * (kind.len() - 1)
        && types
            .into_iter()
            .all(|(kind, pair)| same(pair[0], kind) && is_name(pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_match_only_their_own_kind() {
        let group = "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/g";
        let subnet = format!("{group}/providers/Microsoft.Network/virtualNetworks/v/subnets/gpu-1");
        assert!(is_resource_id(&subnet, SUBNET_TYPE));
        assert!(is_resource_id(&subnet.to_ascii_lowercase(), SUBNET_TYPE));
        assert!(!is_resource_id(&subnet, PLACEMENT_TYPE));
        assert!(!is_resource_id(&format!("{subnet}/"), SUBNET_TYPE));
        assert!(!is_resource_id(
            &subnet.replace("gpu-1", "gpu 1"),
            SUBNET_TYPE
        ));
        assert!(!is_resource_id(subnet.trim_start_matches('/'), SUBNET_TYPE));
        assert!(!is_resource_id("", RESERVATION_TYPE));
    }
}
