//! No pool holds a workload.

use gpuc_schema::config::Workload;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, GpuAsk, Pool};
use crate::placement::{Answer, Demand, Reason, holding, verdict, why_not};

/// No pool holds a workload.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2184",
        name: "workload-nowhere",
        severity: Severity::Error,
        summary: "no pool holds a workload",
        explain: "### What it checks

Each workload against the nodes of its pool, or of every pool where it names none: whether a node
has as many GPUs, slices or shares as a pod asks for, CPU and memory; whether there are as many
nodes; whether the pool is for others; whether slices and shares do what it needs; and whether the
driver runs the CUDA of its image. A workload without GPUs has a place on pools without GPUs, or, in a
cluster that has none, on those whose nodes have no taint; on others only where it names the pool. Where
pods claim GPUs and share them (`mps`), all pods of a
workload name one claim, which is a GPU of one node: they must be on one node, ask for one GPU and
be no more than `replicas`.

### Why it matters

Its pods would wait for ever, or fail when they start, and an autoscaler would not help.

### What to do

Each pool is labelled with why it does not hold it. Ask for less, name another pool, or change one.
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
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 4}}
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
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let Some(task) = workload.task() else {
            continue;
        };
        let named = workload.pool.as_ref();
        let unknown = named.is_some_and(|name| cluster.pool(name).is_none());
        let unclear = cluster
            .pools
            .iter()
            .any(|pool| pool.offers.is_hole() || pool.gpus.is_hole() || pool.nodes.is_hole());
        if unknown || unclear || !holding(cluster, workload).is_empty() {
            continue;
        }
        let pools = cluster.pools.iter();
        let pools = pools.filter(|pool| named.is_none_or(|name| *name == pool.name));
        let asked = task
            .gpus()
            .map(|gpus| gpus.span)
            .filter(|span| span.is_written());
        let name = &workload.name;
        let (place, message) = if let Some(pool) = named {
            let message = format!("pool `{pool}` does not hold workload `{name}`");
            (pool.span, message)
        } else {
            (name.span, format!("no pool holds workload `{name}`"))
        };
        let span = asked.unwrap_or(place);
        let mut draft = report.draft(&RULE.code, span, message);
        let mut said = Vec::new();
        for pool in pools {
            if let Some((why, _)) = why_not(cluster, workload, pool) {
                draft = draft.label(pool.name.span, format!("it {why}"));
            }
            let demand = Demand::of_workload(cluster, workload, pool);
            let given = [demand.cpu, demand.memory].into_iter().flatten();
            for given in given.filter(|it| it.is_given) {
                let verdict = verdict(&demand, cluster, pool);
                let is_it = |reason: &Reason| reason.asked == given.span;
                if verdict.reasons.iter().any(is_it) && !said.contains(&given.span) {
                    said.push(given.span);
                    draft =
                        draft.label(given.span, "a container is given so much that says nothing");
                }
            }
        }
        let help = match (named, GpuAsk::of(task)) {
            (Some(_), _) => "ask for what the pool has, or name another pool".to_owned(),
            (None, Some(_)) => {
                "ask for what one of the pools has, or name the pool that is meant".to_owned()
            }
            (None, None) => without_gpus(cluster, workload),
        };
        draft.help(help).emit();
    }
}

