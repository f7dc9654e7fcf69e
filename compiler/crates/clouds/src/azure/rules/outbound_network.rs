//! An outbound type that needs another network.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::AzureOutbound;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

/// Source: azure-cli 2.91.0, az aks create and az aks update --outbound-type.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2758",
        name: "aks-outbound-network",
        severity: Severity::Error,
        summary: "the outbound type does not match the network of the nodes",
        checks: "Whether `outbound: userDefinedRouting` and `userAssignedNatGateway` have a `subnet`, and `managedNatGateway` has
none.",
        reason: "The first two use the route table or the NAT gateway of your subnet. AKS creates a NAT gateway only in a
network that it creates.",
        remedy: "Set `subnet`, or choose another value of `outbound`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, outbound: userDefinedRouting}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace("outbound: userDefinedRouting", "outbound: managedNatGateway"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(cluster) else {
        return;
    };
    let Some(outbound) = create.outbound else {
        return;
    };
    let (problem, help) = match (outbound.value, &create.subnet) {
        (AzureOutbound::UserDefinedRouting | AzureOutbound::UserAssignedNatGateway, None) => (
            "requires `subnet`",
            "set `subnet` to the ID of a subnet with a route table or a NAT gateway, or write `managedNatGateway`",
        ),
        (AzureOutbound::ManagedNatGateway, Some(_)) => (
            "cannot be used with `subnet`",
            "write `userAssignedNatGateway` and create a gateway for the subnet, or remove `subnet`",
        ),
        _ => return,
    };
    let name = match outbound.value {
        AzureOutbound::LoadBalancer => "loadBalancer",
        AzureOutbound::ManagedNatGateway => "managedNatGateway",
        AzureOutbound::UserAssignedNatGateway => "userAssignedNatGateway",
        AzureOutbound::UserDefinedRouting => "userDefinedRouting",
    };
    let message = format!("`outbound: {name}` {problem}");
    let diagnostic = report.diagnostic(&RULE.code, outbound.span, message);
    let diagnostic = match &create.subnet {
        Some(subnet) => diagnostic.label(subnet.span, "the subnet"),
        None => diagnostic,
    };
    diagnostic.help(help).emit();
}
