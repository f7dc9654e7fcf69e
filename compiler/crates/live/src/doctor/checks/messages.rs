//! Phrases that several checks use.

use crate::doctor::placement::Misfit;
use crate::objects::NodeTaint;

/// A taint as `kubectl` writes it: `key=value:Effect`.
pub(super) fn taint_text(taint: &NodeTaint) -> String {
    let NodeTaint {
        key, value, effect, ..
    } = taint;
    match value.as_str() {
        "" => format!("{key}:{effect}"),
        value => format!("{key}={value}:{effect}"),
    }
}

/// The toleration for a taint, as YAML.
pub(super) fn toleration_text(taint: &NodeTaint) -> String {
    let NodeTaint { key, effect, .. } = taint;
    format!("{{key: {key}, operator: Exists, effect: {effect}}}")
}

/// Why a pod does not fit on nodes, as the end of a sentence whose subject are its pods.
pub(crate) fn misfit_text(misfit: &Misfit) -> String {
    match misfit {
        Misfit::Taint(taint) => format!("do not tolerate the taint `{}`", taint_text(taint)),
        Misfit::Label {
            key,
            wanted,
            actual: None,
        } => format!("require the label `{key}: {wanted}`, which is absent"),
        Misfit::Label {
            key,
            wanted,
            actual: Some(actual),
        } => format!("require the label `{key}: {wanted}`, but the value is `{actual}`"),
        Misfit::Affinity => "have a required node affinity that does not match".to_owned(),
        Misfit::Cordoned => "are not scheduled on cordoned nodes".to_owned(),
        Misfit::TooSmall { resource } => format!("request more `{resource}` than is allocatable"),
        Misfit::InUse { resource } => format!("request more `{resource}` than is free"),
    }
}
