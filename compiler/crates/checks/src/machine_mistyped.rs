//! The name of a machine type is probably a typo.

use gpuc_model::check::Rule;
use gpuc_model::cloud::MachineName;
use gpuc_model::{Cluster, MachineType};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2220",
        name: "machine-mistyped",
        severity: Severity::Error,
        summary: "the name of a machine type is probably a typo",
        checks: "Whether a machine type without GPUs is in a family that the cloud has. A name that is one character
away from a known family or size, and does not follow the cloud's convention for new families, is a typo.",
        reason: "The cloud's command accepts any text, and fails late, when the cloud creates the machine.",
        remedy: "Write the name that the help suggests. If the machine type exists, add `allow: [machine-mistyped]`:
gpuc then treats it as a machine without GPUs. `--deny` does not override this entry.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7ii.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        correction: Correction::Replace("m7ii.xlarge", "m7i.xlarge"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let Some(name) = &pool.machine_name else {
            continue;
        };
        let is_unknown = matches!(pool.machine.get(), Some(MachineType::Cpu(None)));
        let MachineName::Mistyped(similar) = cluster.cloud.machine_name(name) else {
            continue;
        };
        if !is_unknown {
            continue;
        }
        let message = format!("unknown {} `{name}`", cluster.cloud.facts().machine_term);
        let help = format!(
            "write {}; if `{name}` exists, add `allow: [{}]`",
            phrases::quoted_conjunction(&similar, "or"),
            RULE.code.name
        );
        let builder = report.diagnostic(&RULE.code, name.span, message).help(help);
        match similar.as_slice() {
            [only] => builder.replace(name.span, only.as_str()).emit(),
            _ => builder.emit(),
        };
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn typos_are_found_in_every_cloud() {
        for (cloud, machine, term) in [
            (
                "aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}",
                "m7ii.xlarge",
                "EC2 instance type",
            ),
            (
                "gcp: {project: acme-ml, location: us-central1, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "n2-standrad-8",
                "Compute Engine machine type",
            ),
            (
                "azure: {subscription: s, resourceGroup: g, location: eastus, cluster: {existing: {}}}",
                "Standard_D4ss_v5",
                "Azure VM size",
            ),
        ] {
            let pool = format!("nodePools: [{{name: a, machine: {machine}, nodes: {{count: 1}}}}]");
            let found = messages_with_id(&format!("cloud: {{{cloud}}}\n{pool}"), "GPUC2220");
            assert_eq!(found, [format!("unknown {term} `{machine}`")]);
        }
    }

    #[test]
    fn new_families_are_ignored() {
        for machine in ["m10i.xlarge", "q1.xlarge", "m7i.xlarge", "c5n.xlarge"] {
            let yaml = format!(
                "cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}\n\
                 nodePools: [{{name: a, machine: {machine}, nodes: {{count: 1}}}}]"
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2220"), [""; 0], "{machine}");
        }
    }
}
