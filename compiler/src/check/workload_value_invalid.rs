//! A workload has a value that Kubernetes does not take.

use gpuc_schema::config::{
    DisruptionBudget, EnvFrom, NamedVolume, Pods, Probes, Quantity, Scaling, Task, ValueFrom,
    VolumeFrom, Workload,
};
use gpuc_schema::{Span, Spanned};

use super::Rule;
use super::syntax::{is_dns_label, is_dns_subdomain};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A workload has a value that Kubernetes does not take.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2186",
        name: "workload-value-invalid",
        severity: Severity::Error,
        summary: "a workload has a value that Kubernetes does not take",
        explain: "### What it checks

Values of workloads: amounts of CPU and memory, counts, names of Secrets, claims and accounts, names
of variables, paths and names of volumes, schedules, ports, what an autoscaler and a disruption
budget say.

### Why it matters

The API server would refuse the object, or take it and do nothing: an autoscaler that goes by the CPU
of pods that ask for none never scales, and a budget that spares every pod keeps nodes from ever being
emptied.

### What to do

Write it as the help says.
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
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1, memory: 64GB}}
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
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1, memory: 64G}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let mut look = Look { report };
        look.workload(workload);
        for (_, _, task) in workload.tasks() {
            look.task(task);
        }
    }
}

struct Look<'r> {
    report: &'r mut Report,
}

