//! A zone that is not one of 1, 2 and 3.

use super::super::names;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A zone that is not one of 1, 2 and 3.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2704",
        name: "aks-zone-unknown",
        severity: Severity::Error,
        summary: "a zone is not 1, 2 or 3",
        explain: r#"### What it checks

Whether the zones of a pool are "1", "2" and "3".

### Why it matters

Azure numbers the availability zones of every location from 1 to 3; `az` passes other names on to
an error.

### What to do

Write the number, quoted, without the location.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
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
    zones: [eastus-1]
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
    zones: ["1"]
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let zones = cluster.pools.iter().flat_map(|pool| &pool.written.zones);
    for zone in zones.filter(|zone| !names::is_zone_name(zone)) {
        let message = format!("AKS has no zone `{zone}`");
        let draft = report.draft(&RULE.code, zone.span, message);
        let draft = match zone
            .rsplit('-')
            .next()
            .filter(|last| names::is_zone_name(last))
        {
            Some(number) => draft
                .help(format!(
                    "write \"{number}\": zones have no location in their name"
                ))
                .replace(zone.span, format!("\"{number}\"")),
            None => draft.help("zones are \"1\", \"2\" and \"3\""),
        };
        draft.emit();
    }
}
