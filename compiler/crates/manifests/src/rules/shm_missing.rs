//! A container with several GPUs has little shared memory.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Code, Correction, Edit, Report, Severity};
use gpuc_syntax::node::Node;
use serde_json::{Value as Json, json};

use crate::resources::{ResourceCount, parse_count};
use crate::scheduling::UnschedulableCause;
use crate::{CheckContext, Container, Pod, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4013",
        name: "manifest-shm-missing",
        severity: Severity::Warning,
        summary: "a container with several GPUs has little shared memory",
        checks: "Whether a container that requests two or more GPUs has a memory-backed volume at `/dev/shm`. Containers that
only run `nvidia-smi` are not checked.",
        reason: "Programs on several GPUs pass data through shared memory: NCCL, and the data loaders of PyTorch. A container
has 64 MiB by default, and the programs fail with `Bus error` or `No space left on device`.",
        remedy: "Mount an `emptyDir` with `medium: Memory` at `/dev/shm`; `gpuc check --fix --unsafe-fixes` does so. The files in
it count towards the container's memory.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 2}}
"#,
        correction: Correction::Replace("2}}
", "2}}
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
"),
    },
    run,
};

/// The directory for shared memory.
const SHM_PATH: &str = "/dev/shm";

/// More GPUs than any node has. A larger quantity is a typo.
const MANY: u64 = 1000;

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let pods = ctx.pods.iter().enumerate();
    // Requests for several parts of a GPU are reported by `multiple_replicas`.
    let several_replicas = ctx.unschedulable.iter();
    let several_replicas =
        several_replicas.filter(|it| matches!(it.cause, UnschedulableCause::SeveralReplicas(_)));
    let several_replicas: BTreeSet<_> = several_replicas.map(|it| it.pod).collect();
    for (index, pod) in pods.filter(|(_, pod)| !pod.is_partial && !uses_host_ipc(pod)) {
        if several_replicas.contains(&index) {
            continue;
        }
        for container in pod.containers.iter().filter(|it| !it.is_init) {
            let Some(gpus) = container.gpu_request() else {
                continue;
            };
            let is_whole = gpus.key == "nvidia.com/gpu";
            let ResourceCount::Whole(count @ 2..=MANY) = parse_count(&gpus.value) else {
                continue;
            };
            let mut requests = container.resource_list("requests").iter();
            let requested = requests.find(|it| it.key == gpus.key);
            // A request that differs from the limit is reported by `requests_differ`.
            let is_open =
                requested.is_some_and(|it| parse_count(&it.value) != ResourceCount::Whole(count));
            if !is_whole || is_open || only_runs_nvidia_smi(container) {
                continue;
            }
            match shm_volume(pod, container) {
                ShmVolume::Missing => {}
                ShmVolume::OnDisk(empty) => {
                    report_on_disk(ctx, container, empty, report);
                    continue;
                }
                ShmVolume::Other => continue,
            }
            let message = format!(
                "container `{}` has {count} GPUs and no volume at `{SHM_PATH}`",
                container.name()
            );
            let builder = report.diagnostic(&RULE.code, gpus.value.span(), message);
            let builder = builder.primary_label("programs on several GPUs need shared memory");
            let advertising = ctx.pools_advertising(&gpus.key);
            let builder = match advertising.first() {
                Some(pool) => builder.label(pool.name.span, "the GPUs of this pool"),
                None => builder,
            };
            let builder = builder.help(format!(
                "mount a volume `emptyDir: {{medium: Memory}}` at `{SHM_PATH}`"
            ));
            match mount_shm_edits(ctx, pod, container) {
                Some(edits) => builder.suggest(edits).emit(),
                None => builder.emit(),
            };
        }
    }
}

/// Whether the container only runs `nvidia-smi`.
fn only_runs_nvidia_smi(container: &Container<'_>) -> bool {
    let command = container.node.get("command").map(Node::items);
    let program = command.and_then(|words| words.first()?.text());
    program.is_some_and(|program| program.rsplit('/').next() == Some("nvidia-smi"))
}

/// Whether the pod uses the shared memory of the host.
fn uses_host_ipc(pod: &Pod<'_>) -> bool {
    pod.spec.get("hostIPC").and_then(Node::text) == Some("true")
}

/// The volume at a container's `/dev/shm`.
enum ShmVolume<'n> {
    /// No volume.
    Missing,
    /// An `emptyDir` on the disk of the node.
    OnDisk(&'n Node),
    /// Any other volume.
    Other,
}

