//! A workload has a value that Kubernetes does not take.

use gpuc_schema::config::{
    CronJob, EnvFrom, Job, NamedVolume, Pods, Quantity, Task, ValueFrom, VolumeFrom, Workload,
};
use gpuc_schema::{Span, Spanned};

use super::Rule;
use super::cron::{is_time_zone, meant_zone, schedule_problem};
use super::syntax::{is_dns_label, is_dns_subdomain, normal_path};
use super::workload_counts::{LARGEST, counts, numbers};
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
budget say, and numbers that do not fit into Kubernetes' fields.

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

/// How many pods with numbers a job runs at once.
///
/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `maxParallelismForIndexedJob` (from memory).
const MOST_AT_ONCE: u32 = 100_000;

/// The fewest bytes that a container can be meant to have: 1 MiB, in thousandths.
const LEAST_MEMORY: u64 = 1000 * 1024 * 1024;

pub(super) struct Look<'r> {
    pub(super) report: &'r mut Report,
}

impl Look<'_> {
    pub(super) fn say(&mut self, span: Span, message: String, help: &str) {
        let draft = self.report.draft(&RULE.code, span, message);
        draft.help(help).emit();
    }

    fn workload(&mut self, workload: &Workload) {
        if let Some(name) = workload.namespace.as_ref().filter(|it| !is_dns_label(it)) {
            let message = format!("no namespace can be called `{name}`");
            let help = "write lower-case letters, digits and `-`, 63 at most";
            self.say(name.span, message, help);
        }
        self.object("PriorityClass", workload.priority.as_ref());
    }

    fn task(&mut self, task: Task<'_>) {
        for (key, count) in counts(task) {
            if count.value == 0 {
                let message = format!("`{key}` cannot be 0");
                self.say(count.span, message, "write 1 or more");
            }
        }
        for (key, count) in numbers(task) {
            if count.value > LARGEST {
                let message = format!("`{key}` is more than Kubernetes can count");
                self.say(count.span, message, &format!("write {LARGEST} at most"));
            }
        }
        if let Task::Job(job) = task {
            self.indexed(job);
        }
        if let Some(pods) = task.pods() {
            self.pods(&pods);
        }
        if let Some(probes) = task.probes() {
            self.probes(probes);
        }
        match task {
            Task::CronJob(job) => self.schedule(job),
            Task::Deployment(it) => {
                if let Some(scaling) = &it.autoscaling {
                    self.scaling(scaling, it.cpu.as_ref());
                }
                let most = it.autoscaling.as_ref().map_or(&it.replicas, |it| &it.max);
                self.budget(it.disruption_budget.as_ref(), most);
            }
            Task::StatefulSet(it) => self.budget(it.disruption_budget.as_ref(), &it.replicas),
            _ => {}
        }
    }

    /// The pods of a job with several completions have numbers, and not so many of them can run at once.
    fn indexed(&mut self, job: &Job) {
        if job.completions.value > 1 && job.parallelism.value > MOST_AT_ONCE {
            let message = "so many pods with numbers cannot run at once".to_owned();
            let help = format!("write {MOST_AT_ONCE} at most");
            self.say(job.parallelism.span, message, &help);
        }
    }

    fn pods(&mut self, pods: &Pods<'_>) {
        self.amount("CPU cores", "4, 0.5 or 500m", pods.cpu, false);
        self.amount("memory", "16Gi or 512Mi", pods.memory, false);
        self.amount("memory", "16Gi, or 0 for none", pods.shared_memory, true);
        let count = |it: Option<&Spanned<Quantity>>| it.and_then(|it| it.thousandths());
        for few in [pods.memory, pods.shared_memory].into_iter().flatten() {
            if count(Some(few)).is_some_and(|count| count > 0 && count < LEAST_MEMORY) {
                let text = &few.value.0;
                let message = format!("`{text}` of memory is less than 1 MiB");
                let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
                let help = format!("it counts bytes; did you mean `{number}Gi`?");
                self.say(few.span, message, &help);
            }
        }
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
        let place = normal_path(path);
        let is_up = path.split('/').any(|part| part == "..");
        if !path.starts_with('/') || path.contains(':') || is_up || place.is_empty() {
            let message = format!("nothing can be mounted at `{path}`");
            self.say(path.span, message, "write an absolute path such as `/data`");
        } else if place == "/dev/shm" {
            let message = "shared memory is mounted at `/dev/shm`".to_owned();
            let help = "remove it, and write `sharedMemory` with its size";
            self.say(path.span, message, help);
        }
        let mut others = before.iter();
        let named = others.find(|other| other.name == *name);
        let mut others = before.iter();
        let placed = others.find(|other| normal_path(&other.mount_path) == place);
        let names = named.map(|other| (name, &other.name));
        let paths = placed.map(|other| (path, &other.mount_path));
        for (own, first) in [names, paths].into_iter().flatten() {
            let message = format!("two volumes have `{own}`");
            let draft = self.report.draft(&RULE.code, own.span, message);
            draft
                .label(first.span, "the first one")
                .help("write another")
                .emit();
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

    fn schedule(&mut self, job: &CronJob) {
        if let Some((message, help)) = schedule_problem(&job.schedule) {
            self.say(job.schedule.span, message, &help);
        }
        if let Some(zone) = job.time_zone.as_ref().filter(|zone| !is_time_zone(zone)) {
            let message = format!("no time zone is called `{zone}`");
            let help = meant_zone(zone).map_or_else(
                || "write such as `Europe/Berlin` or `UTC`".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            );
            self.say(zone.span, message, &help);
        }
    }

    /// What [`Quantity::thousandths`] cannot count is refused.
    pub(super) fn amount(
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
            let help = "write lower-case letters, digits, `-` and `.`";
            self.say(name.span, message, help);
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
        check(&job("memory: 1Mi"), &[]);
        check(&job("memory: 16"), &["`16` of memory is less than 1 MiB"]);
        check(
            &job("memory: 100m"),
            &["`100m` of memory is less than 1 MiB"],
        );
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
        check(
            &volume("v", "/dev//shm/"),
            &["shared memory is mounted at `/dev/shm`"],
        );
        check(
            &volume("v", "/a/../b"),
            &["nothing can be mounted at `/a/../b`"],
        );
        check(&volume("v", "//"), &["nothing can be mounted at `//`"]);
        let two = |first: &str, second: &str| {
            let from = "from: {secret: s}";
            job(&format!(
                "volumes: [{{name: v, mountPath: {first}, {from}}}, {{name: w, mountPath: {second}, {from}}}]"
            ))
        };
        check(&two("/a", "/a/"), &["two volumes have `/a/`"]);
        check(&two("/a", "/a/b"), &[]);
        // Each is told once, of the first one.
        let one = |name: &str| format!("{{name: {name}, mountPath: /a, from: {{secret: s}}}}");
        let three = format!("volumes: [{}, {}, {}]", one("v"), one("w"), one("x"));
        let twice = "two volumes have `/a`";
        check(&job(&three), &[twice, twice]);
    }

    #[test]
    fn schedules() {
        let at = |schedule: &str| format!("cronJob: {{image: 'a:1', schedule: '{schedule}'}}");
        for schedule in ["0 3 * * *", "*/5 0-6 1,15 * MON-FRI", "@daily"] {
            check(&at(schedule), &[]);
        }
        for schedule in ["0 3 * *", "daily", "0 3 * * * *"] {
            check(&at(schedule), &[&format!("`{schedule}` is no schedule")]);
        }
        check(&at("0 25 * * *"), &["`25` is no hour"]);
        let zone =
            |zone: &str| format!("cronJob: {{image: 'a:1', schedule: '@daily', timeZone: {zone}}}");
        check(&zone("Europe/Berlin"), &[]);
        check(&zone("Local"), &["no time zone is called `Local`"]);
        check(
            &zone("Europe/Berln"),
            &["no time zone is called `Europe/Berln`"],
        );
    }
}
