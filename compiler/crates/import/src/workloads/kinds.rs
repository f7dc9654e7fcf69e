//! The keys of each kind of workload.

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use serde_json::Value;

use crate::context::Context;
use crate::json::{items, number, text, texts};
use crate::tree::{Entries, Item};

use super::json_item;
use super::pods::{PodTemplate, program};

/// A kind of workload.
pub(super) struct TaskKind {
    /// The kind of the object.
    pub(super) kind: Kind,
    /// The key in the file.
    pub(super) key: &'static str,
    /// Where the object has the `spec` of its pods.
    pub(super) pods: &'static str,
    /// Whether the pods are on several nodes.
    pub(super) has_nodes: bool,
    /// Adds the keys of the kind.
    pub(super) add: fn(&Context<'_>, &Object, &mut Entries),
}

/// The kinds of workloads. Jobs of tests have keys of their own.
pub(super) static KINDS: &[TaskKind] = &[
    TaskKind {
        kind: Kind::Job,
        key: "job",
        pods: "/spec/template/spec",
        has_nodes: false,
        add: job,
    },
    TaskKind {
        kind: Kind::CronJob,
        key: "cronJob",
        pods: "/spec/jobTemplate/spec/template/spec",
        has_nodes: false,
        add: cron_job,
    },
    TaskKind {
        kind: Kind::Deployment,
        key: "deployment",
        pods: "/spec/template/spec",
        has_nodes: false,
        add: service_set,
    },
    TaskKind {
        kind: Kind::StatefulSet,
        key: "statefulSet",
        pods: "/spec/template/spec",
        has_nodes: false,
        add: service_set,
    },
    TaskKind {
        kind: Kind::PytorchJob,
        key: "pytorchJob",
        pods: "/spec/pytorchReplicaSpecs/Master/template/spec",
        has_nodes: true,
        add: pytorch_job,
    },
    TaskKind {
        kind: Kind::JobSet,
        key: "jobSet",
        pods: "/spec/replicatedJobs/0/template/spec/template/spec",
        has_nodes: true,
        add: job_set,
    },
    TaskKind {
        kind: Kind::LeaderWorkerSet,
        key: "leaderWorkerSet",
        pods: "/spec/leaderWorkerTemplate/workerTemplate/spec",
        has_nodes: true,
        add: leader_worker_set,
    },
];

/// The pods of a TrainJob are in its runtime.
pub(super) static TRAIN_JOB: TaskKind = TaskKind {
    kind: Kind::TrainJob,
    key: "trainJob",
    pods: "/spec/template/spec/replicatedJobs/0/template/spec/template/spec",
    has_nodes: true,
    add: train_job,
};

/// Adds numbers by their keys in the file and their pointers.
fn add_numbers(object: &Value, keys: &mut Entries, numbers: &[(&str, &str)]) {
    for (key, pointer) in numbers {
        keys.push_some(key, number(object, pointer).map(Item::number));
    }
}

fn job(_: &Context<'_>, object: &Object, keys: &mut Entries) {
    for (key, pointer) in [
        ("completions", "/spec/completions"),
        ("parallelism", "/spec/parallelism"),
    ] {
        let count = number(&object.body, pointer).filter(|count| *count != 1);
        keys.push_some(key, count.map(Item::number));
    }
    // The API server sets the default, 6.
    let retries = number(&object.body, "/spec/backoffLimit").filter(|count| *count != 6);
    keys.push_some("retries", retries.map(Item::number));
    let numbers = [
        ("deadlineSeconds", "/spec/activeDeadlineSeconds"),
        ("ttlSeconds", "/spec/ttlSecondsAfterFinished"),
    ];
    add_numbers(&object.body, keys, &numbers);
}

fn cron_job(_: &Context<'_>, object: &Object, keys: &mut Entries) {
    keys.push("schedule", Item::text(object.text("/spec/schedule")));
    let zone = text(&object.body, "/spec/timeZone");
    keys.push_some("timeZone", zone.map(Item::text));
    let policy = object.text("/spec/concurrencyPolicy").to_ascii_lowercase();
    if policy != "forbid" {
        keys.push("concurrency", Item::text(policy));
    }
    let spec = object.get("/spec/jobTemplate/spec");
    let retries = number(spec, "/backoffLimit").filter(|count| *count != 6);
    keys.push_some("retries", retries.map(Item::number));
    add_numbers(spec, keys, &[("deadlineSeconds", "/activeDeadlineSeconds")]);
}

/// A Deployment or a StatefulSet.
fn service_set(cx: &Context<'_>, object: &Object, keys: &mut Entries) {
    let metadata = &object.metadata;
    let (namespace, name) = (metadata.namespace.as_str(), metadata.name.as_str());
    let is_own = |it: &&Object| it.metadata.label(gpuc_model::WORKLOAD_LABEL).is_some();
    let scaler = cx
        .state
        .object(Kind::HorizontalPodAutoscaler, namespace, name);
    let scaler = scaler.filter(is_own);
    if scaler.is_none() {
        let replicas = number(&object.body, "/spec/replicas").filter(|count| *count != 1);
        keys.push_some("replicas", replicas.map(Item::number));
    }
    let container = object.get("/spec/template/spec/containers/0");
    add_service(cx, (namespace, name), container, keys);
    keys.push_some("autoscaling", scaler.map(autoscaling));
    let budget = cx.state.object(Kind::PodDisruptionBudget, namespace, name);
    if let Some(budget) = budget.filter(is_own) {
        for key in ["maxUnavailable", "minAvailable"] {
            if let Some(value) = budget.get("/spec").get(key) {
                let item = Item::single(key, json_item(value));
                keys.push("disruptionBudget", item);
            }
        }
    }
}

fn autoscaling(scaler: &Object) -> Item {
    let mut entries = Entries::default();
    add_numbers(
        &scaler.body,
        &mut entries,
        &[("min", "/spec/minReplicas"), ("max", "/spec/maxReplicas")],
    );
    for metric in scaler.items("/spec/metrics") {
        if let Some(percent) = number(metric, "/resource/target/averageUtilization") {
            entries.push("cpuPercent", Item::number(percent));
        }
        if let Some(name) = text(metric, "/pods/metric/name") {
            let average = metric.pointer("/pods/target/averageValue");
            let average = average.map_or_else(|| Item::text(""), json_item);
            let metric = Item::map([("name", Item::text(name)), ("average", average)]);
            entries.push("metric", metric);
        }
    }
    entries.into_item()
}

/// Adds the Service of this name, and the probes of the container.
fn add_service(
    cx: &Context<'_>,
    (namespace, name): (&str, &str),
    container: &Value,
    keys: &mut Entries,
) {
    let service = cx.state.object(Kind::Service, namespace, name);
    if let Some(service) =
        service.filter(|it| it.metadata.label(gpuc_model::WORKLOAD_LABEL).is_some())
    {
        let port = number(&service.body, "/spec/ports/0/port");
        let own = number(container, "/ports/0/containerPort");
        let mut entries = Entries::default();
        entries.push_some("port", port.map(Item::number));
        entries.push_some(
            "containerPort",
            own.filter(|it| Some(*it) != port).map(Item::number),
        );
        let kind = text(&service.body, "/spec/type").filter(|kind| *kind != "ClusterIP");
        entries.push_some("type", kind.map(Item::text));
        keys.push("service", entries.into_item());
    }
    let mut probes = Entries::default();
    for (key, field) in [
        ("startup", "startupProbe"),
        ("readiness", "readinessProbe"),
        ("liveness", "livenessProbe"),
    ] {
        probes.push_some(key, container.get(field).map(probe));
    }
    keys.push_some("probes", probes.into_some());
}

fn probe(probe: &Value) -> Item {
    let mut entries = Entries::default();
    for pointer in ["/httpGet/port", "/tcpSocket/port"] {
        entries.push_some("port", number(probe, pointer).map(Item::number));
    }
    let path = text(probe, "/httpGet/path");
    entries.push_some("path", path.map(Item::text));
    let command = texts(probe, "/exec/command");
    entries.push_list("exec", command.into_iter().map(Item::text).collect());
    // The API server sets the defaults.
    for (key, pointer, default) in [
        ("periodSeconds", "/periodSeconds", 10),
        ("timeoutSeconds", "/timeoutSeconds", 1),
        ("failures", "/failureThreshold", 3),
    ] {
        let count = number(probe, pointer).filter(|count| *count != default);
        entries.push_some(key, count.map(Item::number));
    }
    entries.into_item()
}

fn pytorch_job(_: &Context<'_>, object: &Object, keys: &mut Entries) {
    keys.push("operator", Item::text("existing"));
    let workers = number(&object.body, "/spec/pytorchReplicaSpecs/Worker/replicas");
    keys.push("nodes", Item::number(workers.unwrap_or(0) + 1));
    let numbers = [
        ("retries", "/spec/runPolicy/backoffLimit"),
        ("deadlineSeconds", "/spec/runPolicy/activeDeadlineSeconds"),
    ];
    add_numbers(&object.body, keys, &numbers);
}

fn job_set(_: &Context<'_>, object: &Object, keys: &mut Entries) {
    let numbers = [
        ("nodes", "/spec/replicatedJobs/0/template/spec/parallelism"),
        ("ttlSeconds", "/spec/ttlSecondsAfterFinished"),
    ];
    add_numbers(&object.body, keys, &numbers);
    let restarts = number(&object.body, "/spec/failurePolicy/maxRestarts");
    keys.push_some("restarts", restarts.filter(|it| *it != 0).map(Item::number));
}

fn leader_worker_set(cx: &Context<'_>, object: &Object, keys: &mut Entries) {
    let template = object.get("/spec/leaderWorkerTemplate");
    add_numbers(template, keys, &[("nodes", "/size")]);
    let replicas = number(&object.body, "/spec/replicas").filter(|count| *count != 1);
    keys.push_some("replicas", replicas.map(Item::number));
    let leader = PodTemplate::new(template, "/leaderTemplate/spec");
    let worker = PodTemplate::new(template, "/workerTemplate/spec");
    if let (Some(leader), Some(worker)) = (leader, worker) {
        let mut own = Entries::default();
        for key in ["command", "args"] {
            let list = program(leader.container, key);
            own.push_list(key, list.into_iter().map(Item::text).collect());
        }
        let differs = ["command", "args"].iter().any(|key| {
            items(leader.container, &format!("/{key}"))
                != items(worker.container, &format!("/{key}"))
        });
        if differs {
            keys.push("leader", own.into_item());
        }
        let name = format!("{}-leader", object.metadata.name);
        let owner = (object.metadata.namespace.as_str(), name.as_str());
        add_service(cx, owner, leader.container, keys);
    }
}

fn train_job(_: &Context<'_>, object: &Object, keys: &mut Entries) {
    let numbers = [
        ("nodes", "/spec/trainer/numNodes"),
        ("deadlineSeconds", "/spec/activeDeadlineSeconds"),
    ];
    add_numbers(&object.body, keys, &numbers);
}
