//! The numbers in workloads.

use gpuc_schema::Spanned;
use gpuc_schema::config::Task;

/// The maximum of most integer fields of Kubernetes, and of user and group ids.
pub(super) const MAX_INT32: u32 = 2_147_483_647;

/// The counts of a task that must not be 0, with their keys.
pub(super) fn positive_counts(task: Task<'_>) -> Vec<(&'static str, Spanned<u32>)> {
    let mut counts = Vec::new();
    counts.extend(task.nodes().map(|it| ("nodes", *it)));
    let key = if task.nodes().is_some() {
        "gpusPerNode"
    } else {
        "gpus"
    };
    counts.extend(task.gpus().map(|it| (key, *it)));
    match task {
        Task::Job(it) => {
            counts.extend([
                ("completions", it.completions),
                ("parallelism", it.parallelism),
            ]);
            counts.extend(it.deadline_seconds.map(|it| ("deadlineSeconds", it)));
        }
        Task::CronJob(it) => counts.extend(it.deadline_seconds.map(|it| ("deadlineSeconds", it))),
        Task::Deployment(it) => {
            counts.extend(it.autoscaling.as_ref().map(|it| ("min", it.min)));
            let percent = it.autoscaling.as_ref().and_then(|it| it.cpu_percent);
            counts.extend(percent.map(|it| ("cpuPercent", it)));
        }
        Task::TrainJob(it) => {
            counts.extend(it.deadline_seconds.map(|it| ("deadlineSeconds", it)));
        }
        Task::PytorchJob(it) => {
            counts.extend(it.deadline_seconds.map(|it| ("deadlineSeconds", it)));
        }
        Task::FabricTest(it) => {
            counts.extend(it.min_bus_bandwidth.map(|it| ("minBusBandwidth", it)));
        }
        Task::CudaTest(_) | Task::StatefulSet(_) | Task::JobSet(_) | Task::LeaderWorkerSet(_) => {}
    }
    let port = |port: Spanned<u16>| port.map(u32::from);
    if let Some(service) = task.service() {
        counts.push(("port", port(service.port)));
        counts.extend(service.container_port.map(|it| ("containerPort", port(it))));
    }
    let run_as = task.pods().and_then(|pods| pods.run_as);
    counts.extend(run_as.map(|it| ("user", it.user)));
    counts.extend(run_as.and_then(|it| it.group).map(|it| ("group", it)));
    counts.extend(
        run_as
            .and_then(|it| it.volumes_group)
            .map(|it| ("volumesGroup", it)),
    );
    let grace = task.pods().and_then(|pods| pods.grace_seconds);
    counts.extend(grace.map(|it| ("graceSeconds", *it)));
    if let Some(probes) = task.probes() {
        let all = [&probes.startup, &probes.readiness, &probes.liveness];
        for probe in all.into_iter().flatten() {
            counts.extend(probe.port.map(|it| ("port", port(it))));
            counts.extend(probe.period_seconds.map(|it| ("periodSeconds", it)));
            counts.extend(probe.timeout_seconds.map(|it| ("timeoutSeconds", it)));
            counts.extend(probe.failures.map(|it| ("failures", it)));
        }
    }
    counts
}

/// All counts of a task, with their keys: those that Kubernetes stores in a signed 32-bit integer.
pub(super) fn int32_counts(task: Task<'_>) -> Vec<(&'static str, Spanned<u32>)> {
    let mut numbers = positive_counts(task);
    match task {
        Task::Job(it) => {
            numbers.extend(it.retries.map(|it| ("retries", it)));
            numbers.extend(it.ttl_seconds.map(|it| ("ttlSeconds", it)));
        }
        Task::CronJob(it) => numbers.extend(it.retries.map(|it| ("retries", it))),
        Task::Deployment(it) => {
            numbers.push(("replicas", it.replicas));
            numbers.extend(it.autoscaling.as_ref().map(|it| ("max", it.max)));
        }
        Task::TrainJob(it) => numbers.push(("restarts", it.restarts)),
        Task::PytorchJob(it) => numbers.extend(it.retries.map(|it| ("retries", it))),
        Task::JobSet(it) => {
            numbers.push(("restarts", it.restarts));
            numbers.extend(it.ttl_seconds.map(|it| ("ttlSeconds", it)));
        }
        Task::StatefulSet(it) => numbers.push(("replicas", it.replicas)),
        Task::LeaderWorkerSet(it) => numbers.push(("replicas", it.replicas)),
        Task::CudaTest(_) | Task::FabricTest(_) => {}
    }
    numbers
}

#[cfg(test)]
mod tests {
    use crate::testing::{TASK, check_in};

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        check_in(TASK, "GPUC2186", task, expected);
    }

    fn job(keys: &str) -> String {
        format!("job: {{image: 'a:1', {keys}}}")
    }

    #[test]
    fn numbers_beyond_32_bits_are_found() {
        for key in ["completions", "retries", "ttlSeconds", "deadlineSeconds"] {
            let many = format!("`{key}` exceeds the maximum of 2147483647");
            check(&job(&format!("{key}: 2147483648")), &[&many]);
            check(&job(&format!("{key}: 2147483647")), &[]);
        }
        let user = "`user` exceeds the maximum of 2147483647";
        check(&job("runAs: {user: 3000000000}"), &[user]);
        let many = "an indexed Job cannot run more than 100000 pods in parallel";
        check(&job("completions: 200000, parallelism: 100001"), &[many]);
        check(&job("completions: 200000, parallelism: 100000"), &[]);
        let max = "deployment: {image: 'a:1', cpu: 1, autoscaling: {min: 1, max: 3000000000}}";
        check(max, &["`max` exceeds the maximum of 2147483647"]);
        let train = "trainJob: {image: 'a:1', nodes: 1, gpusPerNode: 1, restarts: 3000000000}";
        check(train, &["`restarts` exceeds the maximum of 2147483647"]);
    }
}
