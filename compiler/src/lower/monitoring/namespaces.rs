//! The namespace of rules and dashboards. Those of exporters and of Prometheus follow from their charts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{COMPONENT, NAMESPACE, labels};
use crate::check::Checked;
use crate::node::Origin;
use crate::plan::Object;

/// The namespace. No pod runs there.
pub(super) fn namespaces(cluster: &Checked<'_>) -> Vec<Object> {
    let monitoring = cluster.written.monitoring.as_ref();
    let asked = monitoring.map(|it| it.span);
    let why = "rules and dashboards have a namespace of their own";
    vec![namespace(NAMESPACE, "restricted", Origin::rule(asked, why))]
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
