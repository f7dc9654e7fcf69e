//! A workload name is invalid or not unique.

use std::collections::BTreeMap;

use gpuc_schema::config::{Task, VolumeFrom, Workload};

use gpuc_kubernetes::names::is_dns_label;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2181",
        name: "workload-name-invalid",
        severity: Severity::Error,
        summary: "a workload name is invalid or not unique",
        checks: "Whether each workload's name consists of lower-case letters, digits and `-`, starts with a letter,
ends with a letter or a digit, and has at most 40 characters. Whether its objects have different
names from the objects of all other workloads in its namespace. The names of these objects start
with the name of the workload: `<name>-<volume>` for its claims, `<name>-<pool>` for its tests.

The same applies to the objects that controllers create. `<name>-node-0` is the Job of a `trainJob`
or `jobSet`. `<name>-master-0` and `<name>-worker-0` are pods and services of a `pytorchJob`.
`<name>-0` is a group of a `leaderWorkerSet`, and `<name>-leader` is its service.",
        reason: "Kubernetes derives the names of pods and services from the workload's name with a suffix, and limits
them to 63 characters. Of two objects with the same name, one would replace the other.",
        remedy: "Choose another name.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
workloads:
  - {name: Finetune_7B, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        correction: Correction::Replace("Finetune_7B", "finetune-7b"),
    },
    run,
};

/// The maximum length of a name, to which Kubernetes and the controllers of jobs add suffixes.
const MAX_NAME_LENGTH: usize = 40;

/// The maximum number of numbered objects of a controller that are checked.
const MAX_NUMBERED: u32 = 1000;

fn run(cluster: &Cluster, report: &mut Report) {
    let mut seen = BTreeMap::new();
    for workload in &cluster.config.workloads {
        let name = &workload.name;
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || !is_dns_label(name) || name.len() > MAX_NAME_LENGTH {
            let message = format!("invalid workload name `{name}`");
            let help = format!(
                "write at most {MAX_NAME_LENGTH} lower-case letters, digits and `-`, starting with a letter"
            );
            report
                .diagnostic(&RULE.code, name.span, message)
                .help(help)
                .emit();
            continue;
        }
        for object in object_names(cluster, workload) {
            if object.len() > 63 {
                let message = format!("the object name `{object}` exceeds 63 characters");
                report
                    .diagnostic(&RULE.code, name.span, message)
                    .help("choose a shorter name")
                    .emit();
                break;
            }
            let key = (cluster.namespace_of(workload), object.clone());
            if let Some(other) = seen.insert(key, name.span) {
                let message = format!("two workloads create an object `{object}`");
                report
                    .diagnostic(&RULE.code, name.span, message)
                    .label(other, "the other workload")
                    .help("choose another name")
                    .emit();
                break;
            }
        }
    }
}

/// The names of a workload's objects, including those that controllers create: Jobs, pod sets and services.
///
/// Source: kubernetes-sigs/jobset: `<jobset>-<group>-<job>`, and a service named like the `JobSet`; kubeflow/trainer:
/// a `JobSet` named like the `TrainJob`; kubeflow/training-operator: pods and services `<job>-master-0` and
/// `<job>-worker-<number>`; kubernetes-sigs/lws: `<set>-<group>`, a `StatefulSet`, and a service named like the set
/// (all from memory).
fn object_names(cluster: &Cluster, workload: &Workload) -> Vec<String> {
    let name = &workload.name.value;
    let Some(task) = workload.task() else {
        return vec![name.clone()];
    };
    if let Task::CudaTest(_) = task {
        let pools = cluster.candidate_pools(workload).into_iter();
        return pools.map(|pool| format!("{name}-{}", pool.name)).collect();
    }
    let mut names = vec![name.clone()];
    let numbered = |count: u32, infix: &str| {
        let numbers = 0..count.min(MAX_NUMBERED);
        let names = numbers.map(|number| format!("{name}-{infix}{number}"));
        names.collect::<Vec<_>>()
    };
    match task {
        Task::StatefulSet(_) => names.push(format!("{name}-pods")),
        Task::TrainJob(_) | Task::JobSet(_) => names.push(format!("{name}-node-0")),
        Task::PytorchJob(job) => {
            names.push(format!("{name}-master-0"));
            names.extend(numbered(job.nodes.value.saturating_sub(1), "worker-"));
        }
        Task::LeaderWorkerSet(set) => {
            names.extend(numbered(set.replicas.value, ""));
            names.extend(set.service.as_ref().map(|_| set.service_name(name)));
        }
        _ => {}
    }
    let volumes = task.pods().map_or(&[][..], |pods| pods.volumes).iter();
    let claimed = volumes.filter(|volume| matches!(volume.from.value, VolumeFrom::Claim(_)));
    names.extend(claimed.map(|volume| format!("{name}-{}", volume.name)));
    names
}

#[cfg(test)]
mod tests {
    use crate::testing::{WORKLOADS, check_in};

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        check_in(WORKLOADS, "GPUC2181", workloads, expected);
    }

    #[test]
    fn invalid_and_duplicate_names_are_found() {
        check("{name: a-1, job: {image: 'a:1'}}", &[]);
        for name in ["A", "1a", "a_b", "a-"] {
            let expected = format!("invalid workload name `{name}`");
            check(
                &format!("{{name: {name}, job: {{image: 'a:1'}}}}"),
                &[&expected],
            );
        }
        let long = "a".repeat(41);
        let expected = format!("invalid workload name `{long}`");
        check(
            &format!("{{name: {long}, job: {{image: 'a:1'}}}}"),
            &[&expected],
        );
        let twice = "two workloads create an object `a-gpu`";
        check(
            "{name: a, cudaTest: {}}, {name: a-gpu, job: {image: 'a:1'}}",
            &[twice],
        );
        for (kind, name) in [
            ("trainJob", "a-node-0"),
            ("jobSet", "a-node-0"),
            ("pytorchJob", "a-master-0"),
            ("pytorchJob", "a-worker-0"),
            ("leaderWorkerSet", "a-1"),
            ("leaderWorkerSet", "a-leader"),
        ] {
            let more = match kind {
                "pytorchJob" => ", operator: existing",
                "leaderWorkerSet" => ", replicas: 2, service: {port: 80}",
                _ => "",
            };
            let group = format!("{kind}: {{image: 'a:1', nodes: 2, gpusPerNode: 1{more}}}");
            let job = format!("{{name: {name}, job: {{image: 'a:1'}}}}");
            let expected = format!("two workloads create an object `{name}`");
            check(&format!("{{name: a, {group}}}, {job}"), &[&expected]);
        }
        check(
            "{name: a, job: {image: 'a:1'}}, {name: a, namespace: other, job: {image: 'a:1'}}",
            &[],
        );
    }
}