/// What to do where pods without GPUs have no place: those with GPUs may hold them, and are named where that is meant.
fn without_gpus(cluster: &Cluster, workload: &Workload) -> String {
    let holds = |pool: &&Pool| {
        let demand = Demand::of_workload(cluster, workload, pool);
        let verdict = verdict(&demand, cluster, pool);
        verdict.answer() != Answer::No
    };
    match cluster.pools.iter().find(holds) {
        Some(pool) => format!(
            "ask for less, add a pool without GPUs, or name the pool whose nodes with GPUs may be used: `pool: {}`",
            pool.name
        ),
        None => "ask for less, or add a pool of larger machines without GPUs".to_owned(),
    }
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
        assert_eq!(messages(&yaml, "GPUC2184"), expected, "{workloads}");
    }

    #[test]
    fn a_pool_holds_each() {
        let none = "no pool holds workload `a`";
        check("{name: a, job: {image: 'a:1', gpus: 2}}", &[]);
        check("{name: a, job: {image: 'a:1'}}", &[]);
        check("{name: a, job: {image: 'a:1', gpus: 3}}", &[none]);
        check("{name: a, job: {image: 'a:1', profile: 1g.6gb}}", &[none]);
        check(
            "{name: a, job: {image: 'a:1', gpus: 1}}, {name: b, cudaTest: {}}",
            &[],
        );
        check(
            "{name: a, trainJob: {image: 'a:1', nodes: 2, gpusPerNode: 2}}",
            &[],
        );
        check(
            "{name: a, trainJob: {image: 'a:1', nodes: 3, gpusPerNode: 2}}",
            &[none],
        );
        let named = "pool `gpu` does not hold workload `a`";
        check(
            "{name: a, pool: gpu, job: {image: 'a:1', gpus: 3}}",
            &[named],
        );
    }

    #[test]
    fn pools_that_are_too_small_keep_a_workload_from_no_other() {
        let check = |task: &str, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}
                  - {{name: gpu, machine: g6.8xlarge, nodes: {{count: 2}}}}
                workloads: [{{name: a, {task}}}]
                "
            );
            assert_eq!(messages(&yaml, "GPUC2184"), expected, "{task}");
        };
        check("job: {image: 'a:1', cpu: 2}", &[]);
        let none = "no pool holds workload `a`";
        // Nodes with GPUs are for who names them.
        check("job: {image: 'a:1', cpu: 16}", &[none]);
        check("pool: gpu, job: {image: 'a:1', cpu: 16}", &[]);
        check("job: {image: 'a:1', gpus: 1, cpu: 16}", &[]);
        check("job: {image: 'a:1', cpu: 64}", &[none]);
    }

    #[test]
    fn where_every_pool_has_gpus_those_are_used_that_take_any_pod() {
        let check = |taints: [&str; 2], expected: &[&str]| {
            let pools = ["a", "b"].iter().zip(taints).map(|(name, taints)| {
                format!(
                    "{{name: {name}, gpu: {{model: A30, perNode: 2}}, hosts: [{name}], nodes: {{count: 1}}, taints: [{taints}]}}"
                )
            });
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{}]
                workloads: [{{name: a, job: {{image: 'a:1'}}}}]
                ",
                pools.collect::<Vec<_>>().join(", ")
            );
            assert_eq!(messages(&yaml, "GPUC2184"), expected, "{taints:?}");
        };
        let taint = "{key: nvidia.com/gpu, value: present, effect: NoSchedule}";
        check([taint, ""], &[]);
        check([taint, "{key: a, effect: PreferNoSchedule}"], &[]);
        check([taint, taint], &["no pool holds workload `a`"]);
    }

    #[test]
    fn who_shares_a_claim_is_on_one_gpu() {
        let check = |task: &str, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools:
                  - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}, stack: {{allocation: dra}},
                      sharing: {{mps: {{replicas: 2}}}}}}
                workloads: [{{name: a, pool: gpu, {task}}}]
                "
            );
            assert_eq!(messages(&yaml, "GPUC2184"), expected, "{task}");
        };
        let none = "pool `gpu` does not hold workload `a`";
        check(
            "job: {image: 'a:1', gpus: 1, completions: 2, parallelism: 2}",
            &[],
        );
        check(
            "job: {image: 'a:1', gpus: 1, completions: 3, parallelism: 3}",
            &[none],
        );
        check("job: {image: 'a:1', gpus: 2}", &[none]);
        check("deployment: {image: 'a:1', gpus: 1, replicas: 2}", &[]);
        let grows = "autoscaling: {min: 1, max: 3}, cpu: 1";
        check(
            &format!("deployment: {{image: 'a:1', gpus: 1, {grows}}}"),
            &[none],
        );
        for kind in ["trainJob", "jobSet", "leaderWorkerSet"] {
            let one = |nodes| format!("{kind}: {{image: 'a:1', nodes: {nodes}, gpusPerNode: 1}}");
            check(&one(1), &[]);
            check(&one(2), &[none]);
        }
    }
}
