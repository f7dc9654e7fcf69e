//! The namespaces that charts are installed in and workloads run in, with what their pods may do.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::workloads;
use crate::chart::{KUBE_SYSTEM, PodSecurity};
use crate::check::Checked;
use crate::node::Origin;
use crate::plan::{Object, Release};
use crate::source::Span;

/// The folder of the manifests.
const COMPONENT: &str = "namespaces";

/// The namespaces, but for those that other objects make and those that every cluster has.
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
    let made = |name: &str| {
        let mut identities = objects.iter().map(|object| &object.identity);
        identities.any(|identity| identity.kind == "Namespace" && identity.name == name)
    };
    let of_workloads = workloads::namespaces(cluster).into_iter();
    let of_workloads = of_workloads.filter(|(name, ..)| {
        !made(name) && !found.contains_key(name.as_str()) && !is_of_every_cluster(name)
    });
    let of_workloads = of_workloads.map(|(name, privileged, origin)| {
        let mut object = namespace(&name, PodSecurity::Baseline);
        // What is let in for one workload's sake is still seen where others do it.
        if privileged && let Some(labels) = &mut object.metadata.labels {
            let level = PodSecurity::Privileged.word().to_owned();
            labels.insert("pod-security.kubernetes.io/enforce".to_owned(), level);
        }
        Object::new(COMPONENT, &object, origin)
    });
    let of_workloads: Vec<_> = of_workloads.collect();
    let missing = found.into_iter().filter(|(name, _)| !made(name));
    missing
        .map(|(name, (level, mut inputs))| {
            inputs.sort_unstable();
            inputs.dedup();
            let why = "a chart is installed there, and its pods need these rights";
            Object::new(
                COMPONENT,
                &namespace(name, level),
                Origin::rule(inputs, why),
            )
        })
        .chain(of_workloads)
        .collect()
}

/// Whether Kubernetes itself makes the namespace.
fn is_of_every_cluster(name: &str) -> bool {
    matches!(
        name,
        KUBE_SYSTEM | "default" | "kube-public" | "kube-node-lease"
    )
}

fn namespace(name: &str, level: PodSecurity) -> Namespace {
    let levels = ["enforce", "audit", "warn"].map(|mode| {
        let key = format!("pod-security.kubernetes.io/{mode}");
        (key, level.word().to_owned())
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
