//! Reservation that the cluster cannot use.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Capacity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::azure::{create_section, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2737",
        name: "aks-reservation-identity",
        severity: Severity::Error,
        summary: "a pool has a reservation, but the cluster has no user-assigned identity",
        checks: "Whether a cluster that gpuc creates sets `identity` if one of its pools has a reservation.",
        reason: "AKS uses a capacity reservation group with a user-assigned identity only, not with the identity that it
creates for a cluster.",
        remedy: "Create an identity with `az identity create`. Grant it the role Contributor on the resource group of the
capacity reservation group, up to an hour before the pool is created. Set `identity` to its resource ID.",
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
    capacity:
      reservation:
        id: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.Compute/capacityReservationGroups/gpus
"#,
        correction: Correction::Replace(
            "create: {",
            "create: {identity: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.ManagedIdentity/userAssignedIdentities/demo, ",
        ),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs articles/aks/use-capacity-reservation-groups.md@fb060abe, 2026-05-29.
fn run(cluster: &Cluster, report: &mut Report) {
    if create_section(cluster).is_none_or(|create| create.identity.is_some()) {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        if let Capacity::Reservation(reservation) = &pool.settings.capacity.value {
            let message = format!(
                "pool `{}` cannot use a reservation: the cluster has no user-assigned identity",
                pool.name
            );
            report
                .diagnostic(&RULE.code, reservation.id.span, message)
                .label(
                    section(&cluster.config).cluster.span,
                    "AKS creates an identity for the cluster",
                )
                .help("write `cluster: {create: {identity: …}}` with the resource ID of a managed identity")
                .emit();
        }
    }
}
