//! Taints that change: what serves a pool's GPUs tolerates what its nodes have at any time, or it leaves them.

use gpuc_schema::config::TaintEffect;

use super::super::shown::{Change, ClusterFate, Step};
use super::left::about_pool;
use super::{BUILD, Rollout, ids};
use crate::model::{Pool, PoolTaint, SetBy};
use crate::shell;

/// Who puts a pool's taints on its nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// gpuc's scripts, on nodes that are there too.
    Scripts,
    /// Something in the cluster, on nodes that it makes.
    Maker,
    /// Whoever made the nodes.
    Hand,
}

/// The taints of a pool with GPUs that differ.
struct Tainted<'a> {
    pool: &'a Pool,
    by: By,
    gone: Vec<&'a PoolTaint>,
    came: Vec<&'a PoolTaint>,
}

impl Tainted<'_> {
    /// Whether a node could not have the old ones beside the new.
    fn excludes(&self) -> bool {
        let same = |one: &PoolTaint, other: &PoolTaint| {
            (&one.key, one.effect) == (&other.key, other.effect)
        };
        self.gone
            .iter()
            .any(|gone| self.came.iter().any(|came| same(gone, came)))
    }
}

impl Rollout<'_> {
    fn tainted(&self) -> Vec<Tainted<'_>> {
        let changed = |change: &&Change| change.kind == "pool" && change.fate == ClusterFate::Kept;
        let names = self.changes.iter().filter(changed);
        let mut names: Vec<&String> = names.flat_map(|change| &change.names).collect();
        names.sort_unstable();
        names.dedup();
        let of = |name: &String| {
            let [Some(old), Some(new)] = self.both(name) else {
                return None;
            };
            let by = match self.both_makers(name) {
                [Some(_), Some(_)] => By::Maker,
                [None, None] if new.is_existing() && old.is_existing() => By::Hand,
                [None, None] if !new.is_existing() && !old.is_existing() => By::Scripts,
                _ => return None,
            };
            let (gone, came) = (
                missing(&old.taints, &new.taints),
                missing(&new.taints, &old.taints),
            );
            let some = !gone.is_empty() || !came.is_empty();
            (some && new.has_gpus()).then_some(Tainted {
                pool: new,
                by,
                gone,
                came,
            })
        };
        names.into_iter().filter_map(of).collect()
    }

    /// Pools of which old taints make way for others.
    fn exchanged(&self) -> Vec<Tainted<'_>> {
        let mut all = self.tainted();
        all.retain(|it| it.by == By::Scripts && !it.gone.is_empty() && !it.came.is_empty());
        all
    }

    /// Pools that are emptied because their nodes cannot have the old taints beside the new.
    pub(super) fn tainted_anew(&self) -> Vec<String> {
        let all = self.exchanged().into_iter().filter(Tainted::excludes);
        all.map(|it| it.pool.name.value.clone()).collect()
    }

    /// Pools whose old taints stay beside the new until nodes have these.
    fn in_turn(&self) -> Vec<Tainted<'_>> {
        let mut all = self.exchanged();
        let emptied = self.emptied_pools();
        all.retain(|it| !emptied.contains(&it.pool.name.value));
        all
    }

    fn about_taints(&self, it: &Tainted<'_>) -> Vec<usize> {
        let changes: Vec<&Change> = self.changes.iter().collect();
        ids(&about_pool(&changes, &it.pool.name))
    }

    /// Both stand in the input at first.
    pub(super) fn both_taints(&self) -> Vec<Step> {
        let all = self.in_turn().into_iter().map(|it| Step {
            what: format!(
                "Nodes and pods of pool {} do not change from {} to {} at one moment, and what serves the GPUs leaves \
                 nodes whose taints it does not tolerate: in gpu-cluster.yaml keep the old beside the new for now, \
                 in `taints`",
                it.pool.name,
                list(&it.gone),
                list(&it.came),
            ),
            commands: Vec::new(),
            changes: self.about_taints(&it),
        });
        all.collect()
    }

    /// The old ones leave the input when nodes have the new.
    pub(super) fn old_taints(&self) -> Vec<Step> {
        let all = self.in_turn();
        let (Some(first), about) = (all.first(), all.iter().flat_map(|it| self.about_taints(it)))
        else {
            return Vec::new();
        };
        let words: Vec<String> = all
            .iter()
            .map(|it| format!("{} of pool {}", list(&it.gone), it.pool.name))
            .collect();
        let about: Vec<usize> = about.collect();
        let step = |what: String, commands: Vec<String>| Step {
            what,
            commands,
            changes: about.clone(),
        };
        let mut steps = vec![
            step(
                format!(
                    "Take {} out of gpu-cluster.yaml, build and commit",
                    words.join(", and ")
                ),
                vec![BUILD.to_owned()],
            ),
            step(
                format!(
                    "Let the nodes lose {} while it is still tolerated",
                    if all.len() == 1 {
                        list(&first.gone)
                    } else {
                        "them".to_owned()
                    }
                ),
                vec![
                    "cloud/apply.sh --dry-run".to_owned(),
                    "cloud/apply.sh".to_owned(),
                ],
            ),
        ];
        steps.extend(self.brought());
        steps.push(Self::verified());
        steps
    }

    /// Whether taints leave nodes by the scripts, which must be before anything stops tolerating them.
    pub(super) fn loses_taints(&self) -> bool {
        let mut all = self.tainted().into_iter();
        all.any(|it| it.by == By::Scripts && !it.gone.is_empty())
    }

    /// Taints that no script takes off nodes that are there.
    pub(super) fn taken_off_by_hand(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for it in self.tainted() {
            if it.by == By::Scripts || it.gone.is_empty() {
                continue;
            }
            let taints = list(&it.gone);
            let what = match self.both_makers(&it.pool.name)[0] {
                Some(maker) => format!(
                    "Take {taints} off the nodes of pool {} that there are, right before what serves their GPUs stops \
                     tolerating it: {} makes only new ones without",
                    it.pool.name, maker.name
                ),
                None => format!(
                    "gpuc did not make the nodes of pool {}, and no script takes a taint off them: take {taints} off, and \
                     out of what makes them, before what serves their GPUs stops tolerating it",
                    it.pool.name
                ),
            };
            steps.push(self.by_hand(&it, what, &it.gone, |taint| {
                format!("{}:{}-", taint.key, effect(taint.effect))
            }));
        }
        steps
    }

    /// Taints that no script puts onto nodes.
    pub(super) fn put_on_by_hand(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for it in self.tainted() {
            if it.by != By::Hand || it.came.is_empty() {
                continue;
            }
            let what = format!(
                "gpuc did not make the nodes of pool {}, and no script puts a taint onto them: where they do not have {} \
                 yet, put it there, and into what makes them, now that what serves their GPUs tolerates it",
                it.pool.name,
                list(&it.came)
            );
            steps.push(self.by_hand(&it, what, &it.came, |taint| {
                format!("{}:{}", with_value(taint), effect(taint.effect))
            }));
        }
        steps
    }

    fn by_hand(
        &self,
        it: &Tainted<'_>,
        what: String,
        taints: &[&PoolTaint],
        word: impl Fn(&PoolTaint) -> String,
    ) -> Step {
        let selector = it.pool.selector.iter();
        let selector: Vec<String> = selector
            .map(|label| format!("{}={}", label.key, label.value))
            .collect();
        let nodes = shell::quote(&selector.join(","));
        let commands = taints.iter().map(|taint| {
            format!(
                "{} taint nodes -l {nodes} {}",
                self.kubectl(),
                shell::quote(&word(taint))
            )
        });
        Step {
            what,
            commands: commands.collect(),
            changes: self.about_taints(it),
        }
    }
}

/// The taints of the first that the others do not have, of those that keep pods away and that no cloud sets itself.
fn missing<'t>(these: &'t [PoolTaint], others: &[PoolTaint]) -> Vec<&'t PoolTaint> {
    let same = |one: &PoolTaint, other: &PoolTaint| {
        (&one.key, &one.value, one.effect) == (&other.key, &other.value, other.effect)
    };
    let keeps_away = |taint: &PoolTaint| {
        taint.effect != TaintEffect::PreferNoSchedule && taint.set_by == SetBy::Gpuc
    };
    let these = these.iter().filter(|taint| keeps_away(taint));
    these
        .filter(|taint| !others.iter().any(|other| same(taint, other)))
        .collect()
}

fn list(taints: &[&PoolTaint]) -> String {
    let words = taints
        .iter()
        .map(|taint| format!("{}:{}", with_value(taint), effect(taint.effect)));
    words.collect::<Vec<_>>().join(", ")
}

fn with_value(taint: &PoolTaint) -> String {
    if taint.value.is_empty() {
        taint.key.clone()
    } else {
        format!("{}={}", taint.key, taint.value)
    }
}

fn effect(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}