impl Look<'_> {
    fn say(&mut self, span: Span, message: String, help: &str) {
        let draft = self.report.draft(&RULE.code, span, message);
        draft.help(help).emit();
    }

    fn workload(&mut self, workload: &Workload) {
        if let Some(name) = workload.namespace.as_ref().filter(|it| !is_dns_label(it)) {
            let message = format!("no namespace can be called `{name}`");
            self.say(
                name.span,
                message,
                "write lower-case letters, digits and `-`, 63 at most",
            );
        }
        self.object("PriorityClass", workload.priority.as_ref());
    }

    fn task(&mut self, task: Task<'_>) {
        for (key, count) in counts(task) {
            if count.value == 0 {
                self.say(
                    count.span,
                    format!("`{key}` cannot be 0"),
                    "write 1 or more",
                );
            }
        }
        if let Some(pods) = task.pods() {
            self.pods(&pods);
        }
        if let Some(probes) = task.probes() {
            self.probes(probes);
        }
        match task {
            Task::CronJob(job) => self.schedule(&job.schedule),
            Task::Deployment(it) => {
                if let Some(scaling) = &it.autoscaling {
                    self.scaling(scaling, it.cpu.as_ref());
                }
                let fewest = it.autoscaling.as_ref().map_or(&it.replicas, |it| &it.min);
                self.budget(it.disruption_budget.as_ref(), fewest);
            }
            Task::StatefulSet(it) => self.budget(it.disruption_budget.as_ref(), &it.replicas),
            _ => {}
        }
    }

    fn pods(&mut self, pods: &Pods<'_>) {
        self.amount("CPU cores", "4, 0.5 or 500m", pods.cpu, false);
        self.amount("memory", "16Gi or 512Mi", pods.memory, false);
        self.amount("memory", "16Gi, or 0 for none", pods.shared_memory, true);
        let count = |it: Option<&Spanned<Quantity>>| it.and_then(|it| it.thousandths());
        if let (Some(shared), Some(memory)) = (pods.shared_memory, pods.memory)
            && count(Some(shared)) > count(Some(memory))
        {
            let message = "shared memory counts as memory, and is more than that".to_owned();
            let draft = self.report.draft(&RULE.code, shared.span, message);
            let draft = draft.label(memory.span, "all memory");
            draft.help("write less, or raise `memory`").emit();
        }
        for name in pods.image_pull_secrets {
            self.object("Secret", Some(name));
        }
        self.object("ServiceAccount", pods.service_account);
        for name in pods.env.keys().chain(pods.env_value_from.keys()) {
            self.variable(name);
        }
        for from in pods.env_value_from.values() {
            match &from.value {
                ValueFrom::Secret(key) => self.object("Secret", Some(&key.name)),
                ValueFrom::ConfigMap(key) => self.object("ConfigMap", Some(&key.name)),
            }
        }
        for from in pods.env_from {
            match &from.value {
                EnvFrom::Secret(name) => self.object("Secret", Some(name)),
                EnvFrom::ConfigMap(name) => self.object("ConfigMap", Some(name)),
            }
        }
        for name in pods.env_value_from.keys() {
            if let Some((other, _)) = pods.env.get_key_value(name) {
                let message = format!("the variable `{name}` has two values");
                let draft = self.report.draft(&RULE.code, name.span, message);
                draft
                    .label(other.span, "the other one")
                    .help("remove one of them")
                    .emit();
            }
        }
        for (index, volume) in pods.volumes.iter().enumerate() {
            self.volume(volume, &pods.volumes[..index]);
        }
    }

    fn volume(&mut self, volume: &NamedVolume, before: &[Spanned<NamedVolume>]) {
        let (name, path) = (&volume.name, &volume.mount_path);
        if !is_dns_label(name) || name.as_str() == "shm" || name.len() > 20 {
            let message = format!("no volume can be called `{name}`");
            let help = "write lower-case letters, digits and `-`, 20 at most, and not `shm`";
            self.say(name.span, message, help);
        }
        if !path.starts_with('/') || path.contains(':') || path.as_str() == "/" {
            let message = format!("nothing can be mounted at `{path}`");
            self.say(path.span, message, "write an absolute path such as `/data`");
        } else if path.as_str() == "/dev/shm" {
            let message = "shared memory is mounted at `/dev/shm`".to_owned();
            self.say(
                path.span,
                message,
                "remove it, and write `sharedMemory` with its size",
            );
        }
        for other in before {
            let same = [(name, &other.name), (path, &other.mount_path)];
            for (own, other) in same.into_iter().filter(|(own, other)| own == other) {
                let message = format!("two volumes have `{own}`");
                let draft = self.report.draft(&RULE.code, own.span, message);
                draft
                    .label(other.span, "the first one")
                    .help("write another")
                    .emit();
            }
        }
        match &volume.from.value {
            VolumeFrom::ExistingClaim(name) => self.object("PersistentVolumeClaim", Some(name)),
            VolumeFrom::Claim(claim) => {
                self.object("StorageClass", claim.class.as_ref());
                self.size(&claim.size_gib);
            }
            VolumeFrom::ConfigMap(name) => self.object("ConfigMap", Some(name)),
            VolumeFrom::Secret(name) => self.object("Secret", Some(name)),
            VolumeFrom::Scratch(scratch) => {
                scratch.size_gib.iter().for_each(|size| self.size(size));
            }
        }
    }

    fn size(&mut self, size: &Spanned<u32>) {
        if size.value == 0 {
            let message = "a volume has at least 1 GiB".to_owned();
            self.say(size.span, message, "write 1 or more");
        }
    }

    fn probes(&mut self, probes: &Probes) {
        let all = [&probes.startup, &probes.readiness, &probes.liveness];
        for path in all.into_iter().flatten().filter_map(|it| it.path.as_ref()) {
            if !path.starts_with('/') {
                let message = format!("`{path}` is no path of HTTP");
                self.say(path.span, message, "write it with a `/` before it");
            }
        }
    }

    fn scaling(&mut self, scaling: &Spanned<Scaling>, cpu: Option<&Spanned<Quantity>>) {
        let (min, max) = (&scaling.min, &scaling.max);
        if min.value > max.value {
            let message = format!("`min` {min} is more than `max` {max}");
            let draft = self.report.draft(&RULE.code, min.span, message);
            draft
                .label(max.span, "the most")
                .help("exchange them")
                .emit();
        }
        let by_cpu = scaling.cpu_percent.is_some() || scaling.metric.is_none();
        if by_cpu && cpu.is_none() {
            let message = "it scales by CPU, and its pods ask for none".to_owned();
            let span = scaling.cpu_percent.map_or(scaling.span, |it| it.span);
            self.say(
                span,
                message,
                "add `cpu` to the deployment, or a `metric` instead",
            );
        }
        if let Some(metric) = &scaling.metric {
            self.amount("anything", "10 or 500m", Some(&metric.average), false);
        }
    }

    fn budget(&mut self, budget: Option<&DisruptionBudget>, fewest: &Spanned<u32>) {
        let (span, stuck) = match budget {
            Some(DisruptionBudget::MaxUnavailable(count)) => (count.span, count.value == 0),
            Some(DisruptionBudget::MinAvailable(count)) => {
                (count.span, count.value >= fewest.value)
            }
            None => return,
        };
        if stuck {
            let message = "no pod may ever be taken away, so no node can be emptied".to_owned();
            self.say(span, message, "write `maxUnavailable: 1`, or run more pods");
        }
    }

    /// Five fields, or one of cron's words: <https://pkg.go.dev/github.com/robfig/cron/v3>, which Kubernetes reads them
    /// with (from memory).
    fn schedule(&mut self, schedule: &Spanned<String>) {
        const WORDS: &[&str] = &[
            "@yearly",
            "@annually",
            "@monthly",
            "@weekly",
            "@daily",
            "@midnight",
            "@hourly",
        ];
        let fits = |c: char| c.is_ascii_alphanumeric() || "*/,-?".contains(c);
        let fields: Vec<_> = schedule.split_whitespace().collect();
        let is_cron = fields.len() == 5 && fields.iter().all(|field| field.chars().all(fits));
        if !is_cron && !WORDS.contains(&schedule.as_str()) {
            let message = format!("`{schedule}` is no schedule");
            let help = "write minute, hour, day, month and weekday: `0 3 * * *`";
            self.say(schedule.span, message, help);
        }
    }

    /// What [`Quantity::thousandths`] cannot count is refused.
    fn amount(
        &mut self,
        what: &str,
        examples: &str,
        amount: Option<&Spanned<Quantity>>,
        may_be_none: bool,
    ) {
        let wrong = |it: &&Spanned<Quantity>| match it.thousandths() {
            None => true,
            Some(count) => count == 0 && !may_be_none,
        };
        if let Some(amount) = amount.filter(wrong) {
            let message = format!("`{}` is no amount of {what}", amount.value.0);
            self.say(amount.span, message, &format!("write {examples}"));
        }
    }

    fn object(&mut self, kind: &str, name: Option<&Spanned<String>>) {
        if let Some(name) = name.filter(|name| !is_dns_subdomain(name)) {
            let message = format!("no {kind} can be called `{name}`");
            self.say(
                name.span,
                message,
                "write lower-case letters, digits, `-` and `.`",
            );
        }
    }

    fn variable(&mut self, name: &Spanned<String>) {
        let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        let inner = |c: char| letter(c) || c.is_ascii_digit() || c == '.' || c == '-';
        if !name.starts_with(letter) || !name.chars().all(inner) {
            let message = format!("no variable can be called `{name}`");
            self.say(
                name.span,
                message,
                "write letters, digits and `_`, no digit first",
            );
        }
    }
}

