//! Impact of a change of the cluster's location.

use super::super::changes::{Delta, Fate};
use super::super::impact::Impact;
use super::super::location::{VERSION, unless};
use super::{Setting, Verdict};

pub(super) fn judge(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let path = delta.path.as_deref().unwrap_or_default();
    let sides = [setting.before, setting.after].map(|parts| parts.conditions.contains(path));
    match delta.fate() {
        Fate::Came => Verdict::plain(Impact::Added),
        Fate::Went => Verdict::because(
            Impact::Deleted,
            format!(
                "no script deletes a running cluster: it stays {} until you delete it",
                setting.retention_place()
            ),
        ),
        Fate::Stayed if path == VERSION && delta.to.is_some() => Verdict::because(
            Impact::Nothing,
            "gpuc does not upgrade this cluster; it now generates files for this version",
        ),
        Fate::Stayed if sides[1] => Verdict::because(
            Impact::Nothing,
            "the scripts only check it, and stop until it has this value: change it first",
        ),
        Fate::Stayed if sides[0] => {
            Verdict::because(Impact::Nothing, "the scripts no longer check it")
        }
        Fate::Stayed if delta.from.is_none() || delta.to.is_none() => {
            Verdict::plain(Impact::Nothing)
        }
        Fate::Stayed => {
            let unless = unless(path);
            Verdict::because(
                Impact::Replaced,
                format!(
                    "this is a different cluster{unless}: the existing one stays {} and the scripts and the GitOps \
                     controller deploy to the other one",
                    setting.retention_place()
                ),
            )
        }
    }
}
