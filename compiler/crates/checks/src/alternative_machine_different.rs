//! An alternative machine type that the pods of a pool cannot use like the first one.

use gpuc_model::check::Rule;
use gpuc_model::cloud::MachineName;
use gpuc_model::cloud::machine::{CpuArchitecture, Machine};
use gpuc_model::{Cluster, MachineType, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2252",
        name: "alternative-machine-different",
        severity: Severity::Error,
        summary: "an alternative machine type differs from the machine type of the pool",
        checks: "Whether each of `alternativeMachines` is a known machine type with the GPUs and the architecture of \
`machine`, and with at least its CPUs and its memory.",
        reason: "A pool is a group of nodes that are equal for pods. gpuc derives the resources, the images and the \
checks from `machine`, and autoscalers plan the first node of a pool from it. A pod that fits on it must fit on every \
node.",
        remedy: "Write the smallest machine type as `machine`. Put machine types with other GPUs into another pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    alternativeMachines: [g6.2xlarge, g5.xlarge]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("g5.xlarge", "g6.4xlarge"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.cloud.facts().has_alternative_machines {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let (Some(name), Some(first)) = (&pool.machine_name, first_properties(pool)) else {
            continue;
        };
        for (index, other) in pool.settings.alternative_machines.iter().enumerate() {
            let earlier = &pool.settings.alternative_machines[..index];
            let is_duplicate =
                other.value == name.value || earlier.iter().any(|it| it.value == other.value);
            let is_known = properties(cluster, other).is_some();
            let difference = if is_duplicate {
                Some("is listed twice".to_owned())
            } else {
                match properties(cluster, other) {
                    Some(properties) => first.difference(&properties),
                    None => Some(format!(
                        "is not a known {}",
                        cluster.cloud.facts().machine_term
                    )),
                }
            };
            let Some(difference) = difference else {
                continue;
            };
            report
                .diagnostic(&RULE.code, other.span, format!("`{other}` {difference}"))
                .label(name.span, "the pool is planned for this machine type")
                .help(if is_duplicate || !is_known {
                    "remove it"
                } else {
                    "remove it, or write the smallest machine type as `machine`"
                })
                .emit();
        }
    }
}

/// The properties of a machine type that matter to pods.
struct Properties {
    gpus: Option<(&'static str, u32, bool)>,
    architecture: CpuArchitecture,
    vcpus: u32,
    memory_mib: Option<u32>,
}

impl From<&Machine> for Properties {
    fn from(machine: &Machine) -> Self {
        let gpus = &machine.gpus;
        Self {
            gpus: Some((gpus.model.key, gpus.count, gpus.fraction.is_some())),
            architecture: machine.architecture,
            vcpus: machine.vcpus,
            memory_mib: machine.memory_mib,
        }
    }
}

impl Properties {
    /// How another machine type differs, after its name.
    fn difference(&self, other: &Self) -> Option<String> {
        if self.gpus != other.gpus {
            return Some(match other.gpus {
                Some((model, count, false)) => format!("has {count} x {model}"),
                Some((model, _, true)) => format!("has a fraction of one {model}"),
                None => "has no GPUs".to_owned(),
            });
        }
        if self.architecture != other.architecture {
            return Some(format!(
                "has the architecture {}",
                other.architecture.label()
            ));
        }
        if other.vcpus < self.vcpus {
            return Some(format!("has only {} CPUs, not {}", other.vcpus, self.vcpus));
        }
        let memory = self.memory_mib.zip(other.memory_mib);
        memory
            .filter(|(own, other)| other < own)
            .map(|(own, other)| {
                format!(
                    "has only {} GiB of memory, not {}",
                    other / 1024,
                    own / 1024
                )
            })
    }
}

fn first_properties(pool: &Pool) -> Option<Properties> {
    match pool.machine.get()? {
        MachineType::Catalog(machine) => Some(Properties::from(*machine)),
        MachineType::Cpu(Some(cpu)) => Some(Properties {
            gpus: None,
            architecture: cpu.architecture,
            vcpus: cpu.vcpus,
            memory_mib: Some(cpu.memory_mib),
        }),
        MachineType::Cpu(None) | MachineType::Host => None,
    }
}

fn properties(cluster: &Cluster, name: &str) -> Option<Properties> {
    if let Some(machine) = cluster.cloud.machine(name) {
        return Some(Properties::from(machine));
    }
    match cluster.cloud.machine_name(name) {
        MachineName::Cpu(cpu) => Some(Properties {
            gpus: None,
            architecture: cpu.architecture,
            vcpus: cpu.vcpus,
            memory_mib: Some(cpu.memory_mib),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(machine: &str, other: &str, expected: &[&str]) {
        let cloud = "{aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}}";
        let pool = format!(
            "{{name: a, machine: {machine}, alternativeMachines: [{other}], nodes: {{count: 1}}}}"
        );
        let yaml = format!("cloud: {cloud}\nnodePools: [{pool}]\n");
        assert_eq!(messages_with_id(&yaml, "GPUC2252"), expected, "{other}");
    }

    #[test]
    fn alternatives_have_the_same_gpus_and_are_not_smaller() {
        check("g6.2xlarge", "g6.4xlarge, g6.8xlarge", &[]);
        check("m7i.xlarge", "m7i.2xlarge", &[]);
        check(
            "g6.2xlarge",
            "g6.xlarge",
            &["`g6.xlarge` has only 4 CPUs, not 8"],
        );
        check(
            "g6.xlarge",
            "g6.12xlarge",
            &["`g6.12xlarge` has 4 x l4-24gb"],
        );
        check("g6.xlarge", "g5.xlarge", &["`g5.xlarge` has 1 x a10g-24gb"]);
        check("g6.xlarge", "m7i.xlarge", &["`m7i.xlarge` has no GPUs"]);
        check(
            "m7i.xlarge",
            "m7g.xlarge",
            &["`m7g.xlarge` has the architecture arm64"],
        );
        check(
            "m7i.xlarge",
            "c7i.xlarge",
            &["`c7i.xlarge` has only 8 GiB of memory, not 16"],
        );
        check("g6.xlarge", "g6.xlarge", &["`g6.xlarge` is listed twice"]);
        check(
            "g6.xlarge",
            "g6.huge",
            &["`g6.huge` is not a known EC2 instance type"],
        );
    }
}
