//! Changed taints: the device plugin must tolerate the taints of its nodes at any time, or it is evicted.

use gpuc_model::{Pool, PoolTaint, SetBy};
use gpuc_schema::config::TaintEffect;
use gpuc_syntax::shell;

use super::super::report::{Change, ClusterFate, Step};
use super::cleanup::about_pool;
use super::{BUILD, Rollout, ids};

/// The component that sets a pool's taints on its nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// gpuc's scripts, also on existing nodes.
    Scripts,
    /// A node provisioner, on nodes that it creates.
    Maker,
    /// The user, because gpuc did not create the nodes.
    Hand,
}

/// A pool with GPUs whose taints differ.
struct Tainted<'a> {
    pool: &'a Pool,
    by: By,
    gone: Vec<&'a PoolTaint>,
    came: Vec<&'a PoolTaint>,
}

impl Tainted<'_> {
    /// Whether a node cannot have the old taints next to the new ones.
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

    /// Pools whose old taints are replaced by others.
    fn exchanged(&self) -> Vec<Tainted<'_>> {
        let mut all = self.tainted();
        all.retain(|it| it.by == By::Scripts && !it.gone.is_empty() && !it.came.is_empty());
        all
    }

    /// Pools that are drained because their nodes cannot have the old taints next to the new ones.
    pub(super) fn drained_for_taints(&self) -> Vec<String> {
        let all = self.exchanged().into_iter().filter(Tainted::excludes);
        all.map(|it| it.pool.name.value.clone()).collect()
    }

    /// Pools whose old taints stay next to the new ones until the nodes have the new ones.
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

    /// The steps that keep the old taints in the input next to the new ones.
    pub(super) fn both_taints(&self) -> Vec<Step> {
        let all = self.in_turn().into_iter().map(|it| Step {
            what: format!(
                "The nodes and pods of pool {} do not change from {} to {} at the same time, and the device plugin \
                 stops on nodes with taints that it does not tolerate: keep the old taints next to the new ones in \
                 gpu-cluster.yaml for now, in `taints`",
                it.pool.name,
                list(&it.gone),
                list(&it.came),
            ),
            commands: Vec::new(),
            changes: self.about_taints(&it),
        });
        all.collect()
    }

    /// The steps that remove the old taints when the nodes have the new ones.
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
                    "Remove {} from gpu-cluster.yaml, build and commit",
                    words.join(", and ")
                ),
                vec![BUILD.to_owned()],
            ),
            step(
                format!(
                    "Remove {} from the nodes, while pods still tolerate it",
                    if all.len() == 1 {
                        list(&first.gone)
                    } else {
                        "these taints".to_owned()
                    }
                ),
                vec![
                    "cloud/apply.sh --dry-run".to_owned(),
                    "cloud/apply.sh".to_owned(),
                ],
            ),
        ];
        steps.extend(self.deploy());
        steps.push(Self::verify());
        steps
    }

    /// Whether scripts remove taints from nodes, which must happen before pods stop tolerating them.
    pub(super) fn loses_taints(&self) -> bool {
        let mut all = self.tainted().into_iter();
        all.any(|it| it.by == By::Scripts && !it.gone.is_empty())
    }

    /// The steps for taints that no script removes from existing nodes.
    pub(super) fn taken_off_by_hand(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for it in self.tainted() {
            if it.by == By::Scripts || it.gone.is_empty() {
                continue;
            }
            let taints = list(&it.gone);
            let what = match self.both_makers(&it.pool.name)[0] {
                Some(maker) => format!(
                    "Remove {taints} from the existing nodes of pool {}, right before their device plugin stops \
                     tolerating it: {} omits it only on new nodes",
                    it.pool.name, maker.name
                ),
                None => format!(
                    "gpuc did not create the nodes of pool {}, and no script removes their taints: remove {taints} \
                     from the nodes and from the configuration that creates them, before their device plugin stops \
                     tolerating it",
                    it.pool.name
                ),
            };
            steps.push(self.by_hand(&it, what, &it.gone, |taint| {
                format!("{}:{}-", taint.key, taint.effect.as_str())
            }));
        }
        steps
    }

    /// The steps for taints that no script adds to nodes.
    pub(super) fn put_on_by_hand(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for it in self.tainted() {
            if it.by != By::Hand || it.came.is_empty() {
                continue;
            }
            let what = format!(
                "gpuc did not create the nodes of pool {}, and no script adds taints to them: if they do not have {} \
                 yet, add it to the nodes and to the configuration that creates them, now that their device plugin \
                 tolerates it",
                it.pool.name,
                list(&it.came)
            );
            steps.push(self.by_hand(&it, what, &it.came, |taint| {
                format!("{}:{}", with_value(taint), taint.effect.as_str())
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

/// The scheduling taints set by gpuc that are in the first list only.
fn missing<'t>(taints: &'t [PoolTaint], others: &[PoolTaint]) -> Vec<&'t PoolTaint> {
    let is_same = |one: &PoolTaint, other: &PoolTaint| {
        (&one.key, &one.value, one.effect) == (&other.key, &other.value, other.effect)
    };
    (taints.iter())
        .filter(|taint| taint.effect != TaintEffect::PreferNoSchedule)
        .filter(|taint| taint.set_by == SetBy::Gpuc)
        .filter(|taint| !others.iter().any(|other| is_same(taint, other)))
        .collect()
}

fn list(taints: &[&PoolTaint]) -> String {
    let words = taints
        .iter()
        .map(|taint| format!("{}:{}", with_value(taint), taint.effect.as_str()));
    words.collect::<Vec<_>>().join(", ")
}

fn with_value(taint: &PoolTaint) -> String {
    if taint.value.is_empty() {
        taint.key.clone()
    } else {
        format!("{}={}", taint.key, taint.value)
    }
}
