//! A workload has an invalid value.

use gpuc_kubernetes::cron::{closest_time_zone, is_time_zone, schedule_problem};
use gpuc_kubernetes::names::{is_dns_label, is_dns_subdomain, normalized_path};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{
    CronJob, EnvFrom, Job, NamedVolume, Pods, Quantity, Task, ValueFrom, VolumeFrom, Workload,
};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::with_quantity_help;
use super::workload_counts::{MAX_INT32, int32_counts, positive_counts};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2186",
        name: "workload-value-invalid",
        severity: Severity::Error,
        summary: "a workload has an invalid value",
        checks: "Whether the values of a workload are valid: quantities of CPU and memory, counts and other numbers,
names of Secrets, claims, service accounts and variables, names and mount paths of volumes,
schedules, ports, autoscalers and disruption budgets.",
        reason: "The API server would reject the object, or accept it without effect. An autoscaler by CPU never
scales pods that do not request CPU, and a disruption budget that protects every pod prevents nodes
from being drained.",
        remedy: "Correct the value as described in the help.",
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
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1, memory: 64GB}}
"#,
        correction: Correction::Replace("memory: 64GB", "memory: 64G"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let mut validator = Validator { report };
        validator.check_workload(workload);
        for (_, _, task) in workload.tasks() {
            validator.check_task(task);
        }
    }
}

/// The maximum parallelism of an indexed Job.
///
/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `maxParallelismForIndexedJob` (from memory).
const MAX_PARALLELISM: u32 = 100_000;

/// The smallest plausible memory of a container: 1 MiB, in thousandths of a byte.
const MIN_MEMORY: u64 = 1000 * 1024 * 1024;

pub(super) struct Validator<'r> {
    pub(super) report: &'r mut Report,
}