/// The counts of a task that cannot be nothing, with their keys.
fn counts(task: Task<'_>) -> Vec<(&'static str, Spanned<u32>)> {
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
            counts.push(("replicas", it.replicas));
            counts.extend(it.autoscaling.as_ref().map(|it| ("min", it.min)));
            let percent = it.autoscaling.as_ref().and_then(|it| it.cpu_percent);
            counts.extend(percent.map(|it| ("cpuPercent", it)));
        }
        Task::StatefulSet(it) => counts.push(("replicas", it.replicas)),
        Task::TrainJob(it) => {
            counts.extend(it.deadline_seconds.map(|it| ("deadlineSeconds", it)));
        }
        Task::PytorchJob(it) => {
            counts.extend(it.deadline_seconds.map(|it| ("deadlineSeconds", it)));
        }
        Task::LeaderWorkerSet(it) => counts.push(("replicas", it.replicas)),
        Task::CudaTest(_) | Task::JobSet(_) => {}
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
            counts.push(("port", port(probe.port)));
            counts.extend(probe.period_seconds.map(|it| ("periodSeconds", it)));
            counts.extend(probe.timeout_seconds.map(|it| ("timeoutSeconds", it)));
            counts.extend(probe.failures.map(|it| ("failures", it)));
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
            workloads: [{{name: a, {task}}}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2186"), expected, "{task}");
    }

    fn job(keys: &str) -> String {
        format!("job: {{image: 'a:1', {keys}}}")
    }

    #[test]
    fn amounts_and_counts() {
        check(&job("cpu: 500m, memory: 1.5Gi, sharedMemory: 0"), &[]);
        check(&job("cpu: 0"), &["`0` is no amount of CPU cores"]);
        check(&job("memory: 4GB"), &["`4GB` is no amount of memory"]);
        let more = "shared memory counts as memory, and is more than that";
        check(&job("memory: 4Gi, sharedMemory: 5Gi"), &[more]);
        check(
            &job("gpus: 0, parallelism: 0"),
            &["`gpus` cannot be 0", "`parallelism` cannot be 0"],
        );
        check(&job("runAs: {user: 0}"), &["`user` cannot be 0"]);
    }

    #[test]
    fn names() {
        check(
            &job("imagePullSecrets: [a_b]"),
            &["no Secret can be called `a_b`"],
        );
        check(&job("env: {1A: b}"), &["no variable can be called `1A`"]);
        let twice = "the variable `A` has two values";
        let from = "{A: {configMap: {name: c, key: d}}}";
        check(
            &job(&format!("env: {{A: b}}, envValueFrom: {from}")),
            &[twice],
        );
        let volume = |name: &str, path: &str| {
            job(&format!(
                "volumes: [{{name: {name}, mountPath: {path}, from: {{secret: s}}}}]"
            ))
        };
        check(&volume("v", "/v"), &[]);
        check(&volume("shm", "/v"), &["no volume can be called `shm`"]);
        check(&volume("v", "v"), &["nothing can be mounted at `v`"]);
        check(
            &volume("v", "/dev/shm"),
            &["shared memory is mounted at `/dev/shm`"],
        );
    }

    #[test]
    fn schedules() {
        let at = |schedule: &str| format!("cronJob: {{image: 'a:1', schedule: '{schedule}'}}");
        for schedule in ["0 3 * * *", "*/5 0-6 1,15 * MON-FRI", "@daily"] {
            check(&at(schedule), &[]);
        }
        for schedule in ["0 3 * *", "daily", "0 3 * * * *", "0 3 * * $"] {
            check(&at(schedule), &[&format!("`{schedule}` is no schedule")]);
        }
    }

    #[test]
    fn services() {
        let deployment = |keys: &str| format!("deployment: {{image: 'a:1', {keys}}}");
        check(&deployment("cpu: 1, autoscaling: {min: 1, max: 2}"), &[]);
        let none = "it scales by CPU, and its pods ask for none";
        check(&deployment("autoscaling: {min: 1, max: 2}"), &[none]);
        let metric = "autoscaling: {min: 2, max: 1, metric: {name: m, average: 1}}";
        check(&deployment(metric), &["`min` 2 is more than `max` 1"]);
        let stuck = "no pod may ever be taken away, so no node can be emptied";
        check(&deployment("disruptionBudget: {minAvailable: 1}"), &[stuck]);
        check(
            &deployment("replicas: 2, disruptionBudget: {minAvailable: 1}"),
            &[],
        );
        check(
            &deployment("disruptionBudget: {maxUnavailable: 0}"),
            &[stuck],
        );
        let probes = "probes: {readiness: {port: 0, path: a}}";
        check(
            &deployment(probes),
            &["`port` cannot be 0", "`a` is no path of HTTP"],
        );
    }
}
