//! Argo CD: an Application for each step, in waves, and one that brings them.
//!
//! Sources, read 2026-11-21: argo-cd.readthedocs.io/en/stable/operator-manual/{cluster-bootstrapping,
//! declarative-setup}, …/user-guide/{sync-options,sync-waves,projects,helm}.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_schema::config::Argocd;
use serde_json::{Value as Json, json};

use super::{Goods, Place, annotate, as_text, has_null, put};
use crate::chart::KUBE_SYSTEM;
use crate::node::{Node, Origin};
use crate::plan::{Delivery, Guide, Object, Release, Step, What};

/// The folder of the objects, below the cluster's.
const FOLDER: &str = "argocd";

/// The folder below that one that Argo CD itself looks at.
const APPS: &str = "apps";

const APPLICATION: (&str, &str) = ("argoproj.io/v1alpha1", "Application");
const PROJECT: (&str, &str) = ("argoproj.io/v1alpha1", "AppProject");

/// The cluster that Argo CD runs in, as Argo CD calls it.
const IN_CLUSTER: &str = "https://kubernetes.default.svc";

/// The objects for Argo CD.
pub(super) fn delivery(cluster: &str, argocd: &Argocd, goods: &Goods<'_>) -> Delivery {
    let place = Place {
        cluster,
        repository: &argocd.repository,
        branch: &argocd.branch,
        path: &argocd.path,
        namespace: &argocd.namespace,
    };
    let waves = waves(goods.steps);
    let steps = goods.steps.iter();
    let mut objects = vec![
        root_project(&place),
        root(&place),
        project(&place, argocd, goods),
    ];
    objects.extend(steps.map(|step| application(&place, argocd, goods, step, waves[&*step.name])));
    Delivery::Gitops {
        tool: "Argo CD",
        folder: FOLDER,
        objects,
        guide: Guide {
            renders: true,
            ..place.guide([None; 2], argocd.cluster.is_some(), LEAVING)
        },
    }
}

/// The Application that brings the others first, then those without the finalizer that removes what they brought.
///
/// Source: argo-cd.readthedocs.io user-guide/app_deletion, read 2026-11-21.
const LEAVING: &[&str] = &[
    "kubectl delete --ignore-not-found --kustomize argocd",
    r#"kubectl patch --kustomize argocd/apps --type merge --patch '{"metadata": {"finalizers": null}}'"#,
    "kubectl delete --ignore-not-found --kustomize argocd/apps",
];

/// What keeps Argo CD from removing namespaces, in which other people's things may be by then, and volumes. A job,
/// which Kubernetes does not let change, is made anew.
///
/// Source: argoproj/argo-cd@v3.5.1 docs/user-guide/sync-options.md, read 2026-11-21.
pub(super) fn protections(object: &Object) -> Vec<(&'static str, &'static str)> {
    let mut protections = Vec::new();
    if super::is_kept(object) {
        protections.push((SYNC_OPTIONS, "Prune=false,Delete=false"));
    }
    if super::is_fixed(object) {
        protections.push((SYNC_OPTIONS, "Force=true,Replace=true"));
    }
    protections
}

const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// The wave of each step: one more than the last of what it needs.
fn waves(steps: &[Step]) -> BTreeMap<&str, usize> {
    let mut waves: BTreeMap<&str, usize> = BTreeMap::new();
    for step in steps {
        let needs = step.needs.iter();
        let before = needs.filter_map(|need| waves.get(need.step.as_str()));
        let wave = before.max().map_or(0, |wave| wave + 1);
        waves.insert(&step.name, wave);
    }
    waves
}

/// The limits of the Application that brings the others: it makes these in Argo CD's namespace, and nothing else.
fn root_project(place: &Place<'_>) -> Object {
    let kinds =
        [APPLICATION.1, PROJECT.1].map(|kind| json!({"group": "argoproj.io", "kind": kind}));
    let spec = json!({
        "description": format!("What brings the Applications of cluster {}", place.cluster),
        "sourceRepos": [place.repository.value],
        "destinations": [{"server": IN_CLUSTER, "namespace": place.namespace.value}],
        "clusterResourceWhitelist": [],
        "namespaceResourceWhitelist": kinds,
    });
    place.object("", PROJECT, &place.name("root"), &spec)
}

/// The Application that brings all others. Without a finalizer: to delete it stops Argo CD and removes nothing.
fn root(place: &Place<'_>) -> Object {
    let spec = json!({
        "project": place.name("root"),
        "source": {
            "repoURL": place.repository.value,
            "targetRevision": place.branch.value,
            "path": place.folder(&format!("{FOLDER}/{APPS}")),
        },
        "destination": {"server": IN_CLUSTER, "namespace": place.namespace.value},
        "syncPolicy": sync_policy(&["ServerSideApply=true"]),
    });
    place.object("", APPLICATION, place.cluster, &spec)
}

