//! The namespaces of teams.

use gpuc_model::Team;
use gpuc_model::plan::Object;
use gpuc_schema::config::PodSecurityLevel;
use gpuc_syntax::node::Origin;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{COMPONENT, labels, spans};

/// A team's namespace.
pub(super) fn object(team: &Team, index: usize) -> Object {
    let level = &team.settings.pod_security;
    let word = match level.value {
        PodSecurityLevel::Privileged => "privileged",
        PodSecurityLevel::Baseline => "baseline",
        PodSecurityLevel::Restricted => "restricted",
    };
    let levels = ["enforce", "audit", "warn"].map(|mode| {
        let key = format!("pod-security.kubernetes.io/{mode}");
        (key, word.to_owned())
    });
    let object = Namespace {
        metadata: ObjectMeta {
            name: Some(team.namespaces[index].value.clone()),
            labels: Some(labels(team).into_iter().chain(levels).collect()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let inputs = spans(team, index).into_iter().chain([level.span]);
    Object::new(
        COMPONENT,
        &object,
        Origin::rule(inputs, "the namespace belongs to the team"),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::charts::CHARTS;
    use crate::lower::RUNTIME_NAMESPACE;
    use gpuc_model::CHART_NAMESPACES;
    use gpuc_model::plan::KUBE_SYSTEM;

    #[test]
    fn namespaces_of_charts_are_reserved() {
        let is_own_namespace = |name: &&str| *name != KUBE_SYSTEM && !name.starts_with("gpuc-");
        let charts = CHARTS
            .iter()
            .map(|chart| chart.namespace)
            .filter(is_own_namespace);
        let named = CHART_NAMESPACES.iter().copied();
        assert_eq!(charts.collect::<BTreeSet<_>>(), named.collect());
        assert!(RUNTIME_NAMESPACE.starts_with("gpuc-"));
    }
}
