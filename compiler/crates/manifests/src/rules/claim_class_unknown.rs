//! A PersistentVolumeClaim names an unknown StorageClass with a name close to a known one.

use gpuc_schema::Span;
use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Node, Value};

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4056",
        name: "manifest-claim-class-unknown",
        severity: Severity::Warning,
        summary: "a PersistentVolumeClaim names an unknown StorageClass with nearly the name of a known one",
        checks: "Whether the `storageClassName` of a PersistentVolumeClaim, or of a claim in a template, is one of the file's
`storage.classes`, of the cloud's default classes or of the manifests. gpuc reports only names close to a
known class: a class with another name may have been created separately.",
        reason: "The API server accepts the claim. No volume is provisioned for it, and its pods stay Pending indefinitely.",
        remedy: "Write the name of an existing class.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 2}}
storage:
  classes: [{name: fast-disk, volumes: {disk: {type: gp3}}}]
--- # manifest.yaml
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: research}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fastdisk
  resources: {requests: {storage: 100Gi}}
"#,
        correction: Correction::Replace("fastdisk", "fast-disk"),
    },
    run,
};

/// The key for the StorageClass in claims and claim templates.
const KEY: &str = "storageClassName";

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let storage = ctx.cluster.config.storage.as_ref();
    let own = storage.into_iter().flat_map(|it| &it.classes);
    let own = own.map(|class| (class.name.as_str(), class.name.span));
    let facts = ctx.cluster.cloud.facts().storage;
    let clouds = facts.map_or(&[][..], |it| it.classes).iter();
    let clouds = clouds.map(|name| (*name, Span::NONE));
    let existing_classes = ctx.objects.iter().filter(|it| it.kind == "StorageClass");
    let existing_classes = existing_classes.filter_map(|it| {
        let name = it.root.get("metadata")?.get("name")?;
        Some((name.text()?, name.span()))
    });
    // A statically provisioned volume may use a class name without a StorageClass.
    let volumes = ctx
        .objects
        .iter()
        .filter(|it| it.kind == "PersistentVolume");
    let volumes = volumes.filter_map(|it| it.root.get("spec")?.get(KEY)?.text());
    let volumes: Vec<_> = volumes.collect();
    let known: Vec<_> = own.chain(clouds).chain(existing_classes).collect();
    for object in ctx
        .objects
        .iter()
        .filter(|it| !it.api_version.starts_with("storage.k8s.io/"))
    {
        let mut named = Vec::new();
        collect_class_names(&object.root, &mut named);
        for node in named {
            let Some(name) = node.text().filter(|it| !it.contains(['$', '{'])) else {
                continue;
            };
            let is_known = known.iter().any(|it| it.0 == name) || volumes.contains(&name);
            let closest = closest_match(name, known.iter().map(|it| it.0));
            let Some(closest) = closest.filter(|_| !is_known) else {
                continue;
            };
            let message = format!("{}: unknown StorageClass `{name}`", object.title());
            let mut builder = report.diagnostic(&RULE.code, node.span(), message);
            if let Some((_, span)) = known.iter().find(|it| it.0 == closest) {
                builder = builder.label(*span, "a class with a similar name");
            }
            // Never suggest a class that does not provision volumes.
            if let Some(unbound) = ctx.cluster.unbound_reason(Some(closest)) {
                builder.help(ctx.cluster.unbound_help(&unbound)).emit();
                continue;
            }
            builder.help(format!("did you mean `{closest}`?")).emit();
        }
    }
}

/// Collects the StorageClass names in mappings that also have the other keys of a claim.
fn collect_class_names<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items
            .iter()
            .for_each(|item| collect_class_names(item, found)),
        Value::Mapping(entries) => {
            let is_claim = node.get("accessModes").is_some() || node.get("resources").is_some();
            found.extend(node.get(KEY).filter(|_| is_claim));
            for entry in entries {
                collect_class_names(&entry.value, found);
            }
        }
    }
}
