//! The DaemonSet of a pool.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::derive::origins;
use gpuc_model::operator::DEPLOY_CLIENT_LABEL;
use gpuc_model::plan::Object;
use gpuc_model::{Pool, Sharing};
use gpuc_schema::config::DriverOwner;
use gpuc_syntax::node::Origin;
use k8s_openapi::api::apps::v1::{
    DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet,
};
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec,
    PodTemplateSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::container::{containers, init_containers, volumes};
use super::{COMPONENT, NAMESPACE, POD_NAME_LABEL, labels, metadata, pool_labels, pool_name};
use crate::charts::read_once::START_CONFIG;
use crate::lower::node_config::{driver_access, node_config, start_digest};

/// The DaemonSet that serves a pool's nodes and no others.
pub(super) fn daemon_set(cluster: &Checked<'_>, pool: &Pool) -> Object {
    let object = DaemonSet {
        metadata: metadata(pool_name(pool), Some(NAMESPACE), pool_labels(pool)),
        spec: Some(DaemonSetSpec {
            selector: LabelSelector {
                match_labels: Some(selector(pool)),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels(pool_labels(pool))),
                    annotations: Some(BTreeMap::from([(
                        START_CONFIG.to_owned(),
                        start_digest(&node_config(cluster, pool)),
                    )])),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(cluster, pool)),
            },
            update_strategy: Some(DaemonSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDaemonSet {
                    max_unavailable: Some(IntOrString::String("10%".to_owned())),
                    ..RollingUpdateDaemonSet::default()
                }),
            }),
            ..DaemonSetSpec::default()
        }),
        ..DaemonSet::default()
    };
    let image = pool.runtime_image.as_ref().map(|image| image.span);
    let inputs = origins::placement_spans(pool)
        .into_iter()
        .chain(origins::serving_spans(pool))
        .chain(image);
    let reason =
        "a pool that gpuc-runtime serves has a DaemonSet of its own, which tolerates its taints";
    Object::new(COMPONENT, &object, Origin::rule(inputs, reason))
}

fn selector(pool: &Pool) -> BTreeMap<String, String> {
    let mut labels = pool_labels(pool);
    labels.insert(POD_NAME_LABEL.to_owned(), COMPONENT.to_owned());
    labels
}

fn pod(cluster: &Checked<'_>, pool: &Pool) -> PodSpec {
    let access = driver_access(cluster, pool);
    PodSpec {
        affinity: Some(affinity(pool)),
        containers: containers(cluster, pool),
        init_containers: init_containers(cluster, pool),
        // The control daemon of the Multi-Process Service tells clients apart by their process ids on the host.
        host_pid: matches!(pool.sharing.expect_resolved(), Sharing::Mps { .. }).then_some(true),
        node_selector: node_selector(pool),
        priority_class_name: Some("system-node-critical".to_owned()),
        runtime_class_name: access.runtime_class.map(|class| class.name.to_owned()),
        service_account_name: Some(COMPONENT.to_owned()),
        termination_grace_period_seconds: Some(10),
        tolerations: Some(gpuc_model::derive::early_tolerations(pool))
            .filter(|tolerations| !tolerations.is_empty()),
        volumes: Some(volumes(cluster, pool)),
        ..PodSpec::default()
    }
}

/// If the GPU Operator installs the driver, the label with which it evicts pods that use the driver before an upgrade.
/// It also keeps the pod off the node until the operator has labelled it.
fn node_selector(pool: &Pool) -> Option<BTreeMap<String, String>> {
    let by_operator = pool.driver.value == DriverOwner::Operator;
    by_operator.then(|| BTreeMap::from([(DEPLOY_CLIENT_LABEL.to_owned(), "true".to_owned())]))
}

/// The node affinity for the pool, by labels that nodes have before they are ready.
fn affinity(pool: &Pool) -> Affinity {
    let requirement = |label: &gpuc_model::Label| NodeSelectorRequirement {
        key: label.key.clone(),
        operator: "In".to_owned(),
        values: Some(vec![label.value.clone()]),
    };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![NodeSelectorTerm {
                    match_expressions: Some(pool.selector.iter().map(requirement).collect()),
                    match_fields: None,
                }],
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}
