//! Custom resources: whose definitions the types are of.

/// What `needs_upstream::custom_types` derives from the projects' own definitions.
pub(super) const TEXT: &str = include_str!("custom.types");

/// Whether a type is one of a custom resource's own.
pub(in crate::api_server) fn is_custom(name: &str) -> bool {
    name.contains('/')
}

/// The project of a custom resource's type, and the version of it that was asked: `JobSet 0.12.0`.
pub(in crate::api_server) fn defined_by(name: &str) -> Option<&'static str> {
    let (group, _) = name.split_once('/')?;
    let mut all = definitions();
    all.find(|(own, _)| *own == group)
        .map(|(_, project)| project)
}

/// Every group of custom resources that is known here, with the project and its version.
pub fn definitions() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = TEXT.lines().filter_map(|line| line.strip_prefix("@ "));
    lines.filter_map(|line| line.split_once(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_know_their_project() {
        let of = |name: &str| defined_by(name).unwrap_or_default();
        assert!(of("jobset.x-k8s.io/v1alpha2/JobSet.spec").starts_with("JobSet 0."));
        assert!(of("trainer.kubeflow.org/v1alpha1/TrainJob").starts_with("Kubeflow Trainer "));
        assert!(defined_by("PodSpec").is_none() && !is_custom("PodSpec"));
    }
}