/// The limits of the steps: the repositories that are used, and this cluster alone.
fn project(place: &Place<'_>, argocd: &Argocd, goods: &Goods<'_>) -> Object {
    let charts = goods.releases.iter().map(repository);
    let repositories: BTreeSet<_> = charts.chain([&*place.repository.value]).collect();
    let of_objects = goods.objects.iter().filter_map(namespace);
    let of_releases = goods.releases.iter().map(|it| it.namespace.as_str());
    let mut namespaces: BTreeSet<_> = of_objects.chain(of_releases).collect();
    let steps = goods.steps.iter();
    namespaces.extend(steps.map(|step| destination_namespace(goods, step)));
    let kinds = if goods.releases.is_empty() {
        cluster_kinds(goods.objects)
    } else {
        // Charts put services and role bindings there: kube-prometheus-stack those by which the parts of the control
        // plane are scraped (from memory), kueue the one by which its own API knows who asks
        // (kubernetes-sigs/kueue `charts/kueue/templates/visibility/role_binding.yaml`, read 2026-11-21). Into
        // Kubernetes' other namespaces they put nothing. Which kinds of objects they make changes from version to
        // version; most make cluster roles, and who may make those may make anything.
        namespaces.insert(KUBE_SYSTEM);
        vec![json!({"group": "*", "kind": "*"})]
    };
    let destinations = namespaces.iter();
    let destinations = destinations.map(|namespace| destination(argocd, namespace));
    let spec = json!({
        "description": format!("What gpuc brings to cluster {}", place.cluster),
        "sourceRepos": repositories,
        "destinations": destinations.collect::<Vec<_>>(),
        "clusterResourceWhitelist": kinds,
    });
    let mut object = place.object(APPS, PROJECT, place.cluster, &spec);
    // Before the first Application, and for as long as there is one.
    annotate(&mut object, SYNC_WAVE, text("-1"));
    object
}

/// The kinds of what is in no namespace.
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
    place: &Place<'_>,
    argocd: &Argocd,
    goods: &Goods<'_>,
    step: &Step,
    wave: usize,
) -> Object {
    let source = match step.what {
        What::Component => json!({
            "repoURL": place.repository.value,
            "targetRevision": place.branch.value,
            "path": place.folder(&Goods::folder(step, FOLDER)),
        }),
        What::Release => {
            let release = goods.release(&step.name);
            json!({
                "repoURL": repository(release),
                "chart": release.chart.name,
                "targetRevision": release.chart.version,
                "helm": {"releaseName": release.name},
            })
        }
    };
    let mut options = vec!["ServerSideApply=true"];
    if brings_foreign_kinds(goods, step) {
        options.push("SkipDryRunOnMissingResource=true");
    }
    let spec = json!({
        "project": place.cluster,
        "source": source,
        "destination": destination(argocd, destination_namespace(goods, step)),
        "syncPolicy": sync_policy(&options),
    });
    let mut object = place.object(APPS, APPLICATION, &place.name(&step.name), &spec);
    if step.what == What::Release {
        let values = &goods.release(&step.name).values;
        let (key, values) = if has_null(values) {
            let text = as_text(values);
            ("values", Node::typed(&text, values.origin.clone()))
        } else {
            ("valuesObject", values.clone())
        };
        put(&mut object.node, &["spec", "source", "helm", key], values);
    }
    annotate(&mut object, SYNC_WAVE, text(&wave.to_string()));
    if !brings_kinds(goods, step) {
        let finalizers = json!(["resources-finalizer.argocd.argoproj.io"]);
        let finalizers = Node::typed(&finalizers, Origin::default());
        put(&mut object.node, &["metadata", "finalizers"], finalizers);
    }
    object
}

/// Whether with a step that leaves the tree would go the kinds of other people's objects, and with them these. Such a
/// step stays.
fn brings_kinds(goods: &Goods<'_>, step: &Step) -> bool {
    let is_release = step.what == What::Release;
    is_release && goods.release(&step.name).chart.brings_kinds()
}

/// Whether a component has objects whose kinds nothing in the tree brings, so that Argo CD may meet them before their
/// kinds. For what is in the tree the waves are enough.
fn brings_foreign_kinds(goods: &Goods<'_>, step: &Step) -> bool {
    let is_known = |group: &str| {
        let mut charts = goods.releases.iter().map(|release| release.chart);
        BUILT_IN.contains(&group) || charts.any(|chart| chart.groups.contains(&group))
    };
    let mut objects = goods.of_component(&step.name);
    step.what == What::Component
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

/// A commit is brought at once, what somebody changed in the cluster is changed back, and what failed is tried again
/// until it works: nodes may take longer than any limit.
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

/// A namespace of the step's own: a project refuses an Application whose namespace is not in its list, whatever that
/// makes.
fn destination_namespace<'p>(goods: &Goods<'p>, step: &Step) -> &'p str {
    match step.what {
        What::Release => &goods.release(&step.name).namespace,
        What::Component => {
            let mut objects = goods.of_component(&step.name);
            objects.find_map(namespace).unwrap_or("default")
        }
    }
}

/// The namespace that an object is in, or makes.
fn namespace(object: &Object) -> Option<&str> {
    let identity = &object.identity;
    let made = (identity.kind == "Namespace").then_some(identity.name.as_str());
    identity.namespace.as_deref().or(made)
}

/// A chart's repository as Argo CD wants it: a registry without its scheme.
fn repository(release: &Release) -> &str {
    let repository = release.repository.as_str();
    repository.strip_prefix("oci://").unwrap_or(repository)
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn text(text: &str) -> Node {
    Node::typed(&text, Origin::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Need;

    #[test]
    fn a_wave_comes_after_everything_that_is_needed() {
        let step = |name: &str, needs: &[&str]| Step {
            name: name.to_owned(),
            what: What::Component,
            needs: needs
                .iter()
                .map(|need| Need {
                    step: (*need).to_owned(),
                    because: String::new(),
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
        let waves: Vec<_> = waves(&steps).into_iter().collect();
        assert_eq!(waves, [("a", 0), ("b", 1), ("c", 2), ("d", 1), ("e", 0)]);
    }
}
