//! An object asks for more than a `ResourceQuota` beside it lets in.

use super::quota_exceeded::{Kind, copies};
use super::range_refuses::words;
use crate::diag::{Code, Draft, Report, Severity};
use crate::manifests::limits::{Filled, Ranges, Said, holding};
use crate::manifests::read::Object;
use crate::manifests::{Pod, Rule, Scene, jobs, volumes};
use crate::node::{Entry, Node};
use crate::placement::{What, thousandths_of};
use crate::source::Span;

/// An object asks for more than a `ResourceQuota` beside it lets in.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4086",
        name: "manifest-resource-quota-exceeded",
        severity: Severity::Error,
        summary: "an object asks for more than a ResourceQuota among the manifests lets in",
        explain: "### What it checks

Whether the pods that an object makes at once ask for no more than each ResourceQuota of their namespace
that stands among the manifests has, and are no more than its `pods`; each PersistentVolumeClaim for no more
than its `requests.storage`. What a container does not say counts as the LimitRanges of the namespace give
it. Of a Job, whose pods may come one after the other, one pod counts; that it does not have all of them
is `manifest-job-over-quota`. Quotas with scopes, those that a kustomization changes and those that stand
in several files are left out.

### Why it matters

The API server refuses the pods that are too many, whatever the quota of the team in `gpu-cluster.yaml`
is: of all quotas of a namespace the lowest counts.

### What to do

Ask for less, or raise the quota.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: v1
kind: ResourceQuota
metadata: {name: small, namespace: web}
spec:
  hard: {requests.cpu: 2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: page, namespace: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: page}}
  template:
    metadata: {labels: {app: page}}
    spec:
      containers:
        - name: page
          image: registry.example.com/page:1.0.0
          resources: {limits: {cpu: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: v1
kind: ResourceQuota
metadata: {name: small, namespace: web}
spec:
  hard: {requests.cpu: 3}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: page, namespace: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: page}}
  template:
    metadata: {labels: {app: page}}
    spec:
      containers:
        - name: page
          image: registry.example.com/page:1.0.0
          resources: {limits: {cpu: 1}}
"#,
    },
    run,
};

/// What quotas count without a word in front, as requests.
const PLAIN: &[&str] = &["cpu", "memory", "ephemeral-storage"];

fn run(scene: &Scene<'_>, report: &mut Report) {
    of_claims(scene, report);
    look(scene, Kind::Never, report);
}

/// What a name of a quota counts.
///
/// Source: kubernetes `pkg/quota/v1/evaluator/core/pods.go`, `podResources` and `podComputeUsageHelper`
/// (from memory).
enum Counted<'q> {
    Pods,
    Requests(&'q str),
    Limits(&'q str),
}

fn counted(name: &str) -> Option<Counted<'_>> {
    if ["pods", "count/pods"].contains(&name) {
        return Some(Counted::Pods);
    }
    if let Some(name) = name.strip_prefix("requests.") {
        return (name != "storage").then_some(Counted::Requests(name));
    }
    if let Some(name) = name.strip_prefix("limits.") {
        return PLAIN.contains(&name).then_some(Counted::Limits(name));
    }
    let is_plain = PLAIN.contains(&name) || name.starts_with("hugepages-");
    is_plain.then_some(Counted::Requests(name))
}

/// The quotas that count an object, entry by entry.
fn entries<'s>(scene: &Scene<'s>, object: &Object) -> Vec<(&'s Object, &'s Entry, u64)> {
    let quotas = holding(scene, "ResourceQuota", object)
        .into_iter()
        .flatten();
    let specs = quotas.filter_map(|quota| Some((quota, quota.root.get("spec")?)));
    let has_scopes = |spec: &Node| {
        let mut keys = ["scopes", "scopeSelector"].iter();
        keys.any(|key| spec.get(key).is_some())
    };
    let entries = specs
        .filter(|(_, spec)| !has_scopes(spec))
        .flat_map(|(quota, spec)| {
            let hard = spec.get("hard").map_or(&[][..], Node::entries).iter();
            hard.filter_map(move |entry| Some((quota, entry, thousandths_of(&entry.value)?)))
        });
    entries.collect()
}

