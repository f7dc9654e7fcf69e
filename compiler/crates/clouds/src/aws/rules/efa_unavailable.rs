//! EFA on a machine type that does not support it.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::machines::MACHINES;
use super::{catalog_instance, created_pools, machine_span};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2521",
        name: "efa-unavailable",
        severity: Severity::Error,
        summary: "EFA cannot be attached to a machine type",
        checks: "Whether a pool's machine type has Elastic Fabric Adapters, according to gpuc's catalog, and whether eksctl can
attach them.",
        reason: "eksctl queries EC2 and rejects the node group. On p6-b300.48xlarge, eksctl attaches an EFA interface to the
first network card, which does not support EFA.",
        remedy: "Remove `efa`, or use the machine type in the help. For p6-b300.48xlarge, create the node group outside gpuc,
with your own launch template and EFA plugin, and declare the pool `existing`, without `network`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1a], nodes: {count: 2}, network: {efa: {}}}
"#,
        correction: Correction::Replace("g5.xlarge", "g5.8xlarge"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let (Some(efa), Some(instance)) = (&pool.settings.network.efa, catalog_instance(pool))
        else {
            continue;
        };
        if !instance.efa_on_first_card {
            let name = instance.machine.name;
            report
                .diagnostic(
                    &RULE.code,
                    efa.span,
                    format!("eksctl cannot create nodes of type `{name}` with EFA"),
                )
                .label(machine_span(pool), "the machine type is set here")
                .help(
                    "remove `efa`; or create the node group outside gpuc, with your own launch template and EFA plugin, \
                     and declare the pool `existing`, without `network`",
                )
                .emit();
        } else if instance.efa == Some(0) {
            let name = instance.machine.name;
            let with_efa = MACHINES.iter().find(|other| {
                other.machine.family == instance.machine.family
                    && other.efa.is_some_and(|efa| efa > 0)
            });
            let builder = report
                .diagnostic(
                    &RULE.code,
                    efa.span,
                    format!("`{name}` does not support EFA"),
                )
                .label(machine_span(pool), "the machine type is set here");
            match with_efa {
                Some(other) => builder.help(format!(
                    "use `{}`, which supports EFA, or remove `efa`",
                    other.machine.name
                )),
                None => builder.help("remove `efa`"),
            }
            .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{HEAD, codes};

    #[test]
    fn machines_to_which_eksctl_attaches_efa_are_accepted() {
        for (machine, is_found) in [
            ("p5.48xlarge", false),
            ("p6-b200.48xlarge", false),
            ("p6-b300.48xlarge", true),
            ("g5.xlarge", true),
        ] {
            let yaml = format!(
                "{HEAD}nodePools: [{{name: gpu, machine: {machine}, zones: [us-east-1a], nodes: {{count: 2}}, \
                 network: {{efa: {{}}}}}}]"
            );
            assert_eq!(codes(&yaml).contains(&"GPUC2521"), is_found, "{machine}");
        }
    }
}
