//! The tolerations that a pool's taints require, as Kubernetes writes them.

use k8s_openapi::api::core::v1::Toleration;

use crate::Pool;

/// The pool's tolerations as Kubernetes objects.
pub fn tolerations(pool: &Pool) -> Vec<Toleration> {
    let toleration = |toleration: &crate::Toleration| Toleration {
        key: Some(toleration.key.clone()),
        operator: Some(operator(toleration).to_owned()),
        value: Some(toleration.value.clone()).filter(|value| !value.is_empty()),
        effect: Some(toleration.effect.as_str().to_owned()),
        ..Toleration::default()
    };
    pool.tolerations.iter().map(toleration).collect()
}

/// The tolerations of components that prepare a node, including its startup taint with any value.
pub fn early_tolerations(pool: &Pool) -> Vec<Toleration> {
    let startup = pool.startup_taint.iter().map(|taint| Toleration {
        key: Some(taint.key.clone()),
        operator: Some("Exists".to_owned()),
        effect: Some(taint.effect.as_str().to_owned()),
        ..Toleration::default()
    });
    tolerations(pool).into_iter().chain(startup).collect()
}

/// The operator of a toleration: a taint without a value is matched by its key.
fn operator(toleration: &crate::Toleration) -> &'static str {
    if toleration.value.is_empty() {
        "Exists"
    } else {
        "Equal"
    }
}
