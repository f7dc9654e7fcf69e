//! What a difference does to what runs: one table for each kind of part.

mod capacity;
mod charts;
mod elsewhere;
mod hosts;
mod kinds;
mod place;
mod pools;
mod resource;
mod stored;
mod versions;

use super::deltas::{Delta, Fate};
use super::impact::Impact;
use super::leaves::Leaf;
use super::parts::{Key, Part, Parts};
    }

use super::parts::{Key, Part, Parts, TAINTS};
use crate::lock::LOCK_FILE;
use capacity::capacity;
pub(super) use elsewhere::is_made;
pub(super) use hosts::Moved;
pub use kinds::is_known;
use resource::field;
pub(super) use stored::SMALLER_CLAIM;
pub(super) use versions::{Move, move_of};

/// What a difference does, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What it does.
    pub impact: Impact,
    /// Why, in words, where the impact alone does not say it.
    pub because: Option<String>,
    /// Where that stands, for facts.
    pub source: Option<&'static str>,
    /// Whether the API server refuses the change, so that the object is deleted and made again.
    pub is_fixed: bool,
}

impl Verdict {
    /// What its impact says is all there is to say.
    fn plain(impact: Impact) -> Self {
        Self {
            impact,
            because: None,
            source: None,
            is_fixed: false,
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

    /// Whether the tool that brought the tree as it was brings it no longer, or as another one.
    pub(super) fn loses_its_tool(&self) -> bool {
        !self.before.tool.is_empty() && !self.before.is_brought_as(self.after)
    }

    /// What a tool does that loses the tree.
    pub(super) fn removes(&self) -> String {
        format!(
            "{} removes what it brought when it is told that it is gone: make it leave everything before this is \
             committed, as the steps say (gpuc diff --plan)",
            self.before.tool
        )
    }

    /// Where something stays that no script deletes.
    pub(super) fn stays(&self) -> &'static str {
        if self.before.own_hosts {
            "as it is"
        } else {
            "in the cloud, and on the bill,"
        }
    }

    /// Whether a mark on an object makes the tool that brings it delete it and make it again by itself, where it
    /// cannot be changed.
    pub(super) fn is_forced(&self, key: &Key) -> bool {
        let is_mark = |(path, leaf): (&String, &Leaf)| {
            let value = leaf.value.as_str().unwrap_or_default();
            path.starts_with("metadata.annotations.")
                && ((path.contains("kustomize.toolkit.fluxcd.io/force") && value == "enabled")
                    || value.contains("Force=true"))
        };
        let is_same_tool = self.before.all.is_empty() || self.before.is_brought_as(self.after);
        let part = self.after.all.get(key);
        !self.after.tool.is_empty()
            && is_same_tool
            && part.is_some_and(|part| part.leaves.iter().any(is_mark))
    }

    /// Whether a taint of a pool that scripts make gets another value in the place of the one that it has.
    fn exchanges_taint(&self, pool: &str) -> bool {
        let key = Key::Pool(pool.to_owned());
        let taints = |parts: &Parts| -> Vec<(String, String)> {
            let part = parts
                .all
                .get(&key)
                .filter(|part| part.maker.is_none() && !part.fields.is_empty());
            let leaf = part.and_then(|part| part.leaves.get(TAINTS));
            let list = leaf.and_then(|leaf| leaf.value.as_array());
            let texts = list
                .into_iter()
                .flatten()
                .filter_map(serde_json::Value::as_str);
            let taints = texts.filter_map(|text| {
                let (taint, effect) = text.rsplit_once(':')?;
                let key = taint.split('=').next().unwrap_or(taint);
                Some((format!("{key}:{effect}"), text.to_owned()))
            });
            taints.collect()
        };
        let (old, new) = (taints(self.before), taints(self.after));
        let other =
            |(key, text): &(String, String)| new.iter().any(|(of, is)| of == key && is != text);
        old.iter().any(other)
    }

    /// The part, as it is or else as it was.
    pub(super) fn part(&self, key: &Key) -> Option<&Part> {
        let before = self.before.all.get(key);
        self.after.all.get(key).or(before)
    }
}

/// What only the pods with the daemon of the Multi-Process Service say, which tells clients apart by their processes.
const BY_DAEMON: &str = "spec.template.spec.hostPID";

/// Why what holds that daemon does not restart unnoticed.
const ENDS_CLIENTS: &str = "the daemon of the Multi-Process Service is in its pods, and with it ends all that computes \
    through it: free the GPUs first";

/// What a difference does.
pub(crate) fn judge(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let here = here(setting, delta);
    // Where nothing was, nothing is disturbed.
    if setting.before.all.is_empty() && here.impact < Impact::CapacityGained {
        return Verdict::plain(Impact::Added);
    }
    elsewhere::judge(setting, delta, &here).unwrap_or(here)
}

fn here(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    match &delta.key {
        Key::Place => place::judge(setting, delta),
        Key::Pool(name) => pools::judge(setting, name, delta),
        Key::Resource(kind, name) => resource::judge(setting, (kind, name), delta),
        Key::Release(_) => serves(setting, delta, charts::judge(setting, delta)),
        Key::Object { .. } => serves(setting, delta, kinds::judge(setting, delta)),
        Key::Sync(..) if delta.fate() != Fate::Came && setting.loses_its_tool() => {
            Verdict::because(Impact::WorkloadRestarted, setting.removes())
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

/// What a plugin does besides what its kind or chart says.
fn serves(setting: &Setting<'_>, delta: &Delta, verdict: Verdict) -> Verdict {
    let verdict = ends_clients(setting, delta, verdict);
    let tolerates = delta
        .path
        .as_deref()
        .is_some_and(|path| path.contains("tolerations["));
    let part = setting.part(&delta.key);
    let mut pools = part.into_iter().flat_map(|part| &part.pools);
    if verdict.impact == Impact::PluginRestarted
        && tolerates
        && pools.any(|pool| setting.exchanges_taint(pool))
    {
        return Verdict::because(
            Impact::PluginRestarted,
            "a node cannot have both values of the taint: from the scripts' run until this is brought, nothing that begins \
             to serve these nodes tolerates them, so the steps free their GPUs first (gpuc diff --plan)",
        );
    }
    verdict
}

/// What restarts a plugin restarts the daemon of the Multi-Process Service with it, where there is one.
fn ends_clients(setting: &Setting<'_>, delta: &Delta, verdict: Verdict) -> Verdict {
    let sides = [setting.before, setting.after];
    let shares = |name: &String| {
        let mut pools = sides.iter().flat_map(|parts| &parts.summary.pools);
        pools.any(|pool| pool.name == *name && pool.sharing.starts_with("MPS"))
    };
    let holds = |part: &Part| match part.chart {
        // The operator has no such daemon.
        Some(chart) if chart.name == crate::chart::NVIDIA_DEVICE_PLUGIN.name => {
            part.pools.iter().any(shares)
        }
        Some(_) => false,
        None => part.leaves.contains_key(BY_DAEMON),
    };
    let mut parts = sides.iter().filter_map(|parts| parts.all.get(&delta.key));
    let ends = parts.any(holds);
    if verdict.impact == Impact::PluginRestarted && ends {
        Verdict::because(Impact::WorkloadRestarted, ENDS_CLIENTS)
    } else {
        verdict
    }
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
