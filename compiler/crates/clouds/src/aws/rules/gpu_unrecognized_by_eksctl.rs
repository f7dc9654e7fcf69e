//! A machine type whose GPUs eksctl does not know.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::machine::Status;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::machines::{Ec2Instance, MACHINES};
use super::{catalog_instance, created_pools, machine_span};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2510",
        name: "gpu-unrecognized-by-eksctl",
        severity: Severity::Error,
        summary: "eksctl does not recognize the GPUs of a machine type",
        checks: "Whether eksctl recognizes the GPUs of a pool's machine type. It does not recognize those of
p3.2xlarge, p3.8xlarge, p3.16xlarge and bare metal types.",
        reason: "eksctl creates a node group of such a machine type with an image without a driver, and without a
device plugin. You pay for the GPUs, but Kubernetes never sees them.",
        remedy: "Use a newer machine type with the same number of GPUs. Or create the node group without eksctl and
describe it with `existing`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g4dn.metal, nodes: {count: 2}}
"#,
        correction: Correction::Replace("g4dn.metal", "g5.48xlarge"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Some(instance) = catalog_instance(pool) else {
            continue;
        };
        let machine = &instance.machine;
        if instance.eksctl_knows || machine.status == Status::PartOfLarger {
            continue;
        }
        let message = format!("eksctl does not recognize the GPUs of `{}`", machine.name);
        let reason = "eksctl uses an image without a driver, and installs no device plugin";
        let builder = report
            .diagnostic(&RULE.code, machine_span(pool), message)
            .primary_label(reason);
        match successor(instance) {
            Some(next) => builder
                .help(format!(
                    "use `{}`, which has {} x {}",
                    next.machine.name, next.machine.gpus.count, next.machine.gpus.model.key
                ))
                .replace(machine_span(pool), next.machine.name),
            None => builder.help("create the pool without eksctl and describe it with `existing`"),
        }
        .emit();
    }
}

/// The smallest machine type that eksctl knows with as many full GPUs: of the same model, else of one with more memory.
fn successor(instance: &Ec2Instance) -> Option<&'static Ec2Instance> {
    let gpus = &instance.machine.gpus;
    let is_same_model = |other: &Ec2Instance| std::ptr::eq(other.machine.gpus.model, gpus.model);
    MACHINES
        .iter()
        .filter(|other| other.eksctl_knows && other.machine.status == Status::Current)
        .filter(|other| {
            let candidate = &other.machine.gpus;
            candidate.fraction.is_none()
                && candidate.count == gpus.count
                && (is_same_model(other) || candidate.model.memory_gb > gpus.model.memory_gb)
                && other.machine.architecture == instance.machine.architecture
        })
        .min_by_key(|other| {
            (
                !is_same_model(other),
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
