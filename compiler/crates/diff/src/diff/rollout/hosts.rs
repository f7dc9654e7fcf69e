//! Hosts that move between pools: they are drained, relabelled and uncordoned.

use std::collections::BTreeMap;

use gpuc_syntax::shell;

use super::super::classify::Moved;
use super::super::report::{Change, Step};
use super::cleanup::about_pool;
use super::{Rollout, ids, unique};

impl Rollout<'_> {
    /// Whether a host moved to another pool.
    pub(super) fn is_moved(&self, host: &str) -> bool {
        self.setting.moved().iter().any(|it| it.host == host)
    }

    /// Whether hosts of this pool moved to another one.
    pub(super) fn gives_hosts(&self, pool: &str) -> bool {
        self.setting.moved().iter().any(|it| it.from == pool)
    }

    /// The steps that drain moved hosts, and those that uncordon them.
    pub(super) fn moved_hosts(&self) -> (Vec<Step>, Vec<Step>) {
        let mut ways: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for Moved { host, from, to } in self.setting.moved() {
            ways.entry((from, to)).or_default().push(host);
        }
        let both = ways.into_iter().map(|((from, to), hosts)| {
            let all: Vec<&Change> = self.changes.iter().collect();
            let about = [about_pool(&all, &from), about_pool(&all, &to)].concat();
            let each = |command: &str, flags: &str| {
                let hosts = hosts.iter().map(|host| shell::quote(host));
                hosts
                    .map(|host| format!("{} {command} {host}{flags}", self.kubectl()))
                    .collect()
            };
            let names = hosts.join(", ");
            let step = |what: String, commands: Vec<String>| Step {
                what,
                commands,
                changes: unique(ids(&about)),
            };
            (
                step(
                    format!(
                        "Drain {names} before the move from pool {from} to pool {to}, which has other labels and \
                         taints. If the jobs cannot all stop at once, move one host after the other, each in its own \
                         edit"
                    ),
                    each("drain", " --ignore-daemonsets --delete-emptydir-data"),
                ),
                step(
                    format!("Uncordon {names} when they advertise the resources of pool {to}"),
                    each("uncordon", ""),
                ),
            )
        });
        both.unzip()
    }
}
