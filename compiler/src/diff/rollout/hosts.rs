//! Hosts that go from one pool to another: they are emptied, get other labels and taints, and take pods again.

use std::collections::BTreeMap;

use super::super::judge::Moved;
use super::super::shown::{Change, Step};
use super::left::about_pool;
use super::{Rollout, ids, unique};
use crate::shell;

impl Rollout<'_> {
    /// Whether another pool has a host now.
    pub(super) fn is_moved(&self, host: &str) -> bool {
        self.setting.moved().iter().any(|it| it.host == host)
    }

    /// Whether another pool has hosts of this one now.
    pub(super) fn gives_hosts(&self, pool: &str) -> bool {
        self.setting.moved().iter().any(|it| it.from == pool)
    }

    /// How they are emptied, and how pods come back.
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
                        "Empty {names} on the way from pool {from} to pool {to}, whose labels and taints are others. \
                         Where jobs cannot all leave at once, move one host after the other, each by an edit of its own"
                    ),
                    each("drain", " --ignore-daemonsets --delete-emptydir-data"),
                ),
                step(
                    format!("Let pods onto {names}, when these offer what pool {to} should"),
                    each("uncordon", ""),
                ),
            )
        });
        both.unzip()
    }
}
