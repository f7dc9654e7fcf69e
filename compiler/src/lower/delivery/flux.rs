//! Flux: a Kustomization for each step, and a HelmRelease with its source for each release.
//!
//! Sources, read 2026-11-21: fluxcd.io/flux/components/kustomize/kustomizations, …/helm/helmreleases,
//! …/source/{gitrepositories,helmrepositories,ocirepositories}.

use gpuc_schema::config::Flux;
use serde_json::{Map, json};

use super::{
    Goods, Place, READY_WITHIN, annotate, as_text, fingerprint, has_null, has_variables, put,
};
use crate::node::{Node, Origin};
use crate::plan::{Delivery, Object, Release, Step};

/// The folder of the objects, below the cluster's.
const FOLDER: &str = "flux";

const KUSTOMIZATION: (&str, &str) = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization");
const GIT: (&str, &str) = ("source.toolkit.fluxcd.io/v1", "GitRepository");
const HELM: (&str, &str) = ("source.toolkit.fluxcd.io/v1", "HelmRepository");
const OCI: (&str, &str) = ("source.toolkit.fluxcd.io/v1", "OCIRepository");
const RELEASE: (&str, &str) = ("helm.toolkit.fluxcd.io/v2", "HelmRelease");

/// How often Flux looks whether the cluster still is as it should be. A commit is seen at once.
const INTERVAL: &str = "1h";

/// How long Flux waits before it tries again what failed.
const RETRY: &str = "2m";

/// How long a step may take: a chart's own time, and some for Flux to see the end of it.
const STEP_WITHIN: &str = "20m";

/// The objects for Flux.
pub(super) fn delivery(cluster: &str, flux: &Flux, goods: &Goods<'_>) -> Delivery {
    let place = Place {
        cluster,
        repository: &flux.repository,
        branch: &flux.branch,
        path: &flux.path,
        namespace: &flux.namespace,
    };
    let mut objects = vec![repository(&place, flux), root(&place)];
    objects.extend(goods.steps.iter().map(|step| step_object(&place, step)));
    let releases = goods.releases.iter();
    objects.extend(releases.flat_map(|release| release_objects(&place, flux, release)));
    Delivery::Gitops {
        tool: "Flux",
        folder: FOLDER,
        objects,
        guide: place.guide(
            [flux.secret.as_ref(), flux.chart_secret.as_ref()],
            false,
            LEAVING,
        ),
    }
}

/// Flux neither prunes nor uninstalls for what is suspended; the Kustomizations go first, because they would wake the
/// `HelmRelease`s again.
///
/// Source: fluxcd/kustomize-controller `internal/controller/kustomization_controller.go`
/// (`finalizerShouldDeleteResources`); fluxcd/helm-controller `internal/controller/helmrelease_controller.go`
/// (`reconcileDelete`), read 2026-11-21.
const LEAVING: &[&str] = &[
    r#"for folder in flux flux/*/; do kubectl patch --kustomize "$folder" --type merge --patch '{"spec": {"suspend": true}}'; done"#,
    r#"for folder in flux flux/*/; do kubectl delete --ignore-not-found --kustomize "$folder"; done"#,
];

/// What keeps Flux from removing namespaces, in which other people's things may be by then, and volumes; and from
/// taking a shell's or a dashboard's variables for its own where somebody brings the tree by a Kustomization that has
/// some. A job, which Kubernetes does not let change, is made anew.
///
/// Source: fluxcd/kustomize-controller docs/spec/v1/kustomizations.md, read 2026-11-21.
pub(super) fn protections(object: &Object) -> Vec<(&'static str, &'static str)> {
    let mut protections = Vec::new();
    if super::is_kept(object) {
        protections.push(PRUNE);
    }
    if super::is_fixed(object) {
        protections.push(("kustomize.toolkit.fluxcd.io/force", "enabled"));
    }
    if has_variables(&object.node) {
        protections.push(("kustomize.toolkit.fluxcd.io/substitute", "disabled"));
    }
    protections
}

const PRUNE: (&str, &str) = ("kustomize.toolkit.fluxcd.io/prune", "disabled");

fn repository(place: &Place<'_>, flux: &Flux) -> Object {
    let secret = flux.secret.as_ref().map(|name| json!({"name": name.value}));
    let spec = json!({
        "interval": "5m",
        "url": flux.repository.value,
        "ref": {"branch": flux.branch.value},
        "secretRef": secret,
    });
    place.object("", GIT, place.cluster, &spec)
}

/// The one that brings all others, itself included: a new step is seen without anybody's doing.
fn root(place: &Place<'_>) -> Object {
    let spec = json!({
        "interval": INTERVAL,
        "retryInterval": RETRY,
        "timeout": "5m",
        "prune": true,
        "path": format!("./{}", place.folder(FOLDER)),
        "sourceRef": {"kind": GIT.1, "name": place.cluster},
    });
    place.object("", KUSTOMIZATION, place.cluster, &spec)
}

