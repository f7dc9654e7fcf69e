//! A workload cannot be called so.

use std::collections::BTreeMap;

use gpuc_schema::config::{Task, VolumeFrom, Workload};

use super::Rule;
use super::syntax::is_dns_label;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A workload cannot be called so.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2181",
        name: "workload-name-invalid",
        severity: Severity::Error,
        summary: "a workload cannot be called so",
        explain: "### What it checks

Whether each workload's name has lower-case letters, digits and `-` only, begins with a letter, ends
with a letter or a digit, has at most 40 characters, and makes no object in its namespace that
another workload makes. What belongs to a workload is called after it: `<name>-<volume>` are its
claims, `<name>-<pool>` its tests. So is what controllers make of it: `<name>-node-0` is the job of
a `trainJob` or `jobSet`, `<name>-master-0` and `<name>-worker-0` are pods and services of a
`pytorchJob`, `<name>-0` is a group of a `leaderWorkerSet` and `<name>-leader` its service.

### Why it matters

Kubernetes names pods and services after it, with a part of its own at the end, and the whole has
at most 63 characters. Of two objects with one name, one would take the other's place.

### What to do

Choose another name.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
workloads:
  - {name: finetune-7b, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

/// The longest name, to which Kubernetes and the kinds of jobs add numbers and parts of their own.
const LONGEST: usize = 40;

/// How many of what controllers number are looked at.
const MOST_NUMBERED: u32 = 1000;

fn run(cluster: &Cluster, report: &mut Report) {
    let mut seen = BTreeMap::new();
    for workload in &cluster.written.workloads {
        let name = &workload.name;
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || !is_dns_label(name) || name.len() > LONGEST {
            let message = format!("no workload can be called `{name}`");
            let help = format!(
                "write lower-case letters, digits and `-`, a letter first, {LONGEST} at most"
            );
            let draft = report.draft(&RULE.code, name.span, message);
            draft.help(help).emit();
            continue;
        }
        for made in names(cluster, workload) {
            if made.len() > 63 {
                let message = format!("`{made}` would have more than 63 characters");
                let draft = report.draft(&RULE.code, name.span, message);
                draft.help("choose a shorter name").emit();
                break;
            }
            let key = (cluster.namespace_of(workload), made.clone());
            if let Some(other) = seen.insert(key, name.span) {
                let message = format!("two workloads make objects called `{made}`");
                let draft = report.draft(&RULE.code, name.span, message);
                let draft = draft.label(other, "the other one");
                draft.help("choose another name").emit();
                break;
            }
        }
    }
}

/// What the objects of a workload are called, with what controllers make of them: jobs, sets of pods and services.
///
/// Source: kubernetes-sigs/jobset: `<jobset>-<group>-<job>`, and a service called like the `JobSet`; kubeflow/trainer:
/// a `JobSet` called like the `TrainJob`; kubeflow/training-operator: pods and services `<job>-master-0` and
/// `<job>-worker-<number>`; kubernetes-sigs/lws: `<set>-<group>`, a `StatefulSet`, and a service called like the set
/// (all from memory).
fn names(cluster: &Cluster, workload: &Workload) -> Vec<String> {
    let name = &workload.name.value;
    let Some(task) = workload.task() else {
        return vec![name.clone()];
    };
    if let Task::CudaTest(_) = task {
        let pools = cluster.pools_of(workload).into_iter();
        return pools.map(|pool| format!("{name}-{}", pool.name)).collect();
    }
    let mut names = vec![name.clone()];
    let numbered = |count: u32, before: &str| {
        let numbers = 0..count.min(MOST_NUMBERED);
        let names = numbers.map(|number| format!("{name}-{before}{number}"));
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
    use crate::check::testing::messages;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2181"), expected, "{workloads}");
    }

    #[test]
    fn names_are_short_and_of_their_own() {
        check("{name: a-1, job: {image: 'a:1'}}", &[]);
        for name in ["A", "1a", "a_b", "a-"] {
            let expected = format!("no workload can be called `{name}`");
            check(
                &format!("{{name: {name}, job: {{image: 'a:1'}}}}"),
                &[&expected],
            );
        }
        let long = "a".repeat(41);
        let expected = format!("no workload can be called `{long}`");
        check(
            &format!("{{name: {long}, job: {{image: 'a:1'}}}}"),
            &[&expected],
        );
        let twice = "two workloads make objects called `a-gpu`";
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
            let expected = format!("two workloads make objects called `{name}`");
            check(&format!("{{name: a, {group}}}, {job}"), &[&expected]);
        }
        check(
            "{name: a, job: {image: 'a:1'}}, {name: a, namespace: other, job: {image: 'a:1'}}",
            &[],
        );
    }
}
