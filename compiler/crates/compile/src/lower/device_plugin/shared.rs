//! Objects that gpuc-runtime's pools share: namespace, service account, RBAC and RuntimeClasses.

use std::collections::BTreeMap;

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_syntax::node::Origin;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{COMPONENT, NAMESPACE, admission, metadata};
use crate::lower::node_config::driver_access;

/// The label with the manager of an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The objects, for the pools that the runtime serves.
pub(super) fn objects(pools: &[&Pool]) -> Vec<Object> {
    let origin = Origin::rule(
        pools.iter().map(|pool| pool.plugin.span),
        "gpuc-runtime advertises the GPUs of these pools",
    );
    vec![
        Object::new(COMPONENT, &namespace(), origin.clone()),
        Object::new(COMPONENT, &service_account(), origin.clone()),
        Object::new(COMPONENT, &cluster_role(), origin.clone()),
        Object::new(COMPONENT, &cluster_role_binding(), origin.clone()),
        Object::new(COMPONENT, &admission::policy(), origin.clone()),
        Object::new(COMPONENT, &admission::binding(), origin),
    ]
}

/// The RuntimeClasses with which a plugin's pods get NVIDIA's container runtime, if it is not the node's default. The
/// GPU Operator creates its own.
pub(super) fn runtime_classes(
    component: &str,
    cluster: &Checked<'_>,
    pools: &[&Pool],
) -> Vec<Object> {
    if cluster.operator_pools().next().is_some() {
        return Vec::new();
    }
    let origin = Origin::rule(
        pools
            .iter()
            .flat_map(|pool| [pool.plugin.span, pool.os.span]),
        "NVIDIA's container runtime is not the default one on these nodes",
    );
    let classes = pools
        .iter()
        .filter_map(|pool| driver_access(cluster, pool).runtime_class);
    let classes: BTreeMap<_, _> = classes.map(|class| (class.name, class.handler)).collect();
    let object = |(name, handler): (&str, &str)| {
        let class = RuntimeClass {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(BTreeMap::from([(MANAGED_BY.to_owned(), "gpuc".to_owned())])),
                ..ObjectMeta::default()
            },
            handler: handler.to_owned(),
            ..RuntimeClass::default()
        };
        Object::new(component, &class, origin.clone())
    };
    classes.into_iter().map(object).collect()
}

/// The namespace allows hostPath volumes, which a device plugin requires.
fn namespace() -> Namespace {
    let levels = ["enforce", "audit", "warn"].map(|mode| {
        let key = format!("pod-security.kubernetes.io/{mode}");
        (key, "privileged".to_owned())
    });
    Namespace {
        metadata: metadata(NAMESPACE, None, levels.into()),
        ..Namespace::default()
    }
}

fn service_account() -> ServiceAccount {
    ServiceAccount {
        metadata: metadata(COMPONENT, Some(NAMESPACE), BTreeMap::new()),
        ..ServiceAccount::default()
    }
}

/// The role of gpuc-runtime, which labels its own node, sets a condition on it and creates events about it. Permissions
/// on nodes apply to all nodes; the admission policy restricts them to its own.
fn cluster_role() -> ClusterRole {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(resources.iter().map(ToString::to_string).collect()),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        ..PolicyRule::default()
    };
    ClusterRole {
        metadata: metadata(COMPONENT, None, BTreeMap::new()),
        rules: Some(vec![
            rule("", &["nodes"], &["get", "patch"]),
            rule("", &["nodes/status"], &["get", "patch"]),
            rule("", &["events"], &["create"]),
        ]),
        ..ClusterRole::default()
    }
}

fn cluster_role_binding() -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: metadata(COMPONENT, None, BTreeMap::new()),
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".to_owned(),
            kind: "ClusterRole".to_owned(),
            name: COMPONENT.to_owned(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: COMPONENT.to_owned(),
            namespace: Some(NAMESPACE.to_owned()),
            ..Subject::default()
        }]),
    }
}
