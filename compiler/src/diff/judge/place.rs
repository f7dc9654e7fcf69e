//! What becomes of a cluster that is somewhere else.

use super::super::deltas::{Delta, Fate};
use super::super::impact::Impact;
use super::super::place::{VERSION, unless};
use super::{Setting, Verdict};

pub(super) fn judge(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let path = delta.path.as_deref().unwrap_or_default();
    let sides = [setting.before, setting.after].map(|parts| parts.conditions.contains(path));
    match delta.fate() {
        Fate::Came => Verdict::plain(Impact::Added),
        Fate::Went => Verdict::because(
            Impact::Deleted,
            format!(
                "no script deletes what runs: it stays {} until you do",
                setting.stays()
            ),
        ),
        Fate::Stayed if path == VERSION && delta.to.is_some() => Verdict::because(
            Impact::Nothing,
            "nobody but you upgrades this cluster: what gpuc makes fits this version from now on",
        ),
        Fate::Stayed if sides[1] => Verdict::because(
            Impact::Nothing,
            "the scripts only look at it, and stop until it is so: see to it first",
        ),
        Fate::Stayed if sides[0] => {
            Verdict::because(Impact::Nothing, "the scripts look at it no longer")
        }
        Fate::Stayed if delta.from.is_none() || delta.to.is_none() => {
            Verdict::plain(Impact::Nothing)
        }
        Fate::Stayed => {
            let unless = unless(path);
            Verdict::because(
                Impact::Replaced,
                format!(
                    "it is another cluster then{unless}: the one that is there stays {} and what the scripts and the tool \
                     make from now on is made elsewhere",
                    setting.stays()
                ),
            )
        }
    }
}
