//! A container with several GPUs has little shared memory.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::diag::{Code, Edit, Report, Severity};
use crate::manifests::place::Cause;
use crate::manifests::resources::{Amount, amount};
use crate::manifests::{Container, Pod, Rule, Scene, edit};
use crate::node::Node;

/// A container with several GPUs has little shared memory.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4013",
        name: "manifest-shm-missing",
        severity: Severity::Warning,
        summary: "a container with several GPUs has little shared memory",
        explain: "### What it checks

Whether a container that asks for two or more GPUs has a volume in memory at `/dev/shm`. One that only
looks at its GPUs, by `nvidia-smi`, needs none.

### Why it matters

Programs on several GPUs pass data through shared memory: NCCL, and the data loaders of PyTorch. A
container has 64 MiB of it, and they die of `Bus error` or `No space left on device`.

### What to do

Mount an `emptyDir` with `medium: Memory` at `/dev/shm`; `gpuc check --fix` does. What is written
there counts as the container's memory.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
"#,
    },
    run,
};

/// Where shared memory is.
const SHM: &str = "/dev/shm";

/// More than any node has: such an amount is a slip of the pen.
const MANY: u64 = 1000;

fn run(scene: &Scene<'_>, report: &mut Report) {
    let pods = scene.pods.iter().enumerate();
    // Parts of a GPU do not talk to each other, and asking for several is a finding of its own.
    let shares = scene.unplaced.iter();
    let shares = shares.filter(|it| matches!(it.cause, Cause::Shares(_)));
    let shares: BTreeSet<_> = shares.map(|it| it.pod).collect();
    for (index, pod) in pods.filter(|(_, pod)| !pod.is_open && !shares_the_hosts(pod)) {
        if shares.contains(&index) {
            continue;
        }
        for container in pod.containers.iter().filter(|it| !it.is_init) {
            let Some(gpus) = container.gpus() else {
                continue;
            };
            let is_whole = gpus.key == "nvidia.com/gpu";
            let Amount::Whole(count @ 2..=MANY) = amount(&gpus.value) else {
                continue;
            };
            let mut requests = container.list("requests").iter();
            let requested = requests.find(|it| it.key == gpus.key);
            // Which of the two is meant is to be said first.
            let is_open = requested.is_some_and(|it| amount(&it.value) != Amount::Whole(count));
            if !is_whole || is_open || only_looks(container) {
                continue;
            }
            match mounted(pod, container) {
                Mounted::Nothing => {}
                Mounted::OnDisk(empty) => {
                    say_on_disk(scene, container, empty, report);
                    continue;
                }
                Mounted::Something => continue,
            }
            let message = format!(
                "container `{}` has {count} GPUs and no volume at `{SHM}`",
                container.name()
            );
            let draft = report.draft(&RULE.code, gpus.value.span(), message);
            let draft = draft.here("programs on several GPUs share memory");
            let offering = scene.offering(&gpus.key);
            let draft = match offering.first() {
                Some(pool) => draft.label(pool.name.span, "the GPUs are of this pool"),
                None => draft,
            };
            let draft = draft.help(format!(
                "mount a volume `emptyDir: {{medium: Memory}}` at `{SHM}`"
            ));
            match mended(scene, pod, container) {
                Some(edits) => draft.fix(edits).emit(),
                None => draft.emit(),
            };
        }
    }
}

/// Whether it only asks what GPUs it has.
fn only_looks(container: &Container<'_>) -> bool {
    let command = container.node.get("command").map(Node::items);
    let program = command.and_then(|words| words.first()?.text());
    program.is_some_and(|program| program.rsplit('/').next() == Some("nvidia-smi"))
}

/// Whether its shared memory is the host's.
fn shares_the_hosts(pod: &Pod<'_>) -> bool {
    pod.spec.get("hostIPC").and_then(Node::text) == Some("true")
}

/// What is mounted at a container's shared memory.
enum Mounted<'n> {
    /// Nothing.
    Nothing,
    /// A volume of the pod's that is on the node's disk, an `emptyDir`.
    OnDisk(&'n Node),
    /// Something else; what it is, whoever wrote it knows.
    Something,
}

fn mounted<'n>(pod: &Pod<'n>, container: &Container<'n>) -> Mounted<'n> {
    let list = |node: &'n Node, key: &str| node.get(key).map_or(&[][..], Node::items).iter();
    let path = |mount: &&Node| {
        let path = mount.get("mountPath").and_then(Node::text);
        path.is_some_and(|path| path.trim_end_matches('/') == SHM)
    };
    let Some(mount) = list(container.node, "volumeMounts").find(path) else {
        return Mounted::Nothing;
    };
    let name = mount.get("name").and_then(Node::text);
    let mut volumes = list(pod.spec, "volumes");
    let volume = volumes.find(|it| it.get("name").and_then(Node::text) == name);
    let empty = volume.and_then(|it| it.get("emptyDir"));
    let in_memory = |empty: &&Node| empty.get("medium").and_then(Node::text) == Some("Memory");
    match empty {
        Some(empty) if !in_memory(&empty) => Mounted::OnDisk(empty),
        _ => Mounted::Something,
    }
}

/// Says that what is mounted is a folder on the disk.
fn say_on_disk(scene: &Scene<'_>, container: &Container<'_>, empty: &Node, report: &mut Report) {
    let name = container.name();
    let message = format!("the volume at `{SHM}` of container `{name}` is on the node's disk");
    let draft = report.draft(&RULE.code, empty.span(), message);
    let draft = draft.help("write `emptyDir: {medium: Memory}`");
    let edit = match empty.get("medium") {
        Some(medium) => edit::value(scene.sources, medium, "Memory"),
        None => edit::entry(scene.sources, empty, "medium", &json!("Memory")),
    };
    match edit {
        Some(edit) => draft.fix(vec![edit]).emit(),
        None => draft.emit(),
    };
}

/// A volume in memory, unless the pod has one that it may mount, and where the container mounts it.
fn mended(scene: &Scene<'_>, pod: &Pod<'_>, container: &Container<'_>) -> Option<Vec<Edit>> {
    let volumes = pod.spec.get("volumes").map_or(&[][..], Node::items);
    let name = |volume: &Node| volume.get("name").and_then(Node::text).map(str::to_owned);
    let is_memory = |volume: &&Node| {
        let empty = volume.get("emptyDir").and_then(|it| it.get("medium"));
        empty.and_then(Node::text) == Some("Memory")
    };
    let there = volumes.iter().find(is_memory).and_then(name);
    let taken: Vec<_> = volumes.iter().filter_map(name).collect();
    let free = ["shm", "dshm", "shared-memory"].map(str::to_owned);
    let volume = match &there {
        Some(name) => name.clone(),
        None => free.into_iter().find(|name| !taken.contains(name))?,
    };
    let mount = json!({"name": volume, "mountPath": SHM});
    let mut edits = vec![added(scene, container.node, "volumeMounts", mount)?];
    if there.is_none() {
        let volume = json!({"name": volume, "emptyDir": {"medium": "Memory"}});
        edits.push(added(scene, pod.spec, "volumes", volume)?);
    }
    // Where the container is the last part of the pod, both stand at one place: the inner one first.
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

/// An item of a list that may not be there.
fn added(scene: &Scene<'_>, holder: &Node, list: &str, item: Json) -> Option<Edit> {
    match holder.get(list) {
        Some(items) => edit::item(scene.sources, items, &item),
        None => edit::entry(scene.sources, holder, list, &Json::from(vec![item])),
    }
}
