//! What a difference does to what runs: one table for each kind of part.

mod charts;
mod elsewhere;
mod kinds;
mod pools;
mod versions;

use super::deltas::{Delta, Fate};
use super::impact::Impact;
use super::parts::{Key, Part, Parts};
use crate::lock::LOCK_FILE;
use crate::plan::Change;
pub(super) use elsewhere::is_made;
pub use kinds::is_known;
pub(super) use versions::{Move, move_of};
use versions::{has_versions, version};

/// What a difference does, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What it does.
    pub impact: Impact,
    /// Why, in words, where the impact alone does not say it.
    pub because: Option<String>,
    /// Where that stands, for facts.
    pub source: Option<&'static str>,
}

impl Verdict {
    /// What its impact says is all there is to say.
    fn plain(impact: Impact) -> Self {
        Self {
            impact,
            because: None,
            source: None,
        }
    }

    fn because(impact: Impact, words: impl Into<String>) -> Self {
        Self {
            because: Some(words.into()),
            ..Self::plain(impact)
        }
    }

    fn fact(impact: Impact, words: impl Into<String>, source: &'static str) -> Self {
        Self {
            source: Some(source),
            ..Self::because(impact, words)
        }
    }
}

/// Two states of one cluster, and whether the tool that brings the tree removes what leaves it.
pub(crate) struct Setting<'a> {
    /// As it was.
    pub before: &'a Parts,
    /// As it is.
    pub after: &'a Parts,
    /// Whether objects that leave the tree leave the cluster.
    pub prunes: bool,
    /// Whether one side was made of an input that nobody has any more, so that scripts are known by their text alone.
    pub is_stale: bool,
}

impl Setting<'_> {
    /// Why what leaves the tree stays in the cluster, where nothing prunes.
    pub(super) fn nobody(&self) -> &'static str {
        if self.before.tool.is_empty() {
            "install.sh removes nothing"
        } else {
            "it leaves together with the tool that would have removed it"
        }
    }

    /// Where something stays that no script deletes.
    pub(super) fn stays(&self) -> &'static str {
        if self.before.own_hosts {
            "as it is"
        } else {
            "in the cloud, and on the bill,"
        }
    }

    /// The part, as it is or else as it was.
    pub(super) fn part(&self, key: &Key) -> Option<&Part> {
        let before = self.before.all.get(key);
        self.after.all.get(key).or(before)
    }
}

/// What a difference does.
pub(crate) fn judge(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let here = here(setting, delta);
    elsewhere::judge(setting, delta, &here).unwrap_or(here)
}

fn here(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    match &delta.key {
        Key::Place if is_condition(setting, delta) => Verdict::because(
            Impact::Nothing,
            "the scripts only look at it, and stop until it is so: see to it first",
        ),
        Key::Place if delta.fate() == Fate::Came => Verdict::plain(Impact::Added),
        Key::Place if delta.fate() == Fate::Went => Verdict::because(
            Impact::Deleted,
            format!(
                "no script deletes what runs: it stays {} until you do",
                setting.stays()
            ),
        ),
        Key::Place => Verdict::because(
            Impact::Replaced,
            format!(
                "it is another cluster then: the one that is there stays {} and what the scripts and the tool make \
                 from now on is made elsewhere",
                setting.stays()
            ),
        ),
        Key::Pool(name) => pools::judge(setting, name, delta),
        Key::Resource(kind, name) => resource(setting, (kind, name), delta),
        Key::Release(_) => charts::judge(setting, delta),
        Key::Object { .. } => kinds::judge(setting, delta),
        Key::Sync(..)
            if !setting.before.tool.is_empty() && !setting.before.is_brought_as(setting.after) =>
        {
            Verdict::because(
                Impact::WorkloadRestarted,
                format!(
                    "{} removes what it brought when it is told that it is gone: make it leave everything before this is \
                     committed, as the steps say (gpuc diff --plan)",
                    setting.before.tool
                ),
            )
        }
        Key::Sync(..) => match delta.fate() {
            Fate::Came => Verdict::plain(Impact::Added),
            _ => Verdict::because(Impact::Nothing, "how the tree is brought"),
        },
        Key::File(path) if path == LOCK_FILE => {
            Verdict::because(Impact::Nothing, "what gpuc wrote and pinned")
        }
        Key::File(path) if setting.is_stale && path.starts_with("cloud/") => Verdict::because(
            Impact::NodesRecreated,
            "what it would do in the cloud is not known, because the tree was not built from its input: read it",
        ),
        Key::File(path) if delta.fate() == Fate::Stayed => {
            Verdict::because(Impact::Nothing, file(path))
        }
        Key::File(_) => Verdict::plain(Impact::Nothing),
    }
}

