//! Unknown availability zone.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::names;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2704",
        name: "aks-zone-unknown",
        severity: Severity::Error,
        summary: "an availability zone is not 1, 2 or 3",
        checks: r#"Whether the zones of a pool are among "1", "2" and "3"."#,
        reason: r"Azure numbers the availability zones of every location from 1 to 3. `az` passes other names on, and
the command fails.",
        remedy: r"Write the number, quoted, without the location.",
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
    zones: [eastus-1]
"#,
        correction: Correction::Replace("eastus-1", r#""1""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let zones = cluster.pools.iter().flat_map(|pool| &pool.settings.zones);
    for zone in zones.filter(|zone| !names::is_zone_name(zone)) {
        let message = format!("unknown zone `{zone}`");
        let builder = report.diagnostic(&RULE.code, zone.span, message);
        let builder = match zone
            .rsplit('-')
            .next()
            .filter(|last| names::is_zone_name(last))
        {
            Some(number) => builder
                .help(format!(
                    "write \"{number}\": zone names on Azure do not include the location"
                ))
                .replace(zone.span, format!("\"{number}\"")),
            None => builder.help("write \"1\", \"2\" or \"3\""),
        };
        builder.emit();
    }
}
