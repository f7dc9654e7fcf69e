//! Invalid Azure location name.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{names, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2703",
        name: "aks-location-unreadable",
        severity: Severity::Error,
        summary: "the location is not a valid Azure location name",
        checks: r"Whether `cloud.azure.location` has the form of a location name, such as `eastus`.",
        reason: r"The portal shows display names, such as East US. Commands and scripts use location names.",
        remedy: r#"Write the location name. `az account list-locations --query "[].name"` lists all of them."#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: East US, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        correction: Correction::Replace("East US", "eastus"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let location = &section(&cluster.config).location;
    if names::is_region_name(location) {
        return;
    }
    let message = format!("`{location}` is not a valid location name");
    let builder = report.diagnostic(&RULE.code, location.span, message);
    let builder = match suggest_location(location) {
        Some(name) => builder
            .help(format!("did you mean `{name}`?"))
            .replace(location.span, name),
        None => builder.help("write a location name such as `eastus`"),
    };
    builder.emit();
}

/// Converts a display name, or a name with separators, to a location name.
fn suggest_location(location: &str) -> Option<String> {
    let letters = location.chars().filter(|c| !matches!(c, ' ' | '-' | '_'));
    let name = letters.collect::<String>().to_ascii_lowercase();
    names::is_region_name(&name).then_some(name)
}
