//! The namespaces of charts and workloads, with their Pod Security Standards.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::{KUBE_SYSTEM, Object, PodSecurity, Release};
use gpuc_syntax::node::Origin;
use gpuc_syntax::source::Span;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::workloads;

/// The folder of the manifests.
const COMPONENT: &str = "namespaces";

/// The namespaces, except those in other objects and those that every cluster has.
pub(super) fn namespaces(
    cluster: &Checked<'_>,
    releases: &[Release],
    objects: &[Object],
) -> Vec<Object> {
    let mut found: BTreeMap<&str, (PodSecurity, Vec<Span>)> = BTreeMap::new();
    for release in releases.iter().filter(|it| it.namespace != KUBE_SYSTEM) {
        let level = release.chart.pod_security;
        let entry = found
            .entry(&release.namespace)
            .or_insert((level, Vec::new()));
        entry.0 = entry.0.max(level);
        entry.1.extend(release.values.origin.inputs());
    }
    let exists = |name: &str| {
        let mut identities = objects.iter().map(|object| &object.identity);
        identities.any(|identity| identity.kind == "Namespace" && identity.name == name)
    };
    let of_workloads = workloads::namespaces(cluster).into_iter();
    let of_workloads = of_workloads.filter(|(name, ..)| {
        !exists(name) && !found.contains_key(name.as_str()) && !is_built_in(name)
    });
    let of_workloads = of_workloads.map(|(name, privileged, origin)| {
        let mut object = namespace(&name, PodSecurity::Baseline);
        // `audit` and `warn` keep the stricter level for the other workloads.
        if privileged && let Some(labels) = &mut object.metadata.labels {
            let level = PodSecurity::Privileged.as_str().to_owned();
            labels.insert("pod-security.kubernetes.io/enforce".to_owned(), level);
        }
        Object::new(COMPONENT, &object, origin)
    });
    let of_workloads: Vec<_> = of_workloads.collect();
    let missing = found.into_iter().filter(|(name, _)| !exists(name));
    missing
        .map(|(name, (level, mut inputs))| {
            inputs.sort_unstable();
            inputs.dedup();
            let reason =
                "a chart is installed there, and its pods require this Pod Security Standard";
            Object::new(
                COMPONENT,
                &namespace(name, level),
                Origin::rule(inputs, reason),
            )
        })
        .chain(of_workloads)
        .collect()
}

/// Whether Kubernetes itself creates the namespace.
fn is_built_in(name: &str) -> bool {
    matches!(
        name,
        KUBE_SYSTEM | "default" | "kube-public" | "kube-node-lease"
    )
}

fn namespace(name: &str, level: PodSecurity) -> Namespace {
    let levels = ["enforce", "audit", "warn"].map(|mode| {
        let key = format!("pod-security.kubernetes.io/{mode}");
        (key, level.as_str().to_owned())
    });
    let owner = ("app.kubernetes.io/managed-by".to_owned(), "gpuc".to_owned());
    Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(levels.into_iter().chain([owner]).collect()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    }
}
