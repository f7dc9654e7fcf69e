//! A pod or a claim asks for what a `LimitRange` beside it refuses.

use crate::diag::{Code, Report, Severity};
use crate::manifests::limits::{Filled, Item, Ranges, Said};
use crate::manifests::read::Object;
use crate::manifests::{Pod, Rule, Scene, volumes};
use crate::node::Node;
use crate::placement::What;
use crate::source::Span;

/// A pod or a claim asks for what a `LimitRange` beside it refuses.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4085",
        name: "manifest-range-refuses",
        severity: Severity::Error,
        summary: "a LimitRange among the manifests refuses a pod or a claim",
        explain: "### What it checks

Whether what containers, pods and PersistentVolumeClaims ask for is within every LimitRange of their
namespace that stands among the manifests: `min`, `max` and `maxLimitRequestRatio`. What a container does
not say counts as the ranges give it, those that gpuc makes of `teams` among them: `default`,
`defaultRequest`, and what Kubernetes makes of `min` and `max`. Where two ranges give different defaults
nothing is said, nor of a range that a kustomization changes or that stands in several files.

### Why it matters

The API server makes no such pod. A Deployment or a Job is accepted and never has one.

### What to do

Ask for what the range lets through, or change the range.
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
kind: LimitRange
metadata: {name: small, namespace: web}
spec:
  limits: [{type: Container, max: {cpu: 2}}]
---
apiVersion: v1
kind: Pod
metadata: {name: page, namespace: web}
spec:
  containers:
    - name: page
      image: registry.example.com/page:1.0.0
      resources: {limits: {cpu: 4}}
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
kind: LimitRange
metadata: {name: small, namespace: web}
spec:
  limits: [{type: Container, max: {cpu: 2}}]
---
apiVersion: v1
kind: Pod
metadata: {name: page, namespace: web}
spec:
  containers:
    - name: page
      image: registry.example.com/page:1.0.0
      resources: {limits: {cpu: 2}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for (object, bytes, span) in volumes::claims(scene) {
        of_claim(scene, object, (bytes, span), report);
    }
    for pod in scene.pods.iter().filter(|it| !it.is_open) {
        let ranges = Ranges::of(scene, pod.object);
        // What is said of a pod as a whole changes what its containers are given.
        let Some(ranges) = ranges.filter(|_| pod.spec.get("resources").is_none()) else {
            continue;
        };
        for (range, item) in ranges.by_hand() {
            look_at(pod, range, item, &ranges, report);
        }
    }
}

fn look_at<'s>(
    pod: &Pod<'s>,
    range: &'s Object,
    item: &Item<'s>,
    ranges: &Ranges<'s>,
    report: &mut Report,
) {
    match item.of {
        "Container" => {
            for container in &pod.containers {
                let filled = Filled::of(container.node, ranges);
                let name = container.node.entry("name");
                let span = name.map_or(container.node.span(), |it| it.value.span());
                for refused in refused(&filled, item) {
                    let of = format!("a container: `{}`", container.name());
                    refused.say((pod.object, range), &of, span, report);
                }
            }
        }
        "Pod" => {
            let Some(filled) = Filled::of_pod(pod.spec, ranges) else {
                return;
            };
            let span = pod.spec.get("containers").map(Node::span);
            let span = span.unwrap_or_else(|| pod.spec.span());
            for refused in refused(&filled, item) {
                let of = "a pod: its containers together";
                refused.say((pod.object, range), of, span, report);
            }
        }
        _ => {}
    }
}

/// Source: kubernetes `plugin/pkg/admission/limitranger/admission.go`, `PersistentVolumeClaimValidateLimitFunc`
/// (from memory).
fn of_claim(scene: &Scene<'_>, object: &Object, (bytes, span): (u64, Span), report: &mut Report) {
    let asked = Said {
        amount: bytes.saturating_mul(1000),
        span,
        is_given: false,
    };
    let mut filled = Filled::default();
    filled.requests.insert("storage", asked);
    filled.limits.insert("storage", asked);
    let Some(ranges) = Ranges::of(scene, object) else {
        return;
    };
    let of_claims = ranges.by_hand();
    for (range, item) in of_claims.filter(|(_, it)| it.of == "PersistentVolumeClaim") {
        for refused in refused(&filled, item) {
            let of = "a claim: it";
            refused.say((object, range), of, span, report);
        }
    }
}

