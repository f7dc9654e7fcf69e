//! Impact of a change of a Kubernetes version.

use gpuc_model::KubernetesVersion;
use gpuc_model::plan::{Change, FieldKind};
use serde_json::Value;

use super::super::changes::Delta;
use super::super::impact::Impact;
use super::Verdict;

/// The direction of a version change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Move {
    /// A downgrade.
    Back,
    /// One minor version up.
    Up,
    /// Several minor versions up: these versions, the last of which is the target.
    Over(Vec<KubernetesVersion>),
}

/// The direction of a version change; `None` if the values are not versions.
pub(in super::super) fn move_of(from: Option<&Value>, to: Option<&Value>) -> Option<Move> {
    let read = |value: Option<&Value>| KubernetesVersion::parse(value?.as_str()?);
    let (from, to) = (read(from)?, read(to)?);
    if to < from {
        return Some(Move::Back);
    }
    let steps: Vec<_> = (from.0 + 1..=to.0).map(KubernetesVersion).collect();
    Some(if steps.len() > 1 {
        Move::Over(steps)
    } else {
        Move::Up
    })
}

/// Whether a field changes from one Kubernetes version to another.
pub(super) fn has_versions(delta: &Delta) -> bool {
    move_of(delta.from.as_ref(), delta.to.as_ref()).is_some()
}

/// Verdict for a version that a script upgrades.
pub(super) fn version(field: &FieldKind, delta: &Delta) -> Verdict {
    let goes = move_of(delta.from.as_ref(), delta.to.as_ref());
    match (field.change, goes) {
        (Change::Climbs { back, .. }, Some(Move::Back)) => Verdict::fact(
            Impact::Replaced,
            format!(
                "{back}; the scripts leave a newer version as it is, so only a new cluster can have the older one"
            ),
            field.source,
        ),
        (_, Some(Move::Back)) => Verdict::because(
            Impact::Nothing,
            "no script downgrades nodes: newer ones stay as they are",
        ),
        (Change::Climbs { reason, .. }, Some(Move::Over(steps))) => Verdict::fact(
            Impact::NodesRecreated,
            format!(
                "{reason}, and the script stops if a version is skipped: upgrade to {}, each with its own build and \
                 run; nodes are recreated each time",
                arrows(&steps)
            ),
            field.source,
        ),
        (Change::Rolls { reason }, _) => {
            Verdict::fact(Impact::NodesRecreated, reason, field.source)
        }
        _ => Verdict::fact(Impact::Nothing, "changed in place", field.source),
    }
}

/// `1.34, then 1.35`.
fn arrows(steps: &[KubernetesVersion]) -> String {
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    steps.join(", then ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_move_back_up_or_over_several() {
        let goes = |from: &str, to: &str| move_of(Some(&json!(from)), Some(&json!(to)));
        assert_eq!(goes("1.34", "1.33"), Some(Move::Back));
        assert_eq!(goes("1.33", "1.34"), Some(Move::Up));
        let over = vec![KubernetesVersion(34), KubernetesVersion(35)];
        assert_eq!(goes("1.33", "1.35"), Some(Move::Over(over)));
        assert_eq!(goes("1.33", "latest"), None);
        assert_eq!(move_of(None, Some(&json!("1.34"))), None);
    }
}
