//! Argo CD: an Application for each step, in sync waves, and a root Application that creates them.
//!
//! Sources, read 2026-11-21: argo-cd.readthedocs.io/en/stable/operator-manual/{cluster-bootstrapping,
//! declarative-setup}, …/user-guide/{sync-options,sync-waves,projects,helm}.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::{Delivery, Guide, KUBE_SYSTEM, Object, Release, Step, StepKind};
use gpuc_schema::config::Argocd;
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Value as Json, json};

use super::{Deliverables, Location, annotate, has_null, set_at, to_json_text};

/// The folder of the objects, below the cluster's.
const FOLDER: &str = "argocd";

/// The subfolder that the root Application points at.
const APPS: &str = "apps";

const APPLICATION: (&str, &str) = ("argoproj.io/v1alpha1", "Application");
const PROJECT: (&str, &str) = ("argoproj.io/v1alpha1", "AppProject");

/// Argo CD's URL for the cluster that it runs in.
const IN_CLUSTER: &str = "https://kubernetes.default.svc";

/// The objects for Argo CD.
pub(super) fn delivery(
    cluster: &str,
    argocd: &Argocd,
    deliverables: &Deliverables<'_>,
) -> Delivery {
    let location = Location {
        cluster,
        repository: &argocd.repository,
        branch: &argocd.branch,
        path: &argocd.path,
        namespace: &argocd.namespace,
    };
    let waves = sync_waves(deliverables.steps);
    let steps = deliverables.steps.iter();
    let mut objects = vec![
        root_project(&location),
        root_application(&location),
        steps_project(&location, argocd, deliverables),
    ];
    objects.extend(
        steps.map(|step| application(&location, argocd, deliverables, step, waves[&*step.name])),
    );
    Delivery::Gitops {
        tool: "Argo CD",
        folder: FOLDER,
        objects,
        guide: Guide {
            renders: true,
            ..location.guide([None; 2], argocd.cluster.is_some(), MIGRATION_COMMANDS)
        },
    }
}

/// The commands that stop Argo CD from managing the tree: they delete the root Application, then the others after
/// removing the finalizer that deletes their resources.
///
/// Source: argo-cd.readthedocs.io user-guide/app_deletion, read 2026-11-21.
const MIGRATION_COMMANDS: &[&str] = &[
    "kubectl delete --ignore-not-found --kustomize argocd",
    r#"kubectl patch --kustomize argocd/apps --type merge --patch '{"metadata": {"finalizers": null}}'"#,
    "kubectl delete --ignore-not-found --kustomize argocd/apps",
];

/// The sync options that keep Argo CD from deleting namespaces, which may contain other objects, and volumes, and that
/// make it recreate immutable objects such as jobs.
///
/// Source: argoproj/argo-cd@v3.5.1 docs/user-guide/sync-options.md, read 2026-11-21.
pub(super) fn protection_options(object: &Object) -> Vec<(&'static str, &'static str)> {
    let mut protections = Vec::new();
    if super::must_be_retained(object) {
        protections.push((SYNC_OPTIONS, "Prune=false,Delete=false"));
    }
    if super::is_immutable(object) {
        protections.push((SYNC_OPTIONS, "Force=true,Replace=true"));
    }
    protections
}

const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// The sync wave of each step: one more than the highest of its dependencies.
fn sync_waves(steps: &[Step]) -> BTreeMap<&str, usize> {
    let mut waves: BTreeMap<&str, usize> = BTreeMap::new();
    for step in steps {
        let needs = step.dependencies.iter();
        let before = needs.filter_map(|need| waves.get(need.step.as_str()));
        let wave = before.max().map_or(0, |wave| wave + 1);
        waves.insert(&step.name, wave);
    }
    waves
}

/// The AppProject of the root Application: it may only create Applications and AppProjects in Argo CD's namespace.
fn root_project(location: &Location<'_>) -> Object {
    let kinds =
        [APPLICATION.1, PROJECT.1].map(|kind| json!({"group": "argoproj.io", "kind": kind}));
    let spec = json!({
        "description": format!("Creates the Applications of cluster {}", location.cluster),
        "sourceRepos": [location.repository.value],
        "destinations": [{"server": IN_CLUSTER, "namespace": location.namespace.value}],
        "clusterResourceWhitelist": [],
        "namespaceResourceWhitelist": kinds,
    });
    location.object("", PROJECT, &location.name("root"), &spec)
}