/// What a range does not let through.
struct Refused<'s> {
    name: &'s str,
    /// What is asked for; nothing where nobody says it.
    asked: Option<Said>,
    /// What the range says.
    said: Said,
    why: Why,
}

#[derive(Clone, Copy)]
enum Why {
    Less,
    More,
    Ratio,
}

/// What of a container's or a pod's amounts a range refuses.
///
/// Source: kubernetes `plugin/pkg/admission/limitranger/admission.go`, `minConstraint`, `maxConstraint` and
/// `limitRequestRatioConstraint`; that those of pods count sums: `PodValidateLimitFunc` (from memory).
fn refused<'s>(filled: &Filled<'s>, item: &Item<'s>) -> Vec<Refused<'s>> {
    let mut found = Vec::new();
    let own = |name: &str| (filled.requests.get(name), filled.limits.get(name));
    let mut add = |name: &'s str, asked: Option<&Said>, said: &Said, why: Why| {
        if !filled.open.contains(name) {
            let (asked, said) = (asked.copied(), *said);
            found.push(Refused {
                name,
                asked,
                said,
                why,
            });
        }
    };
    for (name, said) in &item.min {
        let (request, _) = own(name);
        if request.is_none_or(|it| it.amount < said.amount) {
            add(name, request, said, Why::Less);
        }
    }
    for (name, said) in &item.max {
        let (request, limit) = own(name);
        let is_more = |it: &&Said| it.amount > said.amount;
        let more = limit.filter(is_more).or_else(|| request.filter(is_more));
        if limit.is_none() || more.is_some() {
            add(name, more, said, Why::More);
        }
    }
    for (name, said) in &item.ratio {
        let (request, limit) = own(name);
        let is_within = |limit: &Said, request: &Said| {
            let times = u128::from(request.amount) * u128::from(said.amount);
            u128::from(limit.amount) * 1000 <= times && limit.amount > 0 && request.amount > 0
        };
        if !limit.zip(request).is_some_and(|(a, b)| is_within(a, b)) {
            add(name, limit.or(request), said, Why::Ratio);
        }
    }
    found
}

impl Refused<'_> {
    fn say(
        &self,
        (object, range): (&Object, &Object),
        of: &str,
        otherwise: Span,
        report: &mut Report,
    ) {
        let Self {
            name, said, why, ..
        } = self;
        let (title, by) = (object.title(), range.title());
        let (than, has, help) = match why {
            Why::Less => (
                "less than",
                "has to have",
                "ask for more, or lower the range's `min`",
            ),
            Why::More => (
                "more than",
                "may have",
                "ask for less, or raise the range's `max`",
            ),
            Why::Ratio => (
                "another limit for its request than",
                "may have",
                "write a request nearer to the limit, or raise the range's `maxLimitRequestRatio`",
            ),
        };
        let (of, who) = of.split_once(": ").unwrap_or((of, ""));
        let asks = match (self.asked, why) {
            (Some(asked), Why::Less | Why::More) => {
                format!("{who} asks for {}", words(name, asked.amount))
            }
            (Some(_), Why::Ratio) => format!("{who}, of `{name}`"),
            (None, Why::More) => format!("{who} has no limit of `{name}`"),
            (None, _) => format!("{who} asks for no `{name}`"),
        };
        let message = format!("{title} asks for {than} {by} says {of} {has}: {asks}");
        let written = self.asked.filter(|it| !it.is_given);
        let span = written.map_or(otherwise, |it| it.span);
        let mut draft = report.draft(&RULE.code, span, message);
        if let Some(given) = self.asked.filter(|it| it.is_given) {
            draft = draft.label(given.span, "what a container is given that does not say it");
        }
        let bound = match why {
            Why::Less => format!("{} at least", words(name, said.amount)),
            Why::More => format!("{} at most", words(name, said.amount)),
            Why::Ratio => "so many times the request, at most".to_owned(),
        };
        draft.label(said.span, bound).help(help).emit();
    }
}

/// So much of a resource, in words.
pub(super) fn words(name: &str, thousandths: u64) -> String {
    let whole = thousandths.div_ceil(1000);
    match name {
        "cpu" => What::Cpu.words(thousandths),
        "memory" => What::Memory.words(whole),
        "storage" => What::Storage.words(whole),
        "ephemeral-storage" => format!("{} of the node's disk", crate::placement::gib(whole)),
        name => What::Device(name.to_owned()).words(whole),
    }
}
