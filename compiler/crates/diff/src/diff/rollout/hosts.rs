//! The user's own hosts: new ones are prepared, and those that move between pools are drained, relabelled and
//! uncordoned.

use std::collections::BTreeMap;

use gpuc_syntax::shell;

use super::super::classify::MovedHost;
use super::super::entities::{DRIVER, EntityKey};
use super::super::impact::Impact;
use super::super::report::Step;
use super::changed_pools::sorted_unique;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The steps that drain moved hosts, and those that uncordon them.
pub(super) fn drain_moved_hosts(rollout: &Rollout<'_>) -> Vec<Planned> {
    let mut moves: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for MovedHost { host, from, to } in rollout.setting.moved_hosts() {
        moves.entry((from, to)).or_default().push(host);
    }
    let kubectl = rollout.kubectl();
    let mut steps = Vec::new();
    for ((from, to), hosts) in moves {
        let changes = [rollout.pool_change_ids(&from), rollout.pool_change_ids(&to)].concat();
        let names = hosts.join(", ");
        let step = |what: String, verb: &str, flags: &str| Step {
            instruction: what,
            commands: (hosts.iter())
                .map(|host| format!("{kubectl} {verb} {}{flags}", shell::quote(host)))
                .collect(),
            changes: sorted_unique(changes.clone()),
        };
        let drain = step(
            format!(
                "Drain {names} before the move from pool {from} to pool {to}, which has other labels and taints. If \
                 the jobs cannot all stop at once, move one host after the other, each in its own edit"
            ),
            "drain",
            " --ignore-daemonsets --delete-emptydir-data",
        );
        let uncordon = step(
            format!("Uncordon {names} when they advertise the resources of pool {to}"),
            "uncordon",
            "",
        );
        steps.extend(Phase::DrainNodes.plan([drain]));
        steps.extend(Phase::Uncordon.plan([uncordon]));
    }
    steps
}

/// The steps that run the scripts of new or changed hosts.
pub(super) fn prepare_hosts(rollout: &Rollout<'_>) -> Vec<Planned> {
    let [before, after] = [rollout.setting.before, rollout.setting.after];
    let drained = rollout.temporarily_drained_pools();
    let mut steps = Vec::new();
    for (key, new) in &after.by_key {
        let EntityKey::Pool(pool) = key else { continue };
        let script = format!("cloud/host-{pool}.sh");
        let file = EntityKey::File(script.clone());
        let Some(new_script) = after.by_key.get(&file) else {
            continue;
        };
        let old_script = before.by_key.get(&file);
        if old_script.is_some_and(|old| old.fields == new_script.fields) {
            continue;
        }
        let is_known = |host: &String| {
            let old = before.by_key.get(key);
            old.is_some_and(|old| old.members.contains(host))
        };
        let has_new_hosts = !new.members.iter().all(is_known);
        // If only hosts were removed, the remaining hosts need no run.
        if !has_new_hosts && rollout.differs_only_in_hosts(&script) {
            continue;
        }
        let changes_driver = old_script.is_some() && rollout.changes_driver_on_hosts(pool);
        let is_drained = drained.contains(pool);
        let (changed, others): (Vec<&str>, Vec<&str>) = (new.members.iter())
            .filter(|host| changes_driver || !has_new_hosts || !is_known(host))
            .map(String::as_str)
            .partition(|host| changes_driver && !is_drained && is_known(&(*host).to_owned()));
        let is_existing = new.members.is_empty();
        if !changed.is_empty() || (is_existing && changes_driver && !is_drained) {
            steps.push(rollout.change_driver_step(pool, &changed));
        }
        if others.is_empty() && (!is_existing || (changes_driver && !is_drained)) {
            continue;
        }
        let flag = if changes_driver && is_drained {
            " --allow-disruption"
        } else {
            ""
        };
        let names = if others.is_empty() {
            format!("each node of pool {pool}")
        } else {
            format!("each of {}", others.join(", "))
        };
        steps.push(Step {
            instruction: format!(
                "Copy {script} to {names} and run it there, one host after the other: it installs the packages that \
                 the host needs, and prints the commands to run when the host must reboot"
            ),
            commands: vec![format!("sudo bash {}{flag}", shell::quote(&format!("host-{pool}.sh")))],
            changes: rollout.pool_change_ids(pool),
        });
    }
    Phase::PrepareHosts.plan(steps)
}

impl Rollout<'_> {
    /// Whether a host moved to another pool.
    pub(super) fn is_moved_host(&self, host: &str) -> bool {
        self.setting
            .moved_hosts()
            .iter()
            .any(|moved| moved.host == host)
    }

    /// Whether hosts of this pool moved to another one.
    pub(super) fn loses_moved_hosts(&self, pool: &str) -> bool {
        self.setting
            .moved_hosts()
            .iter()
            .any(|moved| moved.from == pool)
    }

    /// Whether the scripts of a pool's hosts change the driver of nodes that may serve pods.
    pub(super) fn changes_driver_on_hosts(&self, pool: &str) -> bool {
        let file = EntityKey::File(format!("cloud/host-{pool}.sh"));
        let sides = [self.setting.before, self.setting.after];
        sides.iter().all(|side| side.by_key.contains_key(&file))
            && self.changes.iter().any(|change| {
                change.kind == "pool"
                    && change.names.iter().any(|name| name == pool)
                    && (change.impact == Impact::DriverRestarted
                        || change.fields.iter().any(|field| field.path == DRIVER))
            })
    }

    /// The step that changes the driver of one node after the other.
    fn change_driver_step(&self, pool: &str, hosts: &[&str]) -> Step {
        let kubectl = self.kubectl();
        let name = shell::quote(&format!("host-{pool}.sh"));
        let path = shell::quote(&format!("cloud/host-{pool}.sh"));
        let first = hosts
            .first()
            .map_or_else(|| "NODE".to_owned(), |host| shell::quote(host));
        let nodes = if hosts.is_empty() {
            "each of its nodes".to_owned()
        } else {
            format!("each of {}", hosts.join(", "))
        };
        Step {
            instruction: format!(
                "Change the driver of pool {pool} on one node at a time. Run these commands for {nodes}, with its name \
                 as node; ssh uses it as the name of the host. Skip the reboot if the script prints Ready, and uncordon the node only when it has"
            ),
            commands: vec![
                format!("node={first}"),
                format!("{kubectl} drain \"$node\" --ignore-daemonsets --delete-emptydir-data"),
                format!("scp {path} \"$node\":"),
                format!("ssh -t \"$node\" sudo bash {name} --allow-disruption"),
                "ssh -t \"$node\" sudo reboot".to_owned(),
                format!("while ssh -t \"$node\" sudo bash {name}; [ $? = 255 ]; do sleep 20; done"),
                format!("{kubectl} uncordon \"$node\""),
            ],
            changes: self.pool_change_ids(pool),
        }
    }

    /// Whether a host's script is unchanged except for the list of hosts.
    fn differs_only_in_hosts(&self, script: &str) -> bool {
        let [old, new] = [self.before, self.after].map(|side| {
            let tree = &side?.output.as_ref()?.0;
            let (_, file) = tree.files().find(|(path, _)| *path == script)?;
            let lines: Vec<&str> = (file.contents.lines())
                .filter(|line| !line.starts_with("hosts=("))
                .collect();
            Some(lines)
        });
        old.is_some() && old == new
    }
}