/// Looks for what all pods of an object ask for.
pub(super) fn look(scene: &Scene<'_>, kind: Kind, report: &mut Report) {
    for pod in scene.pods.iter().filter(|it| !it.is_open) {
        let entries = entries(scene, pod.object);
        if entries.is_empty() || pod.spec.get("containers").is_none() {
            continue;
        }
        let ranges = Ranges::of(scene, pod.object);
        let Some(filled) = ranges.and_then(|it| Filled::of_pod(pod.spec, &it)) else {
            continue;
        };
        for (quota, entry, most) in entries {
            of_entry(scene, (pod, &filled), (quota, entry, most), kind, report);
        }
    }
}

fn of_entry(
    scene: &Scene<'_>,
    (pod, filled): (&Pod<'_>, &Filled<'_>),
    (quota, entry, most): (&Object, &Entry, u64),
    kind: Kind,
    report: &mut Report,
) {
    let Some(counted) = counted(&entry.key) else {
        return;
    };
    let (name, said) = match counted {
        Counted::Pods => (None, None),
        Counted::Requests(name) => (Some(name), filled.requests.get(name)),
        Counted::Limits(name) => (Some(name), filled.limits.get(name)),
    };
    let each = match (name, said) {
        (None, _) => 1000,
        (Some(name), Some(said)) if !filled.open.contains(name) => said.amount,
        _ => return,
    };
    let copies = copies(scene, pod);
    let all = each.saturating_mul(copies.pods);
    let in_turn = jobs::spec(pod.object).is_some() && each <= most;
    if all <= most || Kind::of(in_turn) != kind {
        return;
    }
    let of = |amount: u64| match name {
        None => What::Pods.words(amount.div_ceil(1000)),
        Some(name) => words(name, amount),
    };
    let what = if name.is_some() && copies.pods > 1 {
        format!(
            "{} pods with {} each are {}",
            copies.pods,
            of(each),
            of(all)
        )
    } else {
        of(all)
    };
    let says = match kind {
        Kind::Never => "asks for more than",
        Kind::InTurn => "does not have all of its pods at once by",
    };
    let message = format!("{} {says} {}: {what}", pod.title(), quota.title());
    let written = said.filter(|it| !it.is_given).map(|it| it.span);
    let containers = || pod.spec.get("containers").map(Node::span);
    let span = written.or(copies.span).or_else(containers);
    let span = span.unwrap_or_else(|| pod.spec.span());
    let code = match kind {
        Kind::Never => &RULE.code,
        Kind::InTurn => kind.code(),
    };
    let draft = report.draft(code, span, message);
    let draft = given(draft, said).label(entry.value.span(), format!("{} at most", of(most)));
    let help = match kind {
        Kind::Never => "ask for less, or raise the quota",
        Kind::InTurn => "write a smaller `parallelism`, or raise the quota",
    };
    draft.help(help).emit();
}

fn given<'r>(draft: Draft<'r>, said: Option<&Said>) -> Draft<'r> {
    match said.filter(|it| it.is_given) {
        Some(given) => draft.label(given.span, "what a container is given that does not say it"),
        None => draft,
    }
}

fn of_claims(scene: &Scene<'_>, report: &mut Report) {
    for (object, bytes, span) in volumes::claims(scene) {
        of_claim(scene, object, bytes.saturating_mul(1000), span, report);
    }
}

fn of_claim(scene: &Scene<'_>, object: &Object, asked: u64, span: Span, report: &mut Report) {
    for (quota, entry, most) in entries(scene, object) {
        if entry.key != "requests.storage" || asked <= most {
            continue;
        }
        let (title, by) = (object.title(), quota.title());
        let message = format!(
            "{title} asks for more than {by}: {}",
            words("storage", asked)
        );
        report
            .draft(&RULE.code, span, message)
            .label(
                entry.value.span(),
                format!("{} at most", words("storage", most)),
            )
            .help("ask for less, or raise the quota")
            .emit();
    }
}
