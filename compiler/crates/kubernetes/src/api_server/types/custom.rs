//! Custom resources: the projects of their CRDs, and the CEL rules in them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Derived from the projects' CRDs by `needs_upstream::custom_types`.
pub(super) const CUSTOM_TYPES: &str = include_str!("custom.types");

/// The derived rules: `x-kubernetes-validations`.
const CUSTOM_RULES: &str = include_str!("custom.rules");

/// A CEL rule of a CRD for created objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api_server) struct CelRule {
    pub(in crate::api_server) text: &'static str,
    /// The API server's message for a violation.
    pub(in crate::api_server) message: &'static str,
}

static CEL_RULES: LazyLock<BTreeMap<&'static str, Vec<CelRule>>> = LazyLock::new(|| {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let (mut location, mut message) = ("", "");
    for line in CUSTOM_RULES.lines().filter(|line| !line.starts_with('#')) {
        match (line.strip_prefix("  ! "), line.strip_prefix("  ")) {
            (Some(text), _) => message = text,
            (None, Some(text)) => all
                .entry(location)
                .or_default()
                .push(CelRule { text, message }),
            (None, None) => location = line,
        }
    }
    all
});

/// The rules of a type, `Type`, of a field of one, `Type.field`, or of each item of such a field, `Type.field[]`.
pub(in crate::api_server) fn cel_rules(location: &str) -> &'static [CelRule] {
    CEL_RULES.get(location).map_or(&[], Vec::as_slice)
}

/// All locations with rules.
#[cfg(test)]
pub(in crate::api_server) fn cel_rule_locations() -> impl Iterator<Item = &'static str> {
    CEL_RULES.keys().copied()
}

/// Whether a type belongs to a custom resource.
pub(in crate::api_server) fn is_custom_type(name: &str) -> bool {
    name.contains('/')
}

/// The project of a custom resource's type, with its version: `JobSet 0.12.0`.
pub(in crate::api_server) fn defining_project(name: &str) -> Option<&'static str> {
    let (group, _) = name.split_once('/')?;
    let mut all = custom_groups();
    all.find(|(own, _)| *own == group)
        .map(|(_, project)| project)
}

/// All known API groups of custom resources, with the project and its version.
pub fn custom_groups() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = CUSTOM_TYPES
        .lines()
        .filter_map(|line| line.strip_prefix("@ "));
    lines.filter_map(|line| line.split_once(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_know_their_project() {
        let of = |name: &str| defining_project(name).unwrap_or_default();
        assert!(of("jobset.x-k8s.io/v1alpha2/JobSet.spec").starts_with("JobSet 0."));
        assert!(of("trainer.kubeflow.org/v1alpha1/TrainJob").starts_with("Kubeflow Trainer "));
        assert!(defining_project("PodSpec").is_none() && !is_custom_type("PodSpec"));
    }
}