fn step_object(place: &Place<'_>, step: &Step) -> Object {
    let needs = step.needs.iter();
    let needs: Vec<_> = needs
        .map(|need| json!({"name": place.name(&need.step)}))
        .collect();
    let spec = json!({
        "dependsOn": (!needs.is_empty()).then_some(needs),
        "interval": INTERVAL,
        "retryInterval": RETRY,
        "timeout": STEP_WITHIN,
        "prune": true,
        "wait": true,
        "path": format!("./{}", place.folder(&Goods::folder(step, FOLDER))),
        "sourceRef": {"kind": GIT.1, "name": place.cluster},
    });
    place.object("", KUSTOMIZATION, &place.name(&step.name), &spec)
}

/// A HelmRelease, where its chart comes from, and its values where they cannot stand in it. One that brings kinds stays
/// when it leaves the tree: with the kinds would go everybody's objects of them.
fn release_objects(place: &Place<'_>, flux: &Flux, release: &Release) -> Vec<Object> {
    let name = place.name(&release.name);
    let values = has_null(&release.values).then(|| values(place, release, &name));
    let mut objects = vec![
        source(place, flux, release, &name),
        helm_release(place, release, &name, values.as_ref()),
    ];
    objects.extend(values);
    for object in &mut objects {
        let mut protections = protections(object);
        if release.chart.brings_kinds() {
            protections.push(PRUNE);
        }
        for (key, value) in protections {
            annotate(object, key, Node::typed(&value, Origin::default()));
        }
    }
    objects
}

/// Values as text, in an object whose name changes with them, so that Flux sees a change at once.
fn values(place: &Place<'_>, release: &Release, name: &str) -> Object {
    let text = as_text(&release.values);
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("{name}-values-{:08x}", fingerprint(&text)),
            "namespace": place.namespace.value,
        },
        "data": {VALUES_KEY: text},
    });
    Object::new(&release.name, &object, release.values.origin.clone())
}

const VALUES_KEY: &str = "values.json";

/// Where a chart comes from. A Secret is for the mirror alone: charts that others publish need none.
fn source(place: &Place<'_>, flux: &Flux, release: &Release, name: &str) -> Object {
    let chart = release.chart;
    if !release.is_oci() {
        let spec = json!({"interval": INTERVAL, "url": release.repository});
        return place.object(&release.name, HELM, name, &spec);
    }
    let spec = json!({
        "interval": INTERVAL,
        "url": release.oci_url(),
        "ref": {"tag": chart.version},
        "secretRef": flux.chart_secret.as_ref().map(|name| json!({"name": name.value})),
        "layerSelector": {
            "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
            "operation": "copy",
        },
    });
    place.object(&release.name, OCI, name, &spec)
}

fn helm_release(
    place: &Place<'_>,
    release: &Release,
    name: &str,
    values: Option<&Object>,
) -> Object {
    let chart = release.chart;
    let mut spec = Map::new();
    spec.insert("interval".to_owned(), json!(INTERVAL));
    spec.insert("timeout".to_owned(), json!(READY_WITHIN));
    spec.insert("releaseName".to_owned(), json!(release.name));
    spec.insert("targetNamespace".to_owned(), json!(release.namespace));
    spec.insert("storageNamespace".to_owned(), json!(release.namespace));
    if release.is_oci() {
        let source = json!({"kind": OCI.1, "name": name});
        spec.insert("chartRef".to_owned(), source);
    } else {
        let source = json!({
            "chart": chart.name,
            "version": chart.version,
            "interval": INTERVAL,
            "sourceRef": {"kind": HELM.1, "name": name},
        });
        spec.insert("chart".to_owned(), json!({"spec": source}));
    }
    // Helm itself never changes what it once made from a chart's folder of kinds.
    let crds = chart.needs_kinds_updated().then_some("CreateReplace");
    // What runs on GPU nodes is ready when they are: that an attempt took too long is no reason to take it away again.
    let strategy = json!({"name": "RetryOnFailure", "retryInterval": RETRY});
    for phase in ["install", "upgrade"] {
        let settings = json!({"crds": crds, "strategy": strategy});
        spec.insert(phase.to_owned(), settings);
    }
    if let Some(values) = values {
        let from =
            json!({"kind": "ConfigMap", "name": values.identity.name, "valuesKey": VALUES_KEY});
        spec.insert("valuesFrom".to_owned(), json!([from]));
        return place.object(&release.name, RELEASE, name, &json!(spec));
    }
    let mut object = place.object(&release.name, RELEASE, name, &json!(spec));
    put(
        &mut object.node,
        &["spec", "values"],
        release.values.clone(),
    );
    object
}
