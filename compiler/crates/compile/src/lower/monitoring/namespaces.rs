//! The namespace of rules and dashboards. The namespaces of exporters and of Prometheus follow from their charts.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_syntax::node::Origin;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{COMPONENT, NAMESPACE, labels};

/// The namespace, in which no pod runs.
pub(super) fn namespaces(cluster: &Checked<'_>) -> Vec<Object> {
    let monitoring = cluster.config.monitoring.as_ref();
    let span = monitoring.map(|it| it.span);
    let reason = "rules and dashboards have their own namespace";
    vec![namespace(
        NAMESPACE,
        "restricted",
        Origin::rule(span, reason),
    )]
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
