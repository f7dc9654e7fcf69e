//! Names of a private API server.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

/// Source: azure-cli 2.91.0, `acs/managed_cluster_decorator.py` (`_get_private_dns_zone`, `_get_disable_public_fqdn`).
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2753",
        name: "aks-private-dns",
        severity: Severity::Error,
        summary: "the DNS names of the API server contradict other settings",
        checks: "Whether `privateDnsZone` and `publicFqdn` are set for a private API server only, `privateDnsZone` is
`system`, `none` or the resource ID of a private DNS zone, a zone of yours comes with `identity`, and a cluster without a
private zone keeps its public name.",
        reason: "A public API server has only a public name. AKS writes to a zone of yours with a user-assigned identity. With
neither a private zone nor a public name, no client finds the API server. `az` refuses such settings.",
        remedy: "Set `privateCluster: true`, or remove the settings. Grant the identity the role Private DNS Zone Contributor
on the zone.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, privateDnsZone: none}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace("privateDnsZone: none", "privateCluster: true, privateDnsZone: none"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(cluster) else {
        return;
    };
    let mut found = |span, message: String, help: &str| {
        report
            .diagnostic(&RULE.code, span, message)
            .help(help)
            .emit();
    };
    if !create.private_cluster.value {
        let zone = create
            .private_dns_zone
            .as_ref()
            .map(|zone| (zone.span, "privateDnsZone"));
        let fqdn = create.public_fqdn.map(|fqdn| (fqdn.span, "publicFqdn"));
        for (span, key) in zone.into_iter().chain(fqdn) {
            let message = format!("`{key}` has no effect for a public API server");
            found(
                span,
                message,
                "add `privateCluster: true` to the cluster, or remove this key",
            );
        }
        return;
    }
    let Some(zone) = &create.private_dns_zone else {
        return;
    };
    match zone.to_ascii_lowercase().as_str() {
        "system" => {}
        "none" => {
            if let Some(fqdn) = create.public_fqdn.filter(|fqdn| !fqdn.value) {
                let message = "the API server has neither a private nor a public DNS name";
                found(
                    fqdn.span,
                    message.to_owned(),
                    "write `true`, or set `privateDnsZone` to `system`",
                );
            }
        }
        id if !is_zone(id) => {
            let message = format!("invalid private DNS zone `{zone}`");
            found(
                zone.span,
                message,
                "write `system`, `none` or the resource ID of a private DNS zone",
            );
        }
        _ if create.identity.is_none() => {
            let message = "a private DNS zone of yours requires a user-assigned identity";
            found(
                zone.span,
                message.to_owned(),
                "add `identity` to the cluster",
            );
        }
        _ => {}
    }
}

/// Whether a text in lower case is the resource ID of a private DNS zone of an API server.
///
/// Source: learn.microsoft.com/azure/aks/private-clusters (`privatelink.REGION.azmk8s.io`, with or without a subzone),
/// general knowledge.
fn is_zone(id: &str) -> bool {
    let parts: Vec<&str> = id.split('/').collect();
    let [
        "",
        "subscriptions",
        subscription,
        "resourcegroups",
        group,
        "providers",
        "microsoft.network",
        "privatednszones",
        name,
    ] = parts[..]
    else {
        return false;
    };
    let is_suffix = name.ends_with(".azmk8s.io")
        || name.ends_with(".cx.prod.service.azk8s.cn")
        || name.ends_with(".azmk8s.us");
    let labels: Vec<&str> = name.split('.').collect();
    !subscription.is_empty()
        && !group.is_empty()
        && is_suffix
        && labels
            .iter()
            .any(|label| matches!(*label, "privatelink" | "private"))
}

#[cfg(test)]
mod tests {
    use gpuc_model::check::check;

    use crate::testing::{json, resolved};

    fn messages(settings: &str) -> Vec<String> {
        let bad = super::RULE
            .code
            .bad
            .replace("privateDnsZone: none", settings);
        let (cluster, mut report) = resolved(json(&bad));
        check(&cluster, &mut report);
        let found = report.diagnostics().iter();
        found.map(|found| found.message.clone()).collect()
    }

    #[test]
    fn contradictions_are_found() {
        let zone = "privateCluster: true, privateDnsZone: /subscriptions/a/resourceGroups/b/providers/Microsoft.Network/privateDnsZones";
        let identity = "identity: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/b/providers/Microsoft.ManagedIdentity/userAssignedIdentities/c";
        for settings in [
            "privateCluster: true, privateDnsZone: System, publicFqdn: false".to_owned(),
            "privateCluster: true, privateDnsZone: none, publicFqdn: true".to_owned(),
            format!("{zone}/privatelink.eastus.azmk8s.io, {identity}"),
            format!("{zone}/ml.private.eastus.azmk8s.io, {identity}"),
        ] {
            assert_eq!(messages(&settings), [""; 0], "{settings}");
        }
        for settings in [
            "publicFqdn: true".to_owned(),
            "privateCluster: true, privateDnsZone: none, publicFqdn: false".to_owned(),
            "privateCluster: true, privateDnsZone: mine".to_owned(),
            format!("{zone}/acme.dev, {identity}"),
            format!("{zone}/privatelink.eastus.azmk8s.io"),
        ] {
            assert_eq!(messages(&settings).len(), 1, "{settings}");
        }
    }
}
