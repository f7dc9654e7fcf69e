//! Impact of a change of a Kubernetes version.

use gpuc_model::KubernetesVersion;
use gpuc_model::plan::{Change, FieldKind};
use serde_json::Value;

use super::super::changes::Delta;
use super::super::impact::Impact;
use super::classification::Classification;

/// The direction of a version change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum VersionDirection {
    /// A downgrade.
    Downgrade,
    /// One minor version up.
    Upgrade,
    /// Several minor versions up: these versions, the last of which is the target.
    SkippingUpgrade(Vec<KubernetesVersion>),
}

/// The direction of a version change; `None` if the values are not versions.
pub(in super::super) fn version_change(
    from: Option<&Value>,
    to: Option<&Value>,
) -> Option<VersionDirection> {
    let read = |value: Option<&Value>| KubernetesVersion::parse(value?.as_str()?);
    let (from, to) = (read(from)?, read(to)?);
    if to < from {
        return Some(VersionDirection::Downgrade);
    }
    let steps: Vec<_> = (from.0 + 1..=to.0).map(KubernetesVersion).collect();
    Some(if steps.len() > 1 {
        VersionDirection::SkippingUpgrade(steps)
    } else {
        VersionDirection::Upgrade
    })
}

/// Whether a field changes from one Kubernetes version to another.
pub(super) fn has_versions(delta: &Delta) -> bool {
    version_change(delta.from.as_ref(), delta.to.as_ref()).is_some()
}

/// Verdict for a version that a script upgrades.
pub(super) fn classify_version(field: &FieldKind, delta: &Delta) -> Classification {
    let direction = version_change(delta.from.as_ref(), delta.to.as_ref());
    match (field.change, direction) {
        (
            Change::MinorVersionSteps {
                downgrade_effect: back,
                ..
            },
            Some(VersionDirection::Downgrade),
        ) => Classification::with_source(
            Impact::Replaced,
            format!(
                "{back}; the scripts leave a newer version as it is, so only a new cluster can have the older one"
            ),
            field.source,
        ),
        (_, Some(VersionDirection::Downgrade)) => Classification::with_reason(
            Impact::Nothing,
            "no script downgrades nodes: newer ones stay as they are",
        ),
        (
            Change::MinorVersionSteps { reason, .. },
            Some(VersionDirection::SkippingUpgrade(steps)),
        ) => Classification::with_source(
            Impact::NodesRecreated,
            format!(
                "{reason}, and the script stops if a version is skipped: upgrade to {}, each with its own build and \
                 run; nodes are recreated each time",
                version_sequence(&steps)
            ),
            field.source,
        ),
        (Change::NodeRollout { reason }, _) => {
            Classification::with_source(Impact::NodesRecreated, reason, field.source)
        }
        _ => Classification::with_source(Impact::Nothing, "changed in place", field.source),
    }
}

/// `1.34, then 1.35`.
fn version_sequence(steps: &[KubernetesVersion]) -> String {
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    steps.join(", then ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_move_back_up_or_over_several() {
        let goes = |from: &str, to: &str| version_change(Some(&json!(from)), Some(&json!(to)));
        assert_eq!(goes("1.34", "1.33"), Some(VersionDirection::Downgrade));
        assert_eq!(goes("1.33", "1.34"), Some(VersionDirection::Upgrade));
        let over = vec![KubernetesVersion(34), KubernetesVersion(35)];
        assert_eq!(
            goes("1.33", "1.35"),
            Some(VersionDirection::SkippingUpgrade(over))
        );
        assert_eq!(goes("1.33", "latest"), None);
        assert_eq!(version_change(None, Some(&json!("1.34"))), None);
    }
}
