//! The user's own hosts: new ones are prepared, and those that move between pools are drained, relabelled and
//! uncordoned.

use std::collections::BTreeMap;

use gpuc_syntax::shell;

use super::super::classify::MovedHost;
use super::super::entities::EntityKey;
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
        let restarts_driver = rollout.changes.iter().any(|change| {
            change.kind == "pool"
                && change.impact == Impact::DriverRestarted
                && change.names.contains(pool)
        });
        let hosts: Vec<&str> = (new.members.iter())
            .filter(|host| restarts_driver || !has_new_hosts || !is_known(host))
            .map(String::as_str)
            .collect();
        steps.push(Step {
            instruction: format!(
                "Copy {script} to each of {} and run it there, one host after the other: it installs the packages that \
                 the host needs, and reports when the host must reboot",
                hosts.join(", ")
            ),
            commands: vec![format!("sudo ./host-{pool}.sh")],
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