/// Whether it is only what a cluster of others must have before scripts do anything.
fn is_condition(setting: &Setting<'_>, delta: &Delta) -> bool {
    let path = delta.path.as_deref().unwrap_or_default();
    let sides = [setting.before, setting.after];
    sides.iter().any(|parts| parts.conditions.contains(path))
}

/// The script that makes the cluster itself.
pub(in crate::diff) const CLUSTER: &str = "cluster";

/// What a file is for of which only the text is known.
fn file(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "README.md" => "what the tree says of itself",
        "kustomization.yaml" => "which files are brought",
        "verify.sh" => "what it looks for in the cluster",
        "teardown.sh" => "what it deletes, when somebody runs it",
        "install.sh" => "what it installs, when somebody runs it",
        _ if name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending == "sh") =>
        {
            "how it does what it does, when somebody runs it"
        }
        _ => "text that no field says more of: read it",
    }
}

fn resource(setting: &Setting<'_>, (kind, name): (&str, &str), delta: &Delta) -> Verdict {
    match delta.fate() {
        Fate::Came => Verdict::plain(Impact::Added),
        Fate::Went => {
            let part = setting.part(&delta.key);
            let is_cluster = part.is_some_and(|part| part.component == CLUSTER);
            let renamed = is_cluster.then(|| elsewhere::renamed(setting, kind, name));
            renamed.flatten().unwrap_or_else(|| {
                Verdict::because(
                    if is_cluster {
                        Impact::Deleted
                    } else {
                        Impact::Nothing
                    },
                    format!(
                        "no script deletes the {kind}: it stays {} until you do",
                        setting.stays()
                    ),
                )
            })
        }
        Fate::Stayed => field(setting, delta).unwrap_or(Verdict::plain(Impact::Nothing)),
    }
}

/// What the cloud's table says of a field.
fn field(setting: &Setting<'_>, delta: &Delta) -> Option<Verdict> {
    let path = delta.path.as_deref()?;
    let before = setting.before.all.get(&delta.key)?;
    let after = setting.after.all.get(&delta.key)?;
    let field = after.fields.get(path).or(before.fields.get(path))?;
    Some(match field.change {
        Change::Climbs { .. } | Change::Rolls { .. } if has_versions(delta) => {
            version(field, delta)
        }
        Change::Replaces { reason } => Verdict::fact(Impact::Replaced, reason, field.source),
        Change::Rolls { reason } => Verdict::fact(Impact::NodesRecreated, reason, field.source),
        Change::Resizes => {
            let pools = after.pools.iter().map(String::as_str);
            let impact = capacity(setting, pools).unwrap_or_else(|| resized(delta));
            Verdict::fact(impact, "nodes come or go", field.source)
        }
        Change::InPlace | Change::Climbs { .. } => {
            Verdict::fact(Impact::Nothing, "changed in place", field.source)
        }
    })
}

/// Whether pools have less or more afterwards, by what each has at the fewest and at the most; nothing where that is as
/// it was.
fn capacity<'n>(setting: &Setting<'_>, names: impl IntoIterator<Item = &'n str>) -> Option<Impact> {
    let sizes = |parts: &Parts, name: &str| {
        let mut pools = parts.summary.pools.iter();
        let pool = pools.find(|pool| pool.name == name)?;
        let nodes = [pool.min_nodes, pool.max_nodes].map(u64::from);
        Some([nodes, [pool.min_gpus, pool.max_gpus]].concat())
    };
    let both = names
        .into_iter()
        .filter_map(|name| sizes(setting.before, name).zip(sizes(setting.after, name)));
    let pairs: Vec<(u64, u64)> = both
        .flat_map(|(old, new)| old.into_iter().zip(new))
        .collect();
    if pairs.iter().any(|(old, new)| new < old) {
        return Some(Impact::CapacityLost);
    }
    let grows = pairs.iter().any(|(old, new)| new > old);
    grows.then_some(Impact::CapacityGained)
}

/// Whether there is less afterwards: a number that is smaller, or one that is gone.
fn resized(delta: &Delta) -> Impact {
    let less = |from: &serde_json::Value, to: &serde_json::Value| match (from.as_f64(), to.as_f64())
    {
        (Some(from), Some(to)) => to < from,
        _ => false,
    };
    let is_less = match (&delta.from, &delta.to) {
        (Some(serde_json::Value::Object(from)), Some(serde_json::Value::Object(to))) => from
            .iter()
            .any(|(key, from)| to.get(key).is_none_or(|to| less(from, to))),
        // Places that nodes leave.
        (Some(serde_json::Value::Array(from)), Some(serde_json::Value::Array(to))) => {
            from.iter().any(|place| !to.contains(place))
        }
        (Some(from), Some(to)) => less(from, to),
        (_, to) => to.is_none(),
    };
    if is_less {
        Impact::CapacityLost
    } else {
        Impact::CapacityGained
    }
}
