//! Impact of a change after which the input describes another cluster.

use super::super::changes::{Delta, Fate};
use super::super::entities::Key;
use super::super::impact::Impact;
use super::super::location::VERSION;
use super::{CLUSTER, Setting, Verdict};

impl Setting<'_> {
    /// Whether the input describes another cluster: another name in the cloud, or another location.
    pub(in crate::diff) fn is_elsewhere(&self) -> bool {
        let [Some(old), Some(new)] =
            [self.before, self.after].map(|parts| parts.all.get(&Key::Place))
        else {
            return false;
        };
        let is_condition = |path: &String| {
            let sides = [self.before, self.after];
            path == VERSION || sides.iter().any(|parts| parts.conditions.contains(path))
        };
        old.leaves.iter().any(|(path, leaf)| {
            let now = new.leaves.get(path);
            !is_condition(path) && now.is_some_and(|now| now.value != leaf.value)
        })
    }

    /// Whether both sides describe the same cluster, independent of who manages it.
    pub(super) fn is_there(&self) -> bool {
        let [old, new] = [self.before, self.after].map(|parts| parts.all.contains_key(&Key::Place));
        old && new && !self.is_elsewhere() && !(is_made(self.before) && is_made(self.after))
    }
}

/// Whether gpuc creates the cluster itself.
pub(in crate::diff) fn is_made(parts: &super::Parts) -> bool {
    let mut all = parts.all.values();
    all.any(|part| part.component == CLUSTER)
}

/// Overrides the verdict of a change that applies to another cluster.
pub(super) fn judge(setting: &Setting<'_>, delta: &Delta, here: &Verdict) -> Option<Verdict> {
    let is_sync = matches!(delta.key, Key::Sync(..));
    let is_within = matches!(
        delta.key,
        Key::Pool(_) | Key::Release(_) | Key::Object { .. }
    ) && delta.fate() == Fate::Stayed;
    let disturbs = matches!(
        here.impact,
        Impact::Replaced
            | Impact::NodesRecreated
            | Impact::SlicesRecut
            | Impact::DriverRestarted
            | Impact::WorkloadRestarted
            | Impact::PluginRestarted
            | Impact::ServiceRestarted
            | Impact::WatchedDifferently
    );
    if !(is_sync || is_within && disturbs) || !setting.is_elsewhere() {
        return None;
    }
    Some(match delta.fate() {
        Fate::Came => Verdict::plain(Impact::Added),
        Fate::Went => Verdict::because(
            Impact::Nothing,
            "how the tree is deployed to the existing cluster",
        ),
        Fate::Stayed => Verdict::because(
            Impact::Added,
            "the other cluster is created with it; the existing one keeps its value",
        ),
    })
}

/// Verdict for a cluster created by gpuc that is renamed in the input.
pub(super) fn renamed(setting: &Setting<'_>, kind: &str, name: &str) -> Option<Verdict> {
    let mut new = setting
        .after
        .all
        .iter()
        .filter_map(|(key, part)| match key {
            Key::Resource(of, new) if *of == kind && part.component == CLUSTER => Some(new),
            _ => None,
        });
    let new = new.find(|new| *new != name)?;
    Some(Verdict::because(
        Impact::Replaced,
        format!(
            "renamed to `{new}`, but a cluster cannot be renamed in place: `{new}` is created, and `{name}` stays {} \
             until you delete it",
            setting.retention_place()
        ),
    ))
}
