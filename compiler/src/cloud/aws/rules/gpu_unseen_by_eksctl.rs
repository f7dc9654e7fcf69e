//! GPUs that eksctl does not see.

use super::machines::{Ec2Instance, MACHINES};
use super::{instance, machine_span, made_pools};
use crate::check::Rule;
use crate::cloud::machine::Status;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// GPUs that eksctl does not see.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2510",
        name: "gpu-unseen-by-eksctl",
        severity: Severity::Error,
        summary: "eksctl takes a GPU machine for one without GPUs",
        explain: "### What it checks

Whether eksctl knows the GPUs of a pool's machine. It does not know p3.2xlarge, p3.8xlarge,
p3.16xlarge and any bare metal type.

### Why it matters

A node group of such a machine gets an image without a driver, and no device plugin. Its GPUs
are paid for and never seen by Kubernetes.

### What to do

Choose a newer machine with as many GPUs; or make the node group by other means and describe it
with `existing`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g4dn.metal, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.48xlarge, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let Some(instance) = instance(pool) else {
            continue;
        };
        let machine = &instance.machine;
        if instance.eksctl_knows || machine.status == Status::PartOfLarger {
            continue;
        }
        let message = format!("eksctl takes `{}` for a machine without GPUs", machine.name);
        let why = "it would get an image without a driver, and no device plugin";
        let draft = report
            .draft(&RULE.code, machine_span(pool), message)
            .here(why);
        match successor(instance) {
            Some(next) => draft
                .help(format!(
                    "`{}` has {} x {}",
                    next.machine.name, next.machine.gpus.count, next.machine.gpus.model.key
                ))
                .replace(machine_span(pool), next.machine.name),
            None => draft.help("make the pool by other means and describe it with `existing`"),
        }
        .emit();
    }
}

/// The smallest machine that eksctl knows with as many whole GPUs: of the same card, else of one with more memory.
fn successor(instance: &Ec2Instance) -> Option<&'static Ec2Instance> {
    let gpus = &instance.machine.gpus;
    let same_card = |other: &Ec2Instance| std::ptr::eq(other.machine.gpus.model, gpus.model);
    MACHINES
        .iter()
        .filter(|other| other.eksctl_knows && other.machine.status == Status::Current)
        .filter(|other| {
            let theirs = &other.machine.gpus;
            theirs.fraction.is_none()
                && theirs.count == gpus.count
                && (same_card(other) || theirs.model.memory_gb > gpus.model.memory_gb)
                && other.machine.architecture == instance.machine.architecture
        })
        .min_by_key(|other| {
            (
                !same_card(other),
                other.machine.gpus.model.memory_gb,
                other.machine.vcpus,
            )
        })
}

#[cfg(test)]
mod tests {
    use super::super::machines::find;
    use super::*;

    #[test]
    fn successors() {
        for (name, next) in [
            ("p3.2xlarge", "g5.xlarge"),
            ("p3.16xlarge", "g5.48xlarge"),
            ("g4dn.metal", "g5.48xlarge"),
            ("g5g.metal", "g5g.16xlarge"),
        ] {
            let found = successor(find(name).expect(name)).map(|it| it.machine.name);
            assert_eq!(found, Some(next), "{name}");
        }
    }
}