fn shm_volume<'n>(pod: &Pod<'n>, container: &Container<'n>) -> ShmVolume<'n> {
    let list = |node: &'n Node, key: &str| node.get(key).map_or(&[][..], Node::items).iter();
    let path = |mount: &&Node| {
        let path = mount.get("mountPath").and_then(Node::text);
        path.is_some_and(|path| path.trim_end_matches('/') == SHM_PATH)
    };
    let Some(mount) = list(container.node, "volumeMounts").find(path) else {
        return ShmVolume::Missing;
    };
    let name = mount.get("name").and_then(Node::text);
    let mut volumes = list(pod.spec, "volumes");
    let volume = volumes.find(|it| it.get("name").and_then(Node::text) == name);
    let empty = volume.and_then(|it| it.get("emptyDir"));
    let in_memory = |empty: &&Node| empty.get("medium").and_then(Node::text) == Some("Memory");
    match empty {
        Some(empty) if !in_memory(&empty) => ShmVolume::OnDisk(empty),
        _ => ShmVolume::Other,
    }
}

/// Reports a volume on the disk of the node.
fn report_on_disk(
    ctx: &CheckContext<'_>,
    container: &Container<'_>,
    empty: &Node,
    report: &mut Report,
) {
    let name = container.name();
    let message = format!("the volume at `{SHM_PATH}` of container `{name}` is on the node's disk");
    let builder = report.diagnostic(&RULE.code, empty.span(), message);
    let builder = builder.help("write `emptyDir: {medium: Memory}`");
    let edit = match empty.get("medium") {
        Some(medium) => text_edit::replace_value(ctx.sources, medium, "Memory"),
        None => text_edit::append_entry(ctx.sources, empty, "medium", &json!("Memory")),
    };
    match edit {
        Some(edit) => builder.suggest(vec![edit]).emit(),
        None => builder.emit(),
    };
}

/// Adds a memory-backed volume, unless the pod has one, and mounts it.
fn mount_shm_edits(
    ctx: &CheckContext<'_>,
    pod: &Pod<'_>,
    container: &Container<'_>,
) -> Option<Vec<Edit>> {
    let volumes = pod.spec.get("volumes").map_or(&[][..], Node::items);
    let name = |volume: &Node| volume.get("name").and_then(Node::text).map(str::to_owned);
    // A volume that is mounted elsewhere contains other files, and may be small.
    let mounts = pod.containers.iter();
    let mounts = mounts
        .filter_map(|it| it.node.get("volumeMounts"))
        .flat_map(Node::items);
    let elsewhere: Vec<_> = mounts
        .filter(|mount| mount.get("mountPath").and_then(Node::text) != Some(SHM_PATH))
        .filter_map(|mount| mount.get("name").and_then(Node::text))
        .collect();
    let is_memory = |volume: &&Node| {
        let empty = volume.get("emptyDir").and_then(|it| it.get("medium"));
        let name = volume.get("name").and_then(Node::text);
        empty.and_then(Node::text) == Some("Memory")
            && name.is_some_and(|name| !elsewhere.contains(&name))
    };
    let existing = volumes.iter().find(is_memory).and_then(name);
    let names: Vec<_> = volumes.iter().filter_map(name).collect();
    let candidates = ["shm", "dshm", "shared-memory"].map(str::to_owned);
    let volume = match &existing {
        Some(name) => name.clone(),
        None => candidates.into_iter().find(|name| !names.contains(name))?,
    };
    let mount = json!({"name": volume, "mountPath": SHM_PATH});
    let mut edits = vec![append_edit(ctx, container.node, "volumeMounts", mount)?];
    if existing.is_none() {
        let volume = json!({"name": volume, "emptyDir": {"medium": "Memory"}});
        edits.push(append_edit(ctx, pod.spec, "volumes", volume)?);
    }
    // If the container is the last part of the pod, both edits have the same span: the inner one comes first.
    if let [mount, volume] = edits.as_slice()
        && mount.span == volume.span
    {
        let text = format!("{}{}", mount.text, volume.text);
        return Some(vec![Edit {
            text,
            span: mount.span,
        }]);
    }
    Some(edits)
}

/// Adds an item to a list that may not exist yet.
fn append_edit(ctx: &CheckContext<'_>, parent: &Node, list: &str, item: Json) -> Option<Edit> {
    match parent.get(list) {
        Some(items) => text_edit::append_item(ctx.sources, items, &item),
        None => text_edit::append_entry(ctx.sources, parent, list, &Json::from(vec![item])),
    }
}
