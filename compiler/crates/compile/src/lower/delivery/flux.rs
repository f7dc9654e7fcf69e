//! Flux: a Kustomization for each step, and a HelmRelease with its source for each release.
//!
//! Sources, read 2026-11-21: fluxcd.io/flux/components/kustomize/kustomizations, …/helm/helmreleases,
//! …/source/{gitrepositories,helmrepositories,ocirepositories}.

use gpuc_model::plan::{Delivery, Object, Release, Step};
use gpuc_schema::config::Flux;
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Map, json};

use super::{
    Deliverables, Location, READY_TIMEOUT, annotate, fingerprint, has_null, has_variables, set_at,
    to_json_text,
};

/// The folder of the objects, below the cluster's.
const FOLDER: &str = "flux";

const KUSTOMIZATION: (&str, &str) = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization");
const GIT: (&str, &str) = ("source.toolkit.fluxcd.io/v1", "GitRepository");
const HELM: (&str, &str) = ("source.toolkit.fluxcd.io/v1", "HelmRepository");
const OCI: (&str, &str) = ("source.toolkit.fluxcd.io/v1", "OCIRepository");
const RELEASE: (&str, &str) = ("helm.toolkit.fluxcd.io/v2", "HelmRelease");

/// The interval at which Flux corrects drift. Flux applies a new commit sooner.
const INTERVAL: &str = "1h";

/// The interval before Flux retries after a failure.
const RETRY: &str = "2m";

/// The timeout of a step: that of a chart, plus a margin for Flux to observe its end.
const STEP_TIMEOUT: &str = "20m";

/// The objects for Flux.
pub(super) fn delivery(cluster: &str, flux: &Flux, deliverables: &Deliverables<'_>) -> Delivery {
    let location = Location {
        cluster,
        repository: &flux.repository,
        branch: &flux.branch,
        path: &flux.path,
        namespace: &flux.namespace,
    };
    let mut objects = vec![
        git_repository(&location, flux),
        root_kustomization(&location),
    ];
    objects.extend(
        deliverables
            .steps
            .iter()
            .map(|step| step_object(&location, step)),
    );
    let releases = deliverables.releases.iter();
    objects.extend(releases.flat_map(|release| release_objects(&location, flux, release)));
    Delivery::Gitops {
        tool: "Flux",
        folder: FOLDER,
        objects,
        guide: location.guide(
            [flux.secret.as_ref(), flux.chart_secret.as_ref()],
            false,
            MIGRATION_COMMANDS,
        ),
    }
}

/// The commands that stop Flux from managing the tree. Flux neither prunes nor uninstalls for suspended objects; the
/// Kustomizations are suspended first, because they would resume the HelmReleases.
///
/// Source: fluxcd/kustomize-controller `internal/controller/kustomization_controller.go`
/// (`finalizerShouldDeleteResources`); fluxcd/helm-controller `internal/controller/helmrelease_controller.go`
/// (`reconcileDelete`), read 2026-11-21.
const MIGRATION_COMMANDS: &[&str] = &[
    r#"for folder in flux flux/*/; do kubectl patch --kustomize "$folder" --type merge --patch '{"spec": {"suspend": true}}'; done"#,
    r#"for folder in flux flux/*/; do kubectl delete --ignore-not-found --kustomize "$folder"; done"#,
];

/// The annotations that keep Flux from pruning namespaces, which may contain other objects, and volumes, and from
/// substituting variables of shell scripts and dashboards if a parent Kustomization has a `postBuild` section. Flux
/// recreates immutable objects such as jobs.
///
/// Source: fluxcd/kustomize-controller docs/spec/v1/kustomizations.md, read 2026-11-21.
pub(super) fn protection_annotations(object: &Object) -> Vec<(&'static str, &'static str)> {
    let mut protections = Vec::new();
    if super::must_be_retained(object) {
        protections.push(PRUNE);
    }
    if super::is_immutable(object) {
        protections.push(("kustomize.toolkit.fluxcd.io/force", "enabled"));
    }
    if has_variables(&object.node) {
        protections.push(("kustomize.toolkit.fluxcd.io/substitute", "disabled"));
    }
    protections
}

const PRUNE: (&str, &str) = ("kustomize.toolkit.fluxcd.io/prune", "disabled");

fn git_repository(location: &Location<'_>, flux: &Flux) -> Object {
    let secret = flux.secret.as_ref().map(|name| json!({"name": name.value}));
    let spec = json!({
        "interval": "5m",
        "url": flux.repository.value,
        "ref": {"branch": flux.branch.value},
        "secretRef": secret,
    });
    location.object("", GIT, location.cluster, &spec)
}

