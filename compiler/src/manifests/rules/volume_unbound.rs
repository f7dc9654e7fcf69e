//! A claim of a volume that nothing makes.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Object, Rule, Scene};
use crate::node::Node;
use crate::source::Span;

/// A claim of a volume that nothing makes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4093",
        name: "manifest-volume-unbound",
        severity: Severity::Warning,
        summary: "a claim of a volume that nothing makes",
        explain: "### What it checks

Whether anything makes the volumes that claims ask for, in a cluster that gpuc creates: whether a
claim without a class finds a default, and whether the driver of a class that the cloud brings is
installed. EKS has no default class, and installs no driver for its own. Claims that name their
volume, and manifests that bring classes, volumes or the driver, are left alone.

### Why it matters

The claim stays `Pending`, and with it every pod that mounts it.

### What to do

Write `storage` with a class into the cluster's file, and name the class or make it the default: gpuc
installs its driver. Where something else brings classes, allow the finding.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
--- # manifest.yaml
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: research}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {classes: [{name: gp3, volumes: {disk: {}}}], default: gp3}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
--- # manifest.yaml
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: research}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    if is_brought(scene) {
        return;
    }
    for (object, claim) in claims(scene) {
        let class = claim.spec.get("storageClassName");
        // An empty name asks for a volume that somebody made.
        let name = class.map(|class| class.text().unwrap_or_default());
        if name == Some("") || is_bound(&claim) {
            continue;
        }
        let Some(unbound) = scene.cluster.unbound(name) else {
            continue;
        };
        let message = format!("{}: nothing makes the volume: {unbound}", object.title());
        let span = class.map_or(claim.span, Node::span);
        let draft = report.draft(&RULE.code, span, message);
        draft.help(scene.cluster.binding(&unbound)).emit();
    }
}

/// A claim.
struct Claim<'n> {
    metadata: Option<&'n Node>,
    spec: &'n Node,
    /// Its first key.
    span: Span,
}

impl<'n> Claim<'n> {
    fn of(node: &'n Node) -> Option<Self> {
        let spec = node.entry("spec")?;
        Some(Self {
            metadata: node.get("metadata"),
            spec: &spec.value,
            span: spec.key_span,
        })
    }
}

/// Every claim: an object, one that a `StatefulSet` makes for each pod, and one that lives as long as its pod.
fn claims<'s>(scene: &'s Scene<'_>) -> Vec<(&'s Object, Claim<'s>)> {
    let mut claims = Vec::new();
    for object in scene.objects {
        let own = Some(&object.root).filter(|_| object.kind == "PersistentVolumeClaim");
        let spec = object
            .root
            .get("spec")
            .filter(|_| object.kind == "StatefulSet");
        let templates = spec.and_then(|it| it.get("volumeClaimTemplates"));
        let all = own
            .into_iter()
            .chain(templates.map_or(&[][..], Node::items));
        claims.extend(all.filter_map(Claim::of).map(|claim| (object, claim)));
    }
    for pod in &scene.pods {
        let volumes = pod.spec.get("volumes").map_or(&[][..], Node::items).iter();
        let templates = volumes.filter_map(|it| it.get("ephemeral")?.get("volumeClaimTemplate"));
        let of_pod = templates.filter_map(Claim::of);
        claims.extend(of_pod.map(|claim| (pod.object, claim)));
    }
    claims
}

/// Whether a claim says which volume it gets, or its class in the old way.
fn is_bound(claim: &Claim<'_>) -> bool {
    let mut keys = ["volumeName", "selector"].iter();
    let annotations = claim.metadata.and_then(|it| it.get("annotations"));
    let annotations = annotations.map_or(&[][..], Node::entries);
    keys.any(|key| claim.spec.get(key).is_some())
        || annotations
            .iter()
            .any(|it| it.key.ends_with("/storage-class"))
}

/// Whether the manifests bring classes, volumes, or what makes them.
fn is_brought(scene: &Scene<'_>) -> bool {
    let kinds = ["StorageClass", "PersistentVolume", "CSIDriver"];
    let facts = scene.cluster.cloud.facts().storage;
    let addon = facts.and_then(|facts| facts.classes_need);
    scene.objects.iter().any(|object| {
        let source = scene.sources.get(object.root.span().source);
        let names = |addon: &str| source.is_some_and(|it| it.text().contains(addon));
        kinds.contains(&object.kind.as_str()) || addon.is_some_and(names)
    })
}
