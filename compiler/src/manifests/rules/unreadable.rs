//! What Kubernetes cannot read, or refuses, of an object.

use std::collections::BTreeSet;

use crate::api_server::{self, Extent, Refused, Step, place};
use crate::diag::{Code, Edit, Report, Severity};
use crate::manifests::read::Object;
use crate::manifests::{Rule, Scene, Why, edit, served};
use crate::node::{Node, Value};

/// What Kubernetes cannot read, or refuses, of an object.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4035",
        name: "manifest-unreadable",
        severity: Severity::Error,
        summary: "Kubernetes cannot read an object, or refuses it",
        explain: "### What it checks

Kubernetes' own objects as the API server does, and the pods of Kubeflow's, Ray's and Volcano's jobs,
JobSets and LeaderWorkerSets: fields and their kinds of values, words such as those of `restartPolicy`,
names, labels, amounts, ports and counts, volumes that are mounted and not there, and what cannot stand
beside what. Known are what makes pods, HorizontalPodAutoscalers, PodDisruptionBudgets, Services,
Ingresses, NetworkPolicies, LimitRanges, ResourceQuotas, PersistentVolumes and their claims, classes of
storage, priority and runtimes, Roles, ClusterRoles and their bindings, ServiceAccounts, ConfigMaps, Secrets
and Namespaces.

### Why it matters

`kubectl apply` refuses a field that Kubernetes does not know; others drop it, and what it was to do is
not done: a pod with `resource:` for `resources:` gets no GPU. Everything else the API server refuses.
A root user with `runAsNonRoot` is taken, and its container never starts.

### What to do

Write what the help says; `gpuc check --fix` mends misspelt fields, words and amounts. Values that a
program fills in (`${NAME}`) are not looked at, and nothing is
missing in a part of an object, such as a patch of kustomize, or where one is laid over it.
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
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resource: {limits: {nvidia.com/gpu: 1}}
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
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

/// Groups whose objects hold pods just as Kubernetes has them: nobody adds fields or volumes to them.
const PLAIN: &[&str] = &[
    "kubeflow.org",
    "jobset.x-k8s.io",
    "leaderworkerset.x-k8s.io",
    "ray.io",
    "batch.volcano.sh",
];

fn run(scene: &Scene<'_>, report: &mut Report) {
    let before = report.diagnostics().iter();
    let said: BTreeSet<_> = before.map(|found| found.primary.span).collect();
    for object in scene.objects {
        for found in refused(scene, object) {
            let Some(span) = place(&object.root, &found.path, found.of_key) else {
                continue;
            };
            // Other rules know more of resources of GPUs, and of text without quotes.
            if said.contains(&span) {
                continue;
            }
            let message = format!("{}: {}", object.title(), found.message);
            let draft = report.draft(&RULE.code, span, message);
            let draft = draft.help(found.help.clone());
            match edit(scene, object, &found) {
                Some(edit) => draft.fix(vec![edit]).emit(),
                None => draft.emit(),
            };
        }
    }
}

/// What was meant, in place of what stands there.
fn edit(scene: &Scene<'_>, object: &Object, found: &Refused) -> Option<Edit> {
    let meant = found.meant.as_deref()?;
    let (last, above) = found.path.split_last()?;
    let holder = above
        .iter()
        .try_fold(&object.root, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Item(index) => node.items().get(*index),
        })?;
    match last {
        Step::Key(key) if found.of_key => edit::key(scene.sources, holder.entry(key)?, meant),
        Step::Key(key) => edit::value(scene.sources, holder.get(key)?, meant),
        Step::Item(index) => edit::value(scene.sources, holder.items().get(*index)?, meant),
    }
}

fn refused(scene: &Scene<'_>, object: &Object) -> Vec<Refused> {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    // Of a version that is not served the one that is says what Kubernetes takes.
    let served = served::instead(version, kind).and_then(<[_]>::first);
    let version = served.copied().unwrap_or(version);
    if !is_known(object) || is_sealed(&object.root) {
        return Vec::new();
    }
    let is_layered = scene.passed_over.iter().any(|it| match &it.why {
        Why::Kustomization => true,
        Why::Patch(title) => *title == object.title(),
        Why::Template | Why::NoObjects => false,
    });
    let is_whole = is_whole(kind, &object.root) && !is_layered;
    let extent = if is_whole {
        Extent::Whole
    } else {
        Extent::Part
    };
    let mut found = api_server::look(version, kind, &object.root, extent);
    found.extend(name(scene, object));
    found
}

/// Whether an object is one that [`refused`] knows.
pub(in crate::manifests) fn is_known(object: &Object) -> bool {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    let served = served::instead(version, kind).and_then(<[_]>::first);
    let version = served.copied().unwrap_or(version);
    PLAIN.iter().any(|group| object.is_of(group)) || api_server::knows(version, kind)
}

/// Whether SOPS has encrypted values, and its own key stands beside them until somebody reads it.
fn is_sealed(root: &Node) -> bool {
    root.get("sops").is_some_and(|it| it.get("mac").is_some())
}

/// The name of a Service that only newer versions take.
fn name(scene: &Scene<'_>, object: &Object) -> Option<Refused> {
    if (object.api_version.as_str(), object.kind.as_str()) != ("v1", "Service") {
        return None;
    }
    let minor = scene.cluster.kubernetes.get()?.value.0;
    let (message, help) = api_server::services::name(minor, object.name.as_deref()?)?;
    Some(Refused {
        path: vec![Step::from("metadata"), Step::from("name")],
        of_key: false,
        message,
        help: help.to_owned(),
        meant: None,
    })
}

/// Kinds whose lists are written whole, by whoever writes them: patches take their place.
///
/// Source: kubernetes `staging/src/k8s.io/api`, `types.go` of `core/v1`, `rbac/v1`, `policy/v1` and `networking/v1`:
/// none of their lists has a `patchMergeKey` (from memory).
const WHOLE: &[&str] = &[
    "ClusterRole",
    "Ingress",
    "LimitRange",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "ResourceQuota",
    "Role",
];

/// Keys of a claim, two of which nobody changes by one patch.
const OF_CLAIM: &[&str] = &[
    "accessModes",
    "resources",
    "storageClassName",
    "volumeMode",
    "volumeName",
];

/// Whether an object is all there: of one with pods each container has an image, of others there is what a part of
/// one would not say again.
fn is_whole(kind: &str, root: &Node) -> bool {
    let (mut some, mut all) = (false, true);
    images(root, &mut some, &mut all);
    if some {
        return all;
    }
    let spec = |key: &&str| root.get("spec").is_some_and(|it| it.get(key).is_some());
    match kind {
        "HorizontalPodAutoscaler" => spec(&"scaleTargetRef"),
        "PersistentVolumeClaim" => OF_CLAIM.iter().filter(|key| spec(key)).count() > 1,
        "ClusterRoleBinding" | "RoleBinding" => root.get("roleRef").is_some(),
        "Secret" => root.get("type").is_some(),
        "Service" => spec(&"ports") && spec(&"selector"),
        kind => WHOLE.contains(&kind),
    }
}

fn images(node: &Node, some: &mut bool, all: &mut bool) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter().for_each(|item| images(item, some, all)),
        Value::Mapping(entries) => {
            for entry in entries {
                if ["containers", "initContainers"].contains(&entry.key.as_str()) {
                    for item in entry.value.items() {
                        *some = true;
                        *all &= item.get("image").is_some();
                    }
                }
                images(&entry.value, some, all);
            }
        }
    }
}
