//! A workload does not fit on any pool.

use gpuc_schema::config::Workload;

use gpuc_model::check::Rule;
use gpuc_model::scheduling::{
    Demand, Feasibility, Reason, check_pool, fitting_pools, misfit_reason,
};
use gpuc_model::{Cluster, PodGpuRequest, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2184",
        name: "workload-unschedulable",
        severity: Severity::Error,
        summary: "a workload does not fit on any pool",
        checks: "Whether each workload fits on its pool, or on any pool if it names none. A node must have enough
GPUs, MIG devices or replicas, CPU and memory for a pod. The pool must have enough nodes and must
not be dedicated to another team. MIG devices and replicas must support what the workload needs, and
the driver must support the CUDA version of its image.

A workload without GPUs runs on pools without GPUs. In a cluster without such pools, it runs on
pools whose nodes have no taint. It uses other pools only if it names them.

If GPUs are allocated through DRA and shared (`mps`), all pods of a workload use one ResourceClaim,
which is one GPU of one node. The pods must then run on one node and request one GPU each, and there
must be at most `replicas` of them.",
        reason: "The pods would stay pending, or fail when they start. An autoscaler adds no node for them.",
        remedy: "The message gives a reason for each pool. Lower the requests, name another pool, or change a pool.",
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
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 4}}
"#,
        correction: Correction::Replace("gpus: 4", "gpus: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let Some(task) = workload.task() else {
            continue;
        };
        let pool_name = workload.pool.as_ref();
        let is_unknown = pool_name.is_some_and(|name| cluster.pool(name).is_none());
        let is_unresolved = cluster.pools.iter().any(|pool| {
            pool.advertised.is_unresolved()
                || pool.gpus.is_unresolved()
                || pool.nodes.is_unresolved()
        });
        if is_unknown || is_unresolved || !fitting_pools(cluster, workload).is_empty() {
            continue;
        }
        let pools = cluster.pools.iter();
        let pools = pools.filter(|pool| pool_name.is_none_or(|name| *name == pool.name));
        let gpus_span = task
            .gpus()
            .map(|gpus| gpus.span)
            .filter(|span| span.is_written());
        let name = &workload.name;
        let (fallback_span, message) = if let Some(pool) = pool_name {
            let message = format!("workload `{name}` does not fit on pool `{pool}`");
            (pool.span, message)
        } else {
            (
                name.span,
                format!("workload `{name}` does not fit on any pool"),
            )
        };
        let span = gpus_span.unwrap_or(fallback_span);
        let mut builder = report.diagnostic(&RULE.code, span, message);
        let mut labelled = Vec::new();
        for pool in pools {
            if let Some((obstacle, _)) = misfit_reason(cluster, workload, pool) {
                builder = builder.label(pool.name.span, format!("this pool {obstacle}"));
            }
            let demand = Demand::for_workload(cluster, workload, pool);
            let default = [demand.cpu, demand.memory].into_iter().flatten();
            for default in default.filter(|it| it.is_default) {
                let evaluation = check_pool(&demand, cluster, pool);
                let is_about_default = |reason: &Reason| reason.request_span == default.span;
                if evaluation.reasons.iter().any(is_about_default)
                    && !labelled.contains(&default.span)
                {
                    labelled.push(default.span);
                    builder =
                        builder.label(default.span, "the default for containers without requests");
                }
            }
        }
        let help = match (pool_name, PodGpuRequest::for_task(task)) {
            (Some(_), _) => "lower the requests, or name another pool".to_owned(),
            (None, Some(_)) => {
                "lower the requests, or add a pool on which the workload fits".to_owned()
            }
            (None, None) => help_without_gpus(cluster, workload),
        };
        builder.help(help).emit();
    }
}

/// The help for pods without GPUs: they may use a pool with GPUs only if the workload names it.
fn help_without_gpus(cluster: &Cluster, workload: &Workload) -> String {
    let fits = |pool: &&Pool| {
        let demand = Demand::for_workload(cluster, workload, pool);
        let evaluation = check_pool(&demand, cluster, pool);
        evaluation.feasibility() != Feasibility::DoesNotFit
    };
    match cluster.pools.iter().find(fits) {
        Some(pool) => format!(
            "lower the requests, add a pool without GPUs, or run it on nodes with GPUs: `pool: {}`",
            pool.name
        ),
        None => "lower the requests, or add a pool of larger machines without GPUs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{WORKLOADS, check_in, messages_with_id};

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        check_in(WORKLOADS, "GPUC2184", workloads, expected);
    }

    #[test]
    fn workloads_beyond_the_gpus_are_found() {
        let none = "workload `a` does not fit on any pool";
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
        let named = "workload `a` does not fit on pool `gpu`";
        check(
            "{name: a, pool: gpu, job: {image: 'a:1', gpus: 3}}",
            &[named],
        );
    }

    #[test]
    fn larger_pools_are_considered() {
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
            assert_eq!(messages_with_id(&yaml, "GPUC2184"), expected, "{task}");
        };
        check("job: {image: 'a:1', cpu: 2}", &[]);
        let none = "workload `a` does not fit on any pool";
        // Nodes with GPUs are only for workloads that name the pool.
        check("job: {image: 'a:1', cpu: 16}", &[none]);
        check("pool: gpu, job: {image: 'a:1', cpu: 16}", &[]);
        check("job: {image: 'a:1', gpus: 1, cpu: 16}", &[]);
        check("job: {image: 'a:1', cpu: 64}", &[none]);
    }

    #[test]
    fn without_cpu_pools_untainted_gpu_pools_are_used() {
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
            assert_eq!(messages_with_id(&yaml, "GPUC2184"), expected, "{taints:?}");
        };
        let taint = "{key: nvidia.com/gpu, value: present, effect: NoSchedule}";
        check([taint, ""], &[]);
        check([taint, "{key: a, effect: PreferNoSchedule}"], &[]);
        check([taint, taint], &["workload `a` does not fit on any pool"]);
    }

    #[test]
    fn pods_that_share_a_claim_use_one_gpu() {
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
            assert_eq!(messages_with_id(&yaml, "GPUC2184"), expected, "{task}");
        };
        let none = "workload `a` does not fit on pool `gpu`";
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
