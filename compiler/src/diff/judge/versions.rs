//! What becomes of a change of a Kubernetes version, by how a cloud moves it.

use serde_json::Value;

use super::super::deltas::Delta;
use super::super::impact::Impact;
use super::Verdict;
use crate::model::KubernetesVersion;
use crate::plan::{Change, FieldKind};

/// Where a version goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Move {
    /// To an older one.
    Back,
    /// To the next.
    Up,
    /// Further: over these, the last of which is wanted.
    Over(Vec<KubernetesVersion>),
}

/// Where a version goes; `None` of what is no two versions.
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

/// Whether a field goes from one Kubernetes version to another.
pub(super) fn has_versions(delta: &Delta) -> bool {
    move_of(delta.from.as_ref(), delta.to.as_ref()).is_some()
}

/// What becomes of a version that a script raises.
pub(super) fn version(field: &FieldKind, delta: &Delta) -> Verdict {
    let goes = move_of(delta.from.as_ref(), delta.to.as_ref());
    match (field.change, goes) {
        (Change::Climbs { back, .. }, Some(Move::Back)) => Verdict::fact(
            Impact::Replaced,
            format!(
                "{back}; the scripts leave a newer one as it is, so that only a new cluster has the older one"
            ),
            field.source,
        ),
        (_, Some(Move::Back)) => Verdict::because(
            Impact::Nothing,
            "no script takes nodes back to an older version: newer ones stay as they are",
        ),
        (Change::Climbs { reason, .. }, Some(Move::Over(steps))) => Verdict::fact(
            Impact::NodesRecreated,
            format!(
                "{reason}, and the script stops where one is skipped: go over {}, each with a build and a run of its \
                 own, and nodes are made again each time",
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
    fn a_version_goes_back_up_or_over_others() {
        let goes = |from: &str, to: &str| move_of(Some(&json!(from)), Some(&json!(to)));
        assert_eq!(goes("1.34", "1.33"), Some(Move::Back));
        assert_eq!(goes("1.33", "1.34"), Some(Move::Up));
        let over = vec![KubernetesVersion(34), KubernetesVersion(35)];
        assert_eq!(goes("1.33", "1.35"), Some(Move::Over(over)));
        assert_eq!(goes("1.33", "latest"), None);
        assert_eq!(move_of(None, Some(&json!("1.34"))), None);
    }
}
