//! The namespaces.

use gpuc_schema::config::PodSecurityLevel;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{COMPONENT, labels, places};
use crate::model::Team;
use crate::node::Origin;
use crate::plan::Object;

/// A team's namespace.
pub(super) fn object(team: &Team, index: usize) -> Object {
    let level = &team.written.pod_security;
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
    let inputs = places(team, index).into_iter().chain([level.span]);
    Object::new(
        COMPONENT,
        &object,
        Origin::rule(inputs, "the team works there"),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::chart::{CHARTS, KUBE_SYSTEM};
    use crate::lower::RUNTIME_NAMESPACE;
    use crate::model::CHART_NAMESPACES;

    #[test]
    fn no_team_can_have_what_charts_run_in() {
        let own = |name: &&str| *name != KUBE_SYSTEM && !name.starts_with("gpuc-");
        let charts = CHARTS.iter().map(|chart| chart.namespace).filter(own);
        let named = CHART_NAMESPACES.iter().copied();
        assert_eq!(charts.collect::<BTreeSet<_>>(), named.collect());
        assert!(RUNTIME_NAMESPACE.starts_with("gpuc-"));
    }
}
