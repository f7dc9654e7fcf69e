//! A pod chooses nodes that no pool has.

use crate::api_server::{self, Extent, Refused, Step};
use crate::diag::{Code, Edit, Report, Severity, words};
use crate::manifests::place::{Cause, against};
use crate::manifests::{Container, Rule, Scene};
use crate::model::{POOL_LABEL, Pool};
use crate::placement::{Operator, Reason, Verdict, Why};

/// A pod chooses nodes that no pool has.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4006",
        name: "manifest-selector-matches-nothing",
        severity: Severity::Error,
        summary: "a pod chooses nodes that no pool has",
        explain: "### What it checks

Whether some pool's nodes have the labels that `nodeSelector` and the required node affinity of a
pod ask for: those that the file and gpuc give them, those of GPUs, and those that the cloud itself
sets, such as the machine type, the card and the node group. A label that somebody may have put on
nodes by hand is taken for there.

### Why it matters

The pod waits for ever: `node(s) didn't match Pod's node affinity/selector`.

### What to do

Choose a pool by its name, `gpuc.dev/pool`, or write a value that the nodes have; the help lists
them.
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
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {gpuc.dev/pool: gpus}
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
  nodeSelector: {gpuc.dev/pool: gpu}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for unplaced in scene
        .unplaced
        .iter()
        .filter(|it| it.cause == Cause::Selector)
    {
        let pod = &scene.pods[unplaced.pod];
        // What Kubernetes cannot read chooses nothing: that is the finding.
        let of_affinity = |found: &Refused| found.path.first() == Some(&Step::from("affinity"));
        let refused = api_server::look_at_pod(pod.nodes(), Extent::Part);
        if refused.iter().any(of_affinity) {
            continue;
        }
        let Some(nearest) = unplaced.nearest() else {
            continue;
        };
        let Some(reason) = against(nearest).find(is_label) else {
            continue;
        };
        let message = format!("{} chooses nodes that no pool has", pod.title());
        let span = if reason.asked.is_written() {
            reason.asked
        } else {
            unplaced.span(&scene.pods)
        };
        let mut draft = report.draft(&RULE.code, span, message);
        for verdict in &unplaced.verdicts {
            if let Some(reason) = against(verdict).find(is_label) {
                let text = format!("pool `{}` {reason}", verdict.pool.name);
                draft = draft.label(verdict.pool.name.span, text);
            }
        }
        let with = match pod.containers.iter().find_map(Container::gpus) {
            Some(gpus) => scene.offering(&gpus.key),
            None => scene.cluster.pools.iter().collect(),
        };
        let there = there(&reason.why, &unplaced.verdicts, &with);
        let names: Vec<_> = with.iter().filter(|pool| !pool.is_existing()).collect();
        let names: Vec<_> = names.iter().map(|pool| pool.name.as_str()).collect();
        let by_model = by_model(&reason.why, scene);
        let named = by_model.map(|pool| pool.name.as_str());
        let meant = meant(&reason.why, &names, &there).or(named);
        let edit = meant.and_then(|name| edit(scene, reason, name));
        let draft = match by_model.filter(|pool| meant == Some(pool.name.as_str())) {
            Some(pool) => draft.help(format!(
                "write `{POOL_LABEL}: {}`, the pool with this GPU",
                pool.name
            )),
            None => draft.help(help(&reason.why, meant, &there, &names)),
        };
        match edit {
            Some(edit) => draft.fix(vec![edit]).emit(),
            None => draft.emit(),
        };
    }
}

fn is_label(reason: &&Reason) -> bool {
    matches!(
        reason.why,
        Why::Label { .. } | Why::NoTerm { .. } | Why::NodeField
    )
}

/// What the label that is asked for says on the nodes of the pools that have what else the pod asks for.
fn there(why: &Why, verdicts: &[Verdict<'_>], with: &[&Pool]) -> Vec<String> {
    let Why::Label { asked, .. } = why else {
        return Vec::new();
    };
    let has = |reason: &Reason| match &reason.why {
        Why::Label { asked: other, has } if other.key == asked.key => has.clone(),
        _ => None,
    };
    let is_one = |verdict: &&Verdict<'_>| with.iter().any(|it| it.index == verdict.pool.index);
    let reasons = verdicts.iter().filter(is_one).flat_map(against);
    let mut values: Vec<_> = reasons.filter_map(has).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The one pool whose GPU is written in place of its name.
fn by_model<'s>(why: &Why, scene: &Scene<'s>) -> Option<&'s Pool> {
    let Why::Label { asked, .. } = why else {
        return None;
    };
    let [value] = asked.values.as_slice() else {
        return None;
    };
    let plain = |name: &str| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.collect::<String>().to_ascii_lowercase()
    };
    let value = plain(value.to_ascii_lowercase().trim_start_matches("nvidia-"));
    let is_it = |name: &&str| plain(name) == value;
    let mut with = scene.cluster.gpu_pools().filter(|(pool, gpus)| {
        let model = gpus.model;
        // `A100` is what comes before the first hyphen of `a100-sxm4-80gb`.
        let family = model.key.split('-').next().unwrap_or_default();
        let mut names = model.aliases.iter().copied().chain([model.key, family]);
        !pool.is_existing() && names.any(|name| is_it(&name))
    });
    let (only, _) = with.next()?;
    let is_name = asked.key == POOL_LABEL && asked.operator == Operator::In;
    (is_name && with.next().is_none()).then_some(only)
}

/// The one value that is meant: a pool's name that was misspelt, or the same in other letters. A card or a machine
/// that is called much like another one is another one.
fn meant<'n>(why: &Why, names: &[&'n str], there: &'n [String]) -> Option<&'n str> {
    let Why::Label { asked, .. } = why else {
        return None;
    };
    let [value] = asked.values.as_slice() else {
        return None;
    };
    if asked.operator != Operator::In {
        return None;
    }
    let mut alike = there.iter().filter(|it| it.eq_ignore_ascii_case(value));
    let are_pools = !there.is_empty() && there.iter().all(|it| names.contains(&it.as_str()));
    let near = || words::nearest(value, names.iter().copied());
    let alike = alike.next().map(String::as_str);
    alike.or_else(|| near().filter(|_| asked.key == POOL_LABEL || are_pools))
}

fn help(why: &Why, meant: Option<&str>, there: &[String], names: &[&str]) -> String {
    let key = match why {
        Why::Label { asked, .. } => asked.key.as_str(),
        _ => POOL_LABEL,
    };
    let choose = match names {
        [] => "write a label that the nodes have".to_owned(),
        names => format!("choose by `{POOL_LABEL}`: {}", words::all(names, "or")),
    };
    match (meant, there) {
        (Some(meant), _) if key != POOL_LABEL => format!("write `{key}: {meant}`"),
        (_, []) => choose,
        _ if key == POOL_LABEL => choose,
        (_, values) => format!(
            "their nodes have `{key}`: {}; {choose}",
            words::all(values, "or")
        ),
    }
}

/// The value in place of what was asked for, where that is one word of text.
fn edit(scene: &Scene<'_>, reason: &Reason, value: &str) -> Option<Edit> {
    let text = scene.sources.text(reason.asked);
    let is_plain = !text.contains(['"', '\'', '*', '&', ' ', '\n', '{', '[']);
    let is_it = is_plain && reason.asked.is_written() && text.len() < 64;
    is_it.then(|| Edit {
        span: reason.asked,
        text: value.to_owned(),
    })
}
