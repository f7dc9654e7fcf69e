//! A claim names a class of volumes that is not there, and nearly is.

use gpuc_schema::Span;

use crate::diag::words::nearest;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene, edit};
use crate::node::{Node, Value};

/// A claim names a class of volumes that is not there, and nearly is.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4056",
        name: "manifest-claim-class-unknown",
        severity: Severity::Warning,
        summary: "a claim names a StorageClass that is not there, and one of nearly that name is",
        explain: "### What it checks

Whether the `storageClassName` of a PersistentVolumeClaim, or of a claim in a template, is one of the file's
`storage.classes`, of the cloud's own, or of the manifests', where one of these has nearly that name. With
nothing near it, somebody else may have made the class.

### Why it matters

The API server takes the claim. No volume is made for it, and its pods wait for ever.

### What to do

Write the name of a class that is there.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
  storageClassName: fast-disk
  resources: {requests: {storage: 100Gi}}
"#,
    },
    run,
};

/// The key by which claims, and templates of claims, name a class.
const KEY: &str = "storageClassName";

fn run(scene: &Scene<'_>, report: &mut Report) {
    let storage = scene.cluster.written.storage.as_ref();
    let own = storage.into_iter().flat_map(|it| &it.classes);
    let own = own.map(|class| (class.name.as_str(), class.name.span));
    let facts = scene.cluster.cloud.facts().storage;
    let clouds = facts.map_or(&[][..], |it| it.classes).iter();
    let clouds = clouds.map(|name| (*name, Span::NONE));
    let made = scene.objects.iter().filter(|it| it.kind == "StorageClass");
    let made = made.filter_map(|it| {
        let name = it.root.get("metadata")?.get("name")?;
        Some((name.text()?, name.span()))
    });
    // A volume may be made by hand for a claim, with a name that is no class's.
    let volumes = scene
        .objects
        .iter()
        .filter(|it| it.kind == "PersistentVolume");
    let volumes = volumes.filter_map(|it| it.root.get("spec")?.get(KEY)?.text());
    let volumes: Vec<_> = volumes.collect();
    let known: Vec<_> = own.chain(clouds).chain(made).collect();
    for object in scene
        .objects
        .iter()
        .filter(|it| !it.api_version.starts_with("storage.k8s.io/"))
    {
        let mut named = Vec::new();
        collect(&object.root, &mut named);
        for place in named {
            let Some(name) = place.text().filter(|it| !it.contains(['$', '{'])) else {
                continue;
            };
            let is_known = known.iter().any(|it| it.0 == name) || volumes.contains(&name);
            let near = nearest(name, known.iter().map(|it| it.0));
            let Some(near) = near.filter(|_| !is_known) else {
                continue;
            };
            let message = format!("{}: there is no StorageClass `{name}`", object.title());
            let mut draft = report.draft(&RULE.code, place.span(), message);
            if let Some((_, span)) = known.iter().find(|it| it.0 == near) {
                draft = draft.label(*span, "nearly its name");
            }
            // No advice is a class of which nothing makes volumes.
            if let Some(unbound) = scene.cluster.unbound(Some(near)) {
                draft.help(scene.cluster.binding(&unbound)).emit();
                continue;
            }
            let draft = draft.help(format!("did you mean `{near}`?"));
            match edit::value(scene.sources, place, near) {
                Some(edit) => draft.fix(vec![edit]).emit(),
                None => draft.emit(),
            };
        }
    }
}

/// The names of classes that claims have, beside how much they ask for.
fn collect<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Mapping(entries) => {
            let is_claim = node.get("accessModes").is_some() || node.get("resources").is_some();
            found.extend(node.get(KEY).filter(|_| is_claim));
            for entry in entries {
                collect(&entry.value, found);
            }
        }
    }
}