impl Validator<'_> {
    pub(super) fn report_invalid(&mut self, span: Span, message: String, help: &str) {
        self.report
            .diagnostic(&RULE.code, span, message)
            .help(help)
            .emit();
    }

    fn check_workload(&mut self, workload: &Workload) {
        if let Some(name) = workload.namespace.as_ref().filter(|it| !is_dns_label(it)) {
            let message = format!("invalid namespace name `{name}`");
            let help = "write at most 63 lower-case letters, digits and `-`";
            self.report_invalid(name.span, message, help);
        }
        self.check_object_name("PriorityClass", workload.priority.as_ref());
    }

    fn check_task(&mut self, task: Task<'_>) {
        for (key, count) in positive_counts(task) {
            if count.value == 0 {
                let message = format!("`{key}` cannot be 0");
                self.report_invalid(count.span, message, "write 1 or more");
            }
        }
        for (key, count) in int32_counts(task) {
            if count.value > MAX_INT32 {
                let message = format!("`{key}` exceeds the maximum of {MAX_INT32}");
                self.report_invalid(count.span, message, &format!("write at most {MAX_INT32}"));
            }
        }
        if let Task::Job(job) = task {
            self.check_indexed_job(job);
        }
        if let Some(pods) = task.pods() {
            self.check_pods(&pods);
        }
        if let Some(probes) = task.probes() {
            self.check_probes(probes);
        }
        match task {
            Task::FabricTest(it) => self.check_memory(it.memory.as_ref()),
            Task::CronJob(job) => self.check_schedule(job),
            Task::Deployment(it) => {
                if let Some(scaling) = &it.autoscaling {
                    self.check_scaling(scaling, it.cpu.as_ref());
                }
                let max_pods = it.autoscaling.as_ref().map_or(&it.replicas, |it| &it.max);
                self.check_budget(it.disruption_budget.as_ref(), max_pods);
            }
            Task::StatefulSet(it) => self.check_budget(it.disruption_budget.as_ref(), &it.replicas),
            _ => {}
        }
    }

    /// Checks the parallelism of a job with several completions, which is an indexed Job.
    fn check_indexed_job(&mut self, job: &Job) {
        if job.completions.value > 1 && job.parallelism.value > MAX_PARALLELISM {
            let message =
                format!("an indexed Job cannot run more than {MAX_PARALLELISM} pods in parallel");
            let help = format!("write at most {MAX_PARALLELISM}");
            self.report_invalid(job.parallelism.span, message, &help);
        }
    }

    fn check_memory(&mut self, memory: Option<&Spanned<Quantity>>) {
        self.check_quantity("memory", "`16Gi` or `512Mi`", memory, false);
        self.check_small_memory(memory);
    }

    fn check_small_memory(&mut self, memory: Option<&Spanned<Quantity>>) {
        let Some(quantity) = memory else { return };
        let count = quantity.thousandths();
        if count.is_some_and(|count| count > 0 && count < MIN_MEMORY) {
            let text = &quantity.value.0;
            let message = format!("the memory `{text}` is less than 1 MiB");
            let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            let help = format!("the unit is bytes; did you mean `{number}Gi`?");
            self.report_invalid(quantity.span, message, &help);
        }
    }

    fn check_pods(&mut self, pods: &Pods<'_>) {
        self.check_quantity("CPU cores", "`4`, `0.5` or `500m`", pods.cpu, false);
        self.check_memory(pods.memory);
        self.check_quantity(
            "memory",
            "`16Gi`, or `0` for none",
            pods.shared_memory,
            true,
        );
        let count = |it: Option<&Spanned<Quantity>>| it.and_then(|it| it.thousandths());
        self.check_small_memory(pods.shared_memory);
        if let (Some(shared), Some(memory)) = (pods.shared_memory, pods.memory)
            && count(Some(shared)) > count(Some(memory))
        {
            let message = "`sharedMemory` counts towards `memory` and exceeds it".to_owned();
            self.report
                .diagnostic(&RULE.code, shared.span, message)
                .label(memory.span, "`memory` is set here")
                .help("lower `sharedMemory`, or raise `memory`")
                .emit();
        }
        for name in pods.image_pull_secrets {
            self.check_object_name("Secret", Some(name));
        }
        self.check_object_name("ServiceAccount", pods.service_account);
        for name in pods.env.keys().chain(pods.env_value_from.keys()) {
            self.check_variable(name);
        }
        for from in pods.env_value_from.values() {
            match &from.value {
                ValueFrom::Secret(key) => self.check_object_name("Secret", Some(&key.name)),
                ValueFrom::ConfigMap(key) => self.check_object_name("ConfigMap", Some(&key.name)),
            }
        }
        for from in pods.env_from {
            match &from.value {
                EnvFrom::Secret(name) => self.check_object_name("Secret", Some(name)),
                EnvFrom::ConfigMap(name) => self.check_object_name("ConfigMap", Some(name)),
            }
        }
        for name in pods.env_value_from.keys() {
            if let Some((other, _)) = pods.env.get_key_value(name) {
                let message = format!("the variable `{name}` is set twice");
                self.report
                    .diagnostic(&RULE.code, name.span, message)
                    .label(other.span, "the other value")
                    .help("remove one of the values")
                    .emit();
            }
        }
        for (index, volume) in pods.volumes.iter().enumerate() {
            self.check_volume(volume, &pods.volumes[..index]);
        }
    }

    fn check_volume(&mut self, volume: &NamedVolume, previous: &[Spanned<NamedVolume>]) {
        let (name, path) = (&volume.name, &volume.mount_path);
        if !is_dns_label(name) || name.as_str() == "shm" || name.len() > 20 {
            let message = format!("invalid volume name `{name}`");
            let help = "write at most 20 lower-case letters, digits and `-`, and not `shm`";
            self.report_invalid(name.span, message, help);
        }
        let target = normalized_path(path);
        let has_parent = path.split('/').any(|part| part == "..");
        if !path.starts_with('/') || path.contains(':') || has_parent || target.is_empty() {
            let message = format!("invalid mount path `{path}`");
            self.report_invalid(path.span, message, "write an absolute path such as `/data`");
        } else if target == "/dev/shm" {
            let message = "the mount path `/dev/shm` is reserved for shared memory".to_owned();
            let help = "remove this volume, and set `sharedMemory` to its size";
            self.report_invalid(path.span, message, help);
        }
        let mut others = previous.iter();
        let same_name = others.find(|other| other.name == *name);
        let mut others = previous.iter();
        let same_path = others.find(|other| normalized_path(&other.mount_path) == target);
        let names = same_name.map(|other| (name, &other.name));
        let paths = same_path.map(|other| (path, &other.mount_path));
        for (own, first) in [names, paths].into_iter().flatten() {
            let message = format!("two volumes use `{own}`");
            self.report
                .diagnostic(&RULE.code, own.span, message)
                .label(first.span, "the first volume")
                .help("choose another name or path")
                .emit();
        }
        match &volume.from.value {
            VolumeFrom::ExistingClaim(name) => {
                self.check_object_name("PersistentVolumeClaim", Some(name));
            }
            VolumeFrom::Claim(claim) => {
                self.check_object_name("StorageClass", claim.class.as_ref());
                self.check_volume_size(&claim.size_gib);
            }
            VolumeFrom::ConfigMap(name) => self.check_object_name("ConfigMap", Some(name)),
            VolumeFrom::Secret(name) => self.check_object_name("Secret", Some(name)),
            VolumeFrom::Scratch(scratch) => {
                scratch
                    .size_gib
                    .iter()
                    .for_each(|size| self.check_volume_size(size));
            }
        }
    }

    fn check_volume_size(&mut self, size: &Spanned<u32>) {
        if size.value == 0 {
            let message = "the size of a volume must be at least 1 GiB".to_owned();
            self.report_invalid(size.span, message, "write 1 or more");
        }
    }

    fn check_schedule(&mut self, job: &CronJob) {
        if let Some((message, help)) = schedule_problem(&job.schedule) {
            self.report_invalid(job.schedule.span, message, &help);
        }
        if let Some(zone) = job.time_zone.as_ref().filter(|zone| !is_time_zone(zone)) {
            let message = format!("unknown time zone `{zone}`");
            let help = closest_time_zone(zone).map_or_else(
                || "write a time zone such as `Europe/Berlin` or `UTC`".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            );
            self.report_invalid(zone.span, message, &help);
        }
    }

    /// Reports a quantity that [`Quantity::thousandths`] cannot parse, or that is zero unless `zero_is_valid`.
    pub(super) fn check_quantity(
        &mut self,
        resource: &str,
        examples: &str,
        amount: Option<&Spanned<Quantity>>,
        zero_is_valid: bool,
    ) {
        let is_invalid = |it: &&Spanned<Quantity>| match it.thousandths() {
            None => true,
            Some(count) => count == 0 && !zero_is_valid,
        };
        if let Some(amount) = amount.filter(is_invalid) {
            let message = format!("invalid quantity `{}` for {resource}", amount.value.0);
            let builder = self.report.diagnostic(&RULE.code, amount.span, message);
            let examples = format!("write a quantity such as {examples}");
            let is_cpu = resource == "CPU cores";
            with_quantity_help(builder, &amount.0, amount.span, is_cpu, examples).emit();
        }
    }

    fn check_object_name(&mut self, kind: &str, name: Option<&Spanned<String>>) {
        if let Some(name) = name.filter(|name| !is_dns_subdomain(name)) {
            let message = format!("invalid {kind} name `{name}`");
            let help = "write lower-case letters, digits, `-` and `.`";
            self.report_invalid(name.span, message, help);
        }
    }

    fn check_variable(&mut self, name: &Spanned<String>) {
        let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        let inner = |c: char| letter(c) || c.is_ascii_digit() || c == '.' || c == '-';
        if !name.starts_with(letter) || !name.chars().all(inner) {
            let message = format!("invalid variable name `{name}`");
            self.report_invalid(
                name.span,
                message,
                "write letters, digits and `_`, not starting with a digit",
            );
        }
    }
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
    fn invalid_quantities_and_counts_are_found() {
        check(&job("cpu: 500m, memory: 1.5Gi, sharedMemory: 0"), &[]);
        check(&job("cpu: 0"), &["invalid quantity `0` for CPU cores"]);
        check(&job("memory: 4GB"), &["invalid quantity `4GB` for memory"]);
        let more = "`sharedMemory` counts towards `memory` and exceeds it";
        check(&job("memory: 4Gi, sharedMemory: 5Gi"), &[more]);
        check(
            &job("gpus: 0, parallelism: 0"),
            &["`gpus` cannot be 0", "`parallelism` cannot be 0"],
        );
        check(&job("runAs: {user: 0}"), &["`user` cannot be 0"]);
        check(&job("memory: 1Mi"), &[]);
        check(&job("memory: 16"), &["the memory `16` is less than 1 MiB"]);
        check(
            &job("memory: 100m"),
            &["the memory `100m` is less than 1 MiB"],
        );
    }

    #[test]
    fn invalid_names_and_paths_are_found() {
        check(
            &job("imagePullSecrets: [a_b]"),
            &["invalid Secret name `a_b`"],
        );
        check(&job("env: {1A: b}"), &["invalid variable name `1A`"]);
        let twice = "the variable `A` is set twice";
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
        check(&volume("shm", "/v"), &["invalid volume name `shm`"]);
        check(&volume("v", "v"), &["invalid mount path `v`"]);
        check(
            &volume("v", "/dev/shm"),
            &["the mount path `/dev/shm` is reserved for shared memory"],
        );
        check(
            &volume("v", "/dev//shm/"),
            &["the mount path `/dev/shm` is reserved for shared memory"],
        );
        check(&volume("v", "/a/../b"), &["invalid mount path `/a/../b`"]);
        check(&volume("v", "//"), &["invalid mount path `//`"]);
        let two = |first: &str, second: &str| {
            let from = "from: {secret: s}";
            job(&format!(
                "volumes: [{{name: v, mountPath: {first}, {from}}}, {{name: w, mountPath: {second}, {from}}}]"
            ))
        };
        check(&two("/a", "/a/"), &["two volumes use `/a/`"]);
        check(&two("/a", "/a/b"), &[]);
        // Each duplicate is reported once, with the first volume.
        let one = |name: &str| format!("{{name: {name}, mountPath: /a, from: {{secret: s}}}}");
        let three = format!("volumes: [{}, {}, {}]", one("v"), one("w"), one("x"));
        let twice = "two volumes use `/a`";
        check(&job(&three), &[twice, twice]);
    }

    #[test]
    fn invalid_schedules_are_found() {
        let at = |schedule: &str| format!("cronJob: {{image: 'a:1', schedule: '{schedule}'}}");
        for schedule in ["0 3 * * *", "*/5 0-6 1,15 * MON-FRI", "@daily"] {
            check(&at(schedule), &[]);
        }
        for schedule in ["0 3 * *", "daily", "0 3 * * * *", "0 25 * * *"] {
            let (message, _) = super::schedule_problem(schedule).expect("an invalid schedule");
            check(&at(schedule), &[&message]);
        }
        let zone =
            |zone: &str| format!("cronJob: {{image: 'a:1', schedule: '@daily', timeZone: {zone}}}");
        check(&zone("Europe/Berlin"), &[]);
        check(&zone("Local"), &["unknown time zone `Local`"]);
        check(&zone("Europe/Berln"), &["unknown time zone `Europe/Berln`"]);
    }
}
