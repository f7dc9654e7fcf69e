//! Classifies the impact of a difference on running workloads: one table for each kind of entity.

mod capacity;
mod charts;
mod cluster_replaced;
mod hosts;
mod kinds;
mod persistent_data;
mod place;
mod pools;
mod resource;
mod versions;

use gpuc_compile::lock::LOCK_FILE;

use super::changes::{Delta, Fate};
use super::entities::{Key, Part, Parts, TAINTS};
use super::fields::Leaf;
use super::impact::Impact;
use capacity::capacity;
pub(super) use cluster_replaced::is_made;
pub(super) use hosts::Moved;
pub use kinds::is_known;
pub(super) use persistent_data::SMALLER_CLAIM;
use resource::field;
pub(super) use versions::{Move, move_of};

/// The impact of a difference, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The impact.
    pub impact: Impact,
    /// The reason, unless the impact is self-explanatory.
    pub because: Option<String>,
    /// The source of a fact.
    pub source: Option<&'static str>,
    /// Whether the field is immutable, so that the object must be deleted and recreated.
    pub is_fixed: bool,
}

impl Verdict {
    /// A verdict without a reason.
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

/// Two states of one cluster, and whether removed objects are pruned.
pub(crate) struct Setting<'a> {
    /// The state before the change.
    pub before: &'a Parts,
    /// The state after the change.
    pub after: &'a Parts,
    /// Whether objects removed from the tree are deleted from the cluster.
    pub prunes: bool,
    /// Whether the input of one side is unavailable, so that only the text of its scripts is known.
    pub is_stale: bool,
}

impl Setting<'_> {
    /// The reason why objects removed from the tree stay in the cluster when nothing prunes them.
    pub(super) fn retention_reason(&self) -> &'static str {
        if self.before.tool.is_empty() {
            "install.sh deletes nothing"
        } else {
            "the GitOps controller that would prune it is removed as well"
        }
    }

    /// Whether the GitOps controller of the tree before the change no longer deploys it, or deploys it as another tree.
    pub(super) fn loses_its_tool(&self) -> bool {
        !self.before.tool.is_empty() && !self.before.is_brought_as(self.after)
    }

    /// The effect of removing the tree from its GitOps controller.
    pub(super) fn pruning_warning(&self) -> String {
        format!(
            "{} deletes the resources it deployed when its own objects are deleted: disable its pruning before you \
             commit this change, as the steps show (gpuc diff --plan)",
            self.before.tool
        )
    }

    /// Where a resource stays that no script deletes.
    pub(super) fn retention_place(&self) -> &'static str {
        if self.before.own_hosts {
            "as it is"
        } else {
            "in the cloud, still billed,"
        }
    }

    /// Whether an annotation makes the GitOps controller delete and recreate an object that cannot be changed in place.
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

    /// Whether a taint of a pool created by scripts gets another value.
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

    /// The entity after the change, or else before it.
    pub(super) fn part(&self, key: &Key) -> Option<&Part> {
        let before = self.before.all.get(key);
        self.after.all.get(key).or(before)
    }
}

/// The field that only pods with the MPS daemon set: the daemon identifies its clients by process.
const BY_DAEMON: &str = "spec.template.spec.hostPID";

/// The reason why a restart of the MPS daemon disrupts workloads.
const ENDS_CLIENTS: &str = "its pods run the MPS daemon, and every program that computes through the daemon stops with \
    it: drain the nodes first";

/// Classifies a difference.
pub(crate) fn judge(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let here = here(setting, delta);
    // A new cluster runs no workloads yet.
    if setting.before.all.is_empty() && here.impact < Impact::CapacityGained {
        return Verdict::plain(Impact::Added);
    }
    cluster_replaced::judge(setting, delta, &here).unwrap_or(here)
}

fn here(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    match &delta.key {
        Key::Place => place::judge(setting, delta),
        Key::Pool(name) => pools::judge(setting, name, delta),
        Key::Resource(kind, name) => resource::judge(setting, (kind, name), delta),
        Key::Release(_) => serves(setting, delta, charts::judge(setting, delta)),
        Key::Object { .. } => serves(setting, delta, kinds::judge(setting, delta)),
        Key::Sync(..) if delta.fate() != Fate::Came && setting.loses_its_tool() => {
            Verdict::because(Impact::WorkloadRestarted, setting.pruning_warning())
        }
        Key::Sync(..) => match delta.fate() {
            Fate::Came => Verdict::plain(Impact::Added),
            _ => Verdict::because(Impact::Nothing, "how the tree is deployed"),
        },
        Key::File(path) if path == LOCK_FILE => {
            Verdict::because(Impact::Nothing, "generated files and pinned versions")
        }
        Key::File(path) if setting.is_stale && path.starts_with("cloud/") => Verdict::because(
            Impact::NodesRecreated,
            "its effect in the cloud is unknown, because the tree was not built from this input: review the script",
        ),
        Key::File(path) if delta.fate() == Fate::Stayed => {
            Verdict::because(Impact::Nothing, file(path))
        }
        Key::File(_) => Verdict::plain(Impact::Nothing),
    }
}

/// Adds the effects of a restarted device plugin to the verdict of its kind or chart.
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
            "a node cannot have both values of the taint: between the run of the scripts and this deployment, no \
             device plugin that starts on these nodes tolerates them, so the steps drain them first (gpuc diff --plan)",
        );
    }
    verdict
}

/// Escalates a restart of a device plugin that also restarts the MPS daemon.
fn ends_clients(setting: &Setting<'_>, delta: &Delta, verdict: Verdict) -> Verdict {
    let sides = [setting.before, setting.after];
    let shares = |name: &String| {
        let mut pools = sides.iter().flat_map(|parts| &parts.summary.pools);
        pools.any(|pool| pool.name == *name && pool.sharing.starts_with("MPS"))
    };
    let holds = |part: &Part| match part.chart {
        // The GPU operator runs no MPS daemon here.
        Some(chart) if chart.name == gpuc_compile::charts::NVIDIA_DEVICE_PLUGIN.name => {
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

/// The script that creates the cluster itself.
pub(in crate::diff) const CLUSTER: &str = "cluster";

/// The purpose of a file whose fields are unknown.
fn file(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "README.md" => "documentation of the tree",
        "kustomization.yaml" => "the list of deployed files",
        "verify.sh" => "the checks that it runs against the cluster",
        "teardown.sh" => "the resources that it deletes when you run it",
        "install.sh" => "the resources that it installs when you run it",
        _ if name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending == "sh") =>
        {
            "the commands that it runs when you run it"
        }
        _ => "text without known fields: review it",
    }
}