/// The root Application, which creates all others. It has no finalizer: deleting it stops Argo CD and deletes nothing.
fn root_application(location: &Location<'_>) -> Object {
    let spec = json!({
        "project": location.name("root"),
        "source": {
            "repoURL": location.repository.value,
            "targetRevision": location.branch.value,
            "path": location.folder(&format!("{FOLDER}/{APPS}")),
        },
        "destination": {"server": IN_CLUSTER, "namespace": location.namespace.value},
        "syncPolicy": sync_policy(&["ServerSideApply=true"]),
    });
    location.object("", APPLICATION, location.cluster, &spec)
}

/// The AppProject of the steps: it allows the repositories in use, and only this cluster.
fn steps_project(
    location: &Location<'_>,
    argocd: &Argocd,
    deliverables: &Deliverables<'_>,
) -> Object {
    let charts = deliverables.releases.iter().map(repository);
    let repositories: BTreeSet<_> = charts.chain([&*location.repository.value]).collect();
    let of_objects = deliverables.objects.iter().filter_map(namespace);
    let of_releases = deliverables.releases.iter().map(|it| it.namespace.as_str());
    let mut namespaces: BTreeSet<_> = of_objects.chain(of_releases).collect();
    let steps = deliverables.steps.iter();
    namespaces.extend(steps.map(|step| destination_namespace(deliverables, step)));
    let kinds = if deliverables.releases.is_empty() {
        cluster_kinds(deliverables.objects)
    } else {
        // Charts create Services and RoleBindings there: kube-prometheus-stack those for scraping the control plane
        // (from memory), kueue the one with which its own API authenticates requests (kubernetes-sigs/kueue
        // `charts/kueue/templates/visibility/role_binding.yaml`, read 2026-11-21). Charts create nothing in Kubernetes'
        // other namespaces. The kinds of objects that they create change between versions; most create ClusterRoles,
        // and permission to create those implies all others.
        namespaces.insert(KUBE_SYSTEM);
        vec![json!({"group": "*", "kind": "*"})]
    };
    let destinations = namespaces.iter();
    let destinations = destinations.map(|namespace| destination(argocd, namespace));
    let spec = json!({
        "description": format!("Resources that gpuc deploys to cluster {}", location.cluster),
        "sourceRepos": repositories,
        "destinations": destinations.collect::<Vec<_>>(),
        "clusterResourceWhitelist": kinds,
    });
    let mut object = location.object(APPS, PROJECT, location.cluster, &spec);
    // The project must exist before the first Application and until the last is deleted.
    annotate(&mut object, SYNC_WAVE, text("-1"));
    object
}

/// The kinds of the cluster-scoped objects.
fn cluster_kinds(objects: &[Object]) -> Vec<Json> {
    let identities = objects.iter().map(|object| &object.identity);
    let kinds = identities.filter(|identity| identity.namespace.is_none());
    let kinds = kinds.map(|identity| (group(&identity.api_version), identity.kind.as_str()));
    let kinds: BTreeSet<_> = kinds.collect();
    let kinds = kinds.into_iter();
    kinds
        .map(|(group, kind)| json!({"group": group, "kind": kind}))
        .collect()
}

const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";

fn application(
    location: &Location<'_>,
    argocd: &Argocd,
    deliverables: &Deliverables<'_>,
    step: &Step,
    wave: usize,
) -> Object {
    let source = match step.kind {
        StepKind::Component => json!({
            "repoURL": location.repository.value,
            "targetRevision": location.branch.value,
            "path": location.folder(&Deliverables::folder(step, FOLDER)),
        }),
        StepKind::Release => {
            let release = deliverables.release(&step.name);
            json!({
                "repoURL": repository(release),
                "chart": release.chart.name,
                "targetRevision": release.chart.version,
                "helm": {"releaseName": release.name},
            })
        }
    };
    let mut options = vec!["ServerSideApply=true"];
    if has_unmanaged_crds(deliverables, step) {
        options.push("SkipDryRunOnMissingResource=true");
    }
    let spec = json!({
        "project": location.cluster,
        "source": source,
        "destination": destination(argocd, destination_namespace(deliverables, step)),
        "syncPolicy": sync_policy(&options),
    });
    let mut object = location.object(APPS, APPLICATION, &location.name(&step.name), &spec);
    if step.kind == StepKind::Release {
        let values = &deliverables.release(&step.name).values;
        let (key, values) = if has_null(values) {
            let text = to_json_text(values);
            (
                "values",
                Node::from_serializable(&text, values.origin.clone()),
            )
        } else {
            ("valuesObject", values.clone())
        };
        set_at(&mut object.node, &["spec", "source", "helm", key], values);
    }
    annotate(&mut object, SYNC_WAVE, text(&wave.to_string()));
    if !installs_crds(deliverables, step) {
        // The name with a path means the same as the one without, of which the API server warns
        // (argoproj/argo-cd `pkg/apis/application/v1alpha1/application_defaults.go`, read 2026-11-26).
        let finalizers = json!(["resources-finalizer.argocd.argoproj.io/foreground"]);
        let finalizers = Node::from_serializable(&finalizers, Origin::default());
        set_at(&mut object.node, &["metadata", "finalizers"], finalizers);
    }
    object
}

