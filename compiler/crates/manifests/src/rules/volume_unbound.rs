//! Nothing provisions the volume of a PersistentVolumeClaim.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use crate::{CheckContext, Object, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4093",
        name: "manifest-volume-unbound",
        severity: Severity::Warning,
        summary: "nothing provisions the volume of a PersistentVolumeClaim",
        checks: "Whether the volumes of PersistentVolumeClaims are provisioned in a cluster that gpuc creates. A claim
without a class needs a default class, and the CSI driver of a cloud's class must be installed. EKS has no
default class, and does not install the driver for its own class.

Claims that name their volume are not checked. Neither is any claim if the manifests contain classes,
volumes or the driver.",
        reason: "The claim stays `Pending`, and with it every pod that mounts it.",
        remedy: "Write `storage` with a class in the cluster's file, and name the class or make it the default: gpuc installs
its driver. If something else creates classes, allow the finding.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("nodePools:", "storage: {classes: [{name: gp3, volumes: {disk: {}}}], default: gp3}
nodePools:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    if is_in_manifests(ctx) {
        return;
    }
    for (object, claim) in all_claims(ctx) {
        let class = claim.spec.get("storageClassName");
        // An empty name requests a statically provisioned volume.
        let name = class.map(|class| class.text().unwrap_or_default());
        if name == Some("") || is_bound(&claim) {
            continue;
        }
        let Some(unbound) = ctx.cluster.unbound_reason(name) else {
            continue;
        };
        let message = format!(
            "{}: nothing provisions the volume: {unbound}",
            object.title()
        );
        let span = class.map_or(claim.span, Node::span);
        let builder = report.diagnostic(&RULE.code, span, message);
        builder.help(ctx.cluster.unbound_help(&unbound)).emit();
    }
}

/// A PersistentVolumeClaim, or a template of one.
struct Claim<'n> {
    metadata: Option<&'n Node>,
    spec: &'n Node,
    /// The key of its `spec`.
    span: Span,
}

impl<'n> Claim<'n> {
    fn from_node(node: &'n Node) -> Option<Self> {
        let spec = node.entry("spec")?;
        Some(Self {
            metadata: node.get("metadata"),
            spec: &spec.value,
            span: spec.key_span,
        })
    }
}

/// Every claim: objects, claim templates of StatefulSets, and ephemeral volumes of pods.
fn all_claims<'s>(ctx: &'s CheckContext<'_>) -> Vec<(&'s Object, Claim<'s>)> {
    let mut claims = Vec::new();
    for object in ctx.objects {
        let own = Some(&object.root).filter(|_| object.kind == "PersistentVolumeClaim");
        let spec = object
            .root
            .get("spec")
            .filter(|_| object.kind == "StatefulSet");
        let templates = spec.and_then(|it| it.get("volumeClaimTemplates"));
        let all = own
            .into_iter()
            .chain(templates.map_or(&[][..], Node::items));
        claims.extend(
            all.filter_map(Claim::from_node)
                .map(|claim| (object, claim)),
        );
    }
    for pod in &ctx.pods {
        let volumes = pod.spec.get("volumes").map_or(&[][..], Node::items).iter();
        let templates = volumes.filter_map(|it| it.get("ephemeral")?.get("volumeClaimTemplate"));
        let of_pod = templates.filter_map(Claim::from_node);
        claims.extend(of_pod.map(|claim| (pod.object, claim)));
    }
    claims
}

/// Whether a claim names its volume, or its class in the deprecated annotation.
fn is_bound(claim: &Claim<'_>) -> bool {
    let mut keys = ["volumeName", "selector"].iter();
    let annotations = claim.metadata.and_then(|it| it.get("annotations"));
    let annotations = annotations.map_or(&[][..], Node::entries);
    keys.any(|key| claim.spec.get(key).is_some())
        || annotations
            .iter()
            .any(|it| it.key.ends_with("/storage-class"))
}

/// Whether the manifests contain classes, volumes or a CSI driver.
fn is_in_manifests(ctx: &CheckContext<'_>) -> bool {
    let kinds = ["StorageClass", "PersistentVolume", "CSIDriver"];
    let facts = ctx.cluster.cloud.facts().storage;
    let addon = facts.and_then(|facts| facts.classes_addon);
    ctx.objects.iter().any(|object| {
        let source = ctx.sources.get(object.root.span().source);
        let names = |addon: &str| source.is_some_and(|it| it.text().contains(addon));
        kinds.contains(&object.kind.as_str()) || addon.is_some_and(names)
    })
}
