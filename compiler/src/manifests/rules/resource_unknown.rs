//! A manifest asks for GPUs by a name that no pool offers.

use crate::diag::{Code, Edit, Report, Severity, words};
use crate::manifests::resources::{ALPHA, MISNAMED, is_gpu, is_unknown, offered};
use crate::manifests::{Container, Rule, Scene, edit};
use crate::model::POOL_LABEL;
use crate::node::Entry;

/// A manifest asks for GPUs by a name that no pool offers.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4001",
        name: "manifest-resource-unknown",
        severity: Severity::Error,
        summary: "a manifest asks for GPUs by a name that no pool offers",
        explain: "### What it checks

Whether each GPU resource in a pod's resources, and each that a ResourceQuota counts, is one that a
pool of the cluster offers.

### Why it matters

A pod that asks for a resource that no node offers waits for ever: `Insufficient
nvidia.com/gpu.type`. What a GPU is called follows from how its pool shares it: `nvidia.com/gpu`,
`nvidia.com/gpu.shared`, `nvidia.com/mig-1g.5gb`. A card is no resource; nodes have it as a label.

### What to do

Ask for what the help names, and choose the card by the pool's label in `nodeSelector`. `gpuc check
--fix` mends spellings. It makes no shares or slices of whole GPUs, nor the reverse: so many of the
one are not as many of the other.
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
      resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 1}}
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
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for container in &pod.containers {
            for entry in container
                .asks()
                .filter(|entry| is_unknown(scene.cluster, &entry.key))
            {
                let title = format!("{} asks for `{}`", pod.title(), entry.key);
                say(
                    scene,
                    &title,
                    entry,
                    &everywhere(container, &entry.key),
                    report,
                );
            }
        }
    }
    for (object, entry) in scene.quotas() {
        let Some(resource) = entry.key.strip_prefix(COUNTED) else {
            continue;
        };
        if is_unknown(scene.cluster, resource) {
            let title = format!("{} counts `{resource}`", object.title());
            let lists = object.root.get("spec").and_then(|spec| spec.get("hard"));
            let meant = spelling(scene, resource).map(|name| format!("{COUNTED}{name}"));
            // Two keys of one name are none.
            let is_free = meant.is_none_or(|name| lists.is_none_or(|it| it.get(&name).is_none()));
            let keys = [entry];
            let keys = if is_free { &keys[..] } else { &[] };
            say(scene, &title, entry, keys, report);
        }
    }
}

/// What a quota writes before what it counts.
const COUNTED: &str = "requests.";

/// The name that is meant by another spelling of it, where no pool offers that one.
pub(super) fn spelling<'s>(scene: &Scene<'s>, name: &str) -> Option<&'s str> {
    let gpus = offered(scene.cluster).into_iter();
    let gpus: Vec<_> = gpus.filter(|name| is_gpu(name)).collect();
    let meant = meant(name, &gpus).filter(|meant| is_spelling(name, meant));
    meant.filter(|_| is_unknown(scene.cluster, name))
}

/// The keys of a resource in a container's lists.
fn everywhere<'n>(container: &Container<'n>, name: &str) -> Vec<&'n Entry> {
    let lists = ["limits", "requests"].map(|list| container.list(list));
    let entries = lists.into_iter().flatten();
    entries.filter(|entry| entry.key == name).collect()
}

fn say(scene: &Scene<'_>, title: &str, entry: &Entry, keys: &[&Entry], report: &mut Report) {
    let message = format!("{title}, which no pool offers");
    let gpus: Vec<_> = offered(scene.cluster)
        .into_iter()
        .filter(|name| is_gpu(name))
        .collect();
    let draft = report.draft(&RULE.code, entry.key_span, message);
    let draft = draft.here("no node has it");
    let draft = match scene.cluster.gpu_pools().next() {
        Some((pool, _)) => match pool.offers.get().and_then(|offers| offers.first()) {
            Some(offer) => {
                let text = format!("pool `{}` offers `{}`", pool.name, offer.resource);
                draft.label(pool.name.span, text)
            }
            None => draft.label(pool.name.span, format!("pool `{}` has GPUs", pool.name)),
        },
        None => draft,
    };
    let draft = draft.help(help(scene, &entry.key, &gpus));
    let (prefix, name) = split(&entry.key);
    let meant = spelling(scene, name).map(|name| format!("{prefix}{name}"));
    let edits = meant.and_then(|name| rename(scene, keys, &name));
    match edits {
        Some(edits) => draft.fix(edits).emit(),
        None => draft.emit(),
    };
}

/// What a quota writes before a name, and the name.
fn split(key: &str) -> (&str, &str) {
    match key.strip_prefix(COUNTED) {
        Some(name) => (COUNTED, name),
        None => ("", key),
    }
}

/// What to write instead.
fn help(scene: &Scene<'_>, name: &str, gpus: &[&str]) -> String {
    let (prefix, name) = split(name);
    let classes = scene.cluster.pools_claimed().flat_map(|pool| &pool.classes);
    let classes: Vec<_> = classes.map(|class| class.name.as_str()).collect();
    let Some(first) = gpus.first() else {
        return match classes.as_slice() {
            [] => "the cluster has no pool with GPUs; give it one".to_owned(),
            classes => format!(
                "make a claim: the DeviceClasses of the cluster are {}",
                words::all(classes, "and")
            ),
        };
    };
    if let Some(meant) = meant(name, gpus) {
        return format!("write `{prefix}{meant}`");
    }
    if let Some(near) = nearly(name, gpus) {
        return format!("did you mean `{prefix}{near}`?");
    }
    if is_share(name) {
        return match gpus.iter().find(|name| name.ends_with(SHARED)) {
            Some(shared) => format!("write `{prefix}{shared}`"),
            None => format!(
                "no pool offers shares by a name of their own: ask for {}",
                words::all(gpus, "or")
            ),
        };
    }
    if is_label(name) {
        return format!(
            "ask for `{first}`, and choose the card by `nodeSelector: {{{POOL_LABEL}: …}}`: the name is a label's"
        );
    }
    format!("the pools offer {}", words::all(gpus, "and"))
}

/// The name that is so but for a letter or two. Another number is another slice.
fn nearly<'g>(name: &str, gpus: &[&'g str]) -> Option<&'g str> {
    const OWN: &str = "nvidia.com/";
    let digits = |text: &str| {
        let digits = text.chars().filter(char::is_ascii_digit);
        digits.collect::<String>()
    };
    let own = name.strip_prefix(OWN)?;
    let all = gpus.iter().filter(|it| digits(it) == digits(name));
    let near = words::nearest(own, all.filter_map(|it| it.strip_prefix(OWN)))?;
    gpus.iter()
        .find(|it| it.strip_prefix(OWN) == Some(near))
        .copied()
}

/// What GPU Feature Discovery calls labels of nodes, and people take for resources.
///
/// Source: NVIDIA/k8s-device-plugin@v0.20.0 docs/gpu-feature-discovery/README.md.
fn is_label(name: &str) -> bool {
    let own = name.strip_prefix("nvidia.com/gpu.");
    own.is_some_and(|own| own != "shared")
}

/// What shares are called where they have a name of their own.
const SHARED: &str = ".shared";

/// What people call a share of a GPU.
fn is_share(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "gpu.share",
        "gpu.shares",
        "gpu.shared",
        "gpu-share",
        "gpu-shared",
        "gpushare",
        "shared-gpu",
        "sharedgpu",
        "gpu_shared",
    ];
    let own = name
        .strip_prefix("nvidia.com/")
        .map(str::to_ascii_lowercase);
    own.is_some_and(|own| WORDS.contains(&own.as_str()))
}

/// The one name that can be meant: another spelling of it, or the only one there is of whole GPUs and shares.
fn meant<'g>(name: &str, gpus: &[&'g str]) -> Option<&'g str> {
    let same = gpus.iter().find(|gpu| gpu.eq_ignore_ascii_case(name));
    if let Some(same) = same {
        return Some(same);
    }
    let mut shared = gpus.iter().filter(|gpu| gpu.ends_with(SHARED));
    if let Some(shared) = shared.next().filter(|_| is_share(name)) {
        return Some(shared);
    }
    let is_plain = is_whole(name) || ["nvidia.com/gpu", "nvidia.com/gpu.shared"].contains(&name);
    match gpus {
        [only] if is_plain && !only.contains("/mig-") => Some(only),
        _ if is_whole(name) => gpus.iter().find(|gpu| **gpu == "nvidia.com/gpu").copied(),
        _ => None,
    }
}

/// Whether somebody who writes so means whole GPUs.
fn is_whole(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [ALPHA, "nvidia.com/gpus"].contains(&name) || MISNAMED.contains(&lower.as_str())
}

/// Whether one name is another spelling of the other, so that an amount of the one is the same of the other.
fn is_spelling(name: &str, meant: &str) -> bool {
    let is_whole = is_whole(name) && meant == "nvidia.com/gpu";
    let is_shared = is_share(name) && meant.ends_with(SHARED);
    is_whole || is_shared || name.eq_ignore_ascii_case(meant)
}

/// Another name for the resource wherever the container has it; nothing where it asks for that one too.
fn rename(scene: &Scene<'_>, keys: &[&Entry], name: &str) -> Option<Vec<Edit>> {
    let edits = keys
        .iter()
        .map(|entry| edit::key(scene.sources, entry, name));
    edits
        .collect::<Option<Vec<_>>>()
        .filter(|edits| !edits.is_empty())
}