/// The root Kustomization, which applies all others and itself, so Flux applies new steps automatically.
fn root_kustomization(location: &Location<'_>) -> Object {
    let spec = json!({
        "interval": INTERVAL,
        "retryInterval": RETRY,
        "timeout": "5m",
        "prune": true,
        "path": format!("./{}", location.folder(FOLDER)),
        "sourceRef": {"kind": GIT.1, "name": location.cluster},
    });
    location.object("", KUSTOMIZATION, location.cluster, &spec)
}

fn step_object(location: &Location<'_>, step: &Step) -> Object {
    let needs = step.dependencies.iter();
    let needs: Vec<_> = needs
        .map(|need| json!({"name": location.name(&need.step)}))
        .collect();
    let spec = json!({
        "dependsOn": (!needs.is_empty()).then_some(needs),
        "interval": INTERVAL,
        "retryInterval": RETRY,
        "timeout": STEP_TIMEOUT,
        "prune": true,
        "wait": true,
        "path": format!("./{}", location.folder(&Deliverables::folder(step, FOLDER))),
        "sourceRef": {"kind": GIT.1, "name": location.cluster},
    });
    location.object("", KUSTOMIZATION, &location.name(&step.name), &spec)
}

/// A HelmRelease, its source, and a ConfigMap of values that cannot be inline. Flux does not prune a release with CRDs
/// that leaves the tree: deleting the CRDs would delete all objects of these kinds.
fn release_objects(location: &Location<'_>, flux: &Flux, release: &Release) -> Vec<Object> {
    let name = location.name(&release.name);
    let values = has_null(&release.values).then(|| values_config_map(location, release, &name));
    let mut objects = vec![
        chart_source(location, flux, release, &name),
        helm_release(location, release, &name, values.as_ref()),
    ];
    objects.extend(values);
    for object in &mut objects {
        let mut protections = protection_annotations(object);
        if release.chart.installs_crds() {
            protections.push(PRUNE);
        }
        for (key, value) in protections {
            annotate(
                object,
                key,
                Node::from_serializable(&value, Origin::default()),
            );
        }
    }
    objects
}

/// Values as text, in a ConfigMap whose name changes with them, so Flux applies a change immediately.
fn values_config_map(location: &Location<'_>, release: &Release, name: &str) -> Object {
    let text = to_json_text(&release.values);
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("{name}-values-{:08x}", fingerprint(&text)),
            "namespace": location.namespace.value,
        },
        "data": {VALUES_KEY: text},
    });
    Object::new(&release.name, &object, release.values.origin.clone())
}

const VALUES_KEY: &str = "values.json";

/// The source of a chart. A Secret is used for the mirror only: public charts need none.
fn chart_source(location: &Location<'_>, flux: &Flux, release: &Release, name: &str) -> Object {
    let chart = release.chart;
    if !release.is_oci() {
        let spec = json!({"interval": INTERVAL, "url": release.repository});
        return location.object(&release.name, HELM, name, &spec);
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
    location.object(&release.name, OCI, name, &spec)
}

fn helm_release(
    location: &Location<'_>,
    release: &Release,
    name: &str,
    values: Option<&Object>,
) -> Object {
    let chart = release.chart;
    let mut spec = Map::new();
    spec.insert("interval".to_owned(), json!(INTERVAL));
    spec.insert("timeout".to_owned(), json!(READY_TIMEOUT));
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
    // Helm itself never updates the CRDs in a chart's folder `crds`.
    let crds = chart.needs_crd_updates().then_some("CreateReplace");
    // Pods on GPU nodes become ready after the nodes do: a timeout must not uninstall the release.
    let strategy = json!({"name": "RetryOnFailure", "retryInterval": RETRY});
    for phase in ["install", "upgrade"] {
        let settings = json!({"crds": crds, "strategy": strategy});
        spec.insert(phase.to_owned(), settings);
    }
    if let Some(values) = values {
        let from =
            json!({"kind": "ConfigMap", "name": values.identity.name, "valuesKey": VALUES_KEY});
        spec.insert("valuesFrom".to_owned(), json!([from]));
        return location.object(&release.name, RELEASE, name, &json!(spec));
    }
    let mut object = location.object(&release.name, RELEASE, name, &json!(spec));
    set_at(
        &mut object.node,
        &["spec", "values"],
        release.values.clone(),
    );
    object
}
