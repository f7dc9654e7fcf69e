//! The namespaces of what watches: one for rules and dashboards, one for each release of dcgm-exporter, one for what is
//! installed of Prometheus.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::exporter::{Measures, measures};
use super::{COMPONENT, NAMESPACE, labels};
use crate::chart::{dcgm_exporter, kube_prometheus_stack};
use crate::check::Checked;
use crate::model::Pool;
use crate::node::Origin;
use crate::plan::Object;

/// The namespaces.
pub(super) fn namespaces(cluster: &Checked<'_>) -> Vec<Object> {
    let monitoring = cluster.written.monitoring.as_ref();
    let asked: Vec<_> = monitoring.map(|it| it.span).into_iter().collect();
    let own = Origin::rule(
        asked.clone(),
        "rules and dashboards have a namespace of their own",
    );
    // No pod runs there.
    let mut namespaces = vec![namespace(NAMESPACE, "restricted", own)];
    let pools = cluster.pools.iter();
    for pool in pools.filter(|pool| measures(cluster, pool) == Some(Measures::Dcgm)) {
        namespaces.push(of_exporter(pool, asked.clone()));
    }
    if kube_prometheus_stack::is_wanted(cluster) {
        let why = "the exporter of nodes mounts their folders and is in their network";
        let origin = Origin::rule(asked, why);
        // prometheus-node-exporter's chart has `hostNetwork`, `hostPID` and mounts of `/`, `/proc` and `/sys`.
        let name = kube_prometheus_stack::NAMESPACE;
        namespaces.push(namespace(name, "privileged", origin));
    }
    namespaces
}

/// The exporter mounts the kubelet's folder, which every level below forbids.
fn of_exporter(pool: &Pool, asked: Vec<gpuc_schema::Span>) -> Object {
    let inputs = asked.into_iter().chain([pool.name.span]);
    let why = "releases of dcgm-exporter cannot share a namespace: the name of their list of metrics is fixed";
    let origin = Origin::rule(inputs, why);
    namespace(&dcgm_exporter::namespace(pool), "privileged", origin)
}

fn namespace(name: &str, level: &str, origin: Origin) -> Object {
    let levels = ["enforce", "audit", "warn"].map(|mode| {
        let key = format!("pod-security.kubernetes.io/{mode}");
        (key, level.to_owned())
    });
    let all: BTreeMap<_, _> = labels().into_iter().chain(levels).collect();
    let object = Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(all),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    Object::new(COMPONENT, &object, origin)
}