/// Whether deleting a step's resources would delete CRDs, and with them objects that gpuc does not manage. Argo CD does
/// not delete such a step when it leaves the tree.
fn installs_crds(deliverables: &Deliverables<'_>, step: &Step) -> bool {
    let is_release = step.kind == StepKind::Release;
    is_release && deliverables.release(&step.name).chart.installs_crds()
}

/// Whether a component has objects whose CRDs are not installed by the tree, so Argo CD may sync them before the CRDs
/// exist. For CRDs in the tree, the sync waves are sufficient.
fn has_unmanaged_crds(deliverables: &Deliverables<'_>, step: &Step) -> bool {
    let is_known = |group: &str| {
        let mut charts = deliverables.releases.iter().map(|release| release.chart);
        BUILT_IN.contains(&group) || charts.any(|chart| chart.api_groups.contains(&group))
    };
    let mut objects = deliverables.objects_of(&step.name);
    step.kind == StepKind::Component
        && objects.any(|object| !is_known(group(&object.identity.api_version)))
}

/// The API groups that every cluster has: kubernetes/kubernetes `pkg/apis` and `staging/src` @v1.34, 2026-11-21.
const BUILT_IN: &[&str] = &[
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Argo CD deploys a commit immediately, reverts changes in the cluster, and retries without limit, because nodes may
/// take longer than any limit.
fn sync_policy(options: &[&str]) -> Json {
    json!({
        "automated": {"prune": true, "selfHeal": true},
        "retry": {
            "limit": -1,
            "backoff": {"duration": "15s", "factor": 2, "maxDuration": "5m"},
        },
        "syncOptions": options,
    })
}

fn destination(argocd: &Argocd, namespace: &str) -> Json {
    match &argocd.cluster {
        Some(name) => json!({"name": name.value, "namespace": namespace}),
        None => json!({"server": IN_CLUSTER, "namespace": namespace}),
    }
}

/// A namespace of the step's own: a project rejects an Application whose namespace is not in its list, whatever the
/// Application creates.
fn destination_namespace<'p>(deliverables: &Deliverables<'p>, step: &Step) -> &'p str {
    match step.kind {
        StepKind::Release => &deliverables.release(&step.name).namespace,
        StepKind::Component => {
            let mut objects = deliverables.objects_of(&step.name);
            objects.find_map(namespace).unwrap_or("default")
        }
    }
}

/// The namespace that an object is in, or that it creates.
fn namespace(object: &Object) -> Option<&str> {
    let identity = &object.identity;
    let created_namespace = (identity.kind == "Namespace").then_some(identity.name.as_str());
    identity.namespace.as_deref().or(created_namespace)
}

/// A chart's repository in Argo CD's format: a registry without its scheme.
fn repository(release: &Release) -> &str {
    let repository = release.repository.as_str();
    repository.strip_prefix("oci://").unwrap_or(repository)
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn text(text: &str) -> Node {
    Node::from_serializable(&text, Origin::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_model::plan::StepDependency;

    #[test]
    fn waves_follow_dependencies() {
        let step = |name: &str, needs: &[&str]| Step {
            name: name.to_owned(),
            kind: StepKind::Component,
            dependencies: needs
                .iter()
                .map(|need| StepDependency {
                    step: (*need).to_owned(),
                    reason: String::new(),
                })
                .collect(),
        };
        let steps = [
            step("a", &[]),
            step("b", &["a"]),
            step("c", &["a", "b"]),
            step("d", &["a"]),
            step("e", &[]),
        ];
        let waves: Vec<_> = sync_waves(&steps).into_iter().collect();
        assert_eq!(waves, [("a", 0), ("b", 1), ("c", 2), ("d", 1), ("e", 0)]);
    }
}
