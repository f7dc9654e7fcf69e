//! A location that is not written as Azure names it.

use super::super::{names, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A location that is not written as Azure names it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2703",
        name: "aks-location-unreadable",
        severity: Severity::Error,
        summary: "a location is not written as Azure names it",
        explain: r#"### What it checks

Whether `cloud.azure.location` has the shape of a location's name, such as `eastus`.

### Why it matters

The portal shows display names, such as East US; scripts compare names.

### What to do

Write the name; `az account list-locations --query "[].name"` lists them.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: East US, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let location = &section(&cluster.written).location;
    if names::is_region_name(location) {
        return;
    }
    let message = format!("`{location}` is not the name of a location");
    let draft = report.draft(&RULE.code, location.span, message);
    let draft = match named(location) {
        Some(name) => draft
            .help(format!("did you mean `{name}`?"))
            .replace(location.span, name),
        None => draft.help("write a name such as `eastus`"),
    };
    draft.emit();
}

/// The name that a display name, or a name with hyphens, stands for.
fn named(location: &str) -> Option<String> {
    let letters = location.chars().filter(|c| !matches!(c, ' ' | '-' | '_'));
    let name = letters.collect::<String>().to_ascii_lowercase();
    names::is_region_name(&name).then_some(name)
}
