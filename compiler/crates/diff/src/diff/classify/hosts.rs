//! Hosts that move between pools: the same machines with other labels and taints.

use super::super::entities::Key;
use super::super::impact::Impact;
use super::{Setting, Verdict};

/// A host that moved to another pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diff) struct Moved {
    /// The host's name.
    pub host: String,
    /// The pool before the change.
    pub from: String,
    /// The pool after the change.
    pub to: String,
}

impl Setting<'_> {
    /// Every host that moved to another pool.
    pub(in crate::diff) fn moved(&self) -> Vec<Moved> {
        if !self.before.own_hosts || !self.after.own_hosts {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (key, old) in &self.before.all {
            let Key::Pool(from) = key else { continue };
            for (key, new) in &self.after.all {
                let Key::Pool(to) = key else { continue };
                let moved = old.members.intersection(&new.members);
                found.extend(moved.filter(|_| to != from).map(|host| Moved {
                    host: host.clone(),
                    from: from.clone(),
                    to: to.clone(),
                }));
            }
        }
        found
    }
}

/// `a, b from pool x`, pool by pool; empty without any.
fn listed(moved: &[Moved], pool: impl Fn(&Moved) -> &str, word: &str) -> String {
    let mut pools: Vec<&str> = moved.iter().map(&pool).collect();
    pools.dedup();
    let of = |name: &str| {
        let hosts = moved.iter().filter(|it| pool(it) == name);
        let hosts: Vec<&str> = hosts.map(|it| it.host.as_str()).collect();
        format!("{} {word} pool `{name}`", hosts.join(", "))
    };
    let all: Vec<String> = pools.into_iter().map(of).collect();
    all.join("; ")
}

/// Verdict for a removed pool if all its hosts moved to other pools; otherwise a description of those that moved.
pub(super) fn removed_pool(setting: &Setting<'_>, name: &str) -> Result<String, Verdict> {
    let mut moved = setting.moved();
    moved.retain(|it| it.from == name);
    let Some(part) = setting.before.all.get(&Key::Pool(name.to_owned())) else {
        return Ok(String::new());
    };
    let words = listed(&moved, |it| &it.to, "move to");
    if moved.is_empty() || moved.len() < part.members.len() {
        return Ok(words);
    }
    Err(Verdict::because(
        Impact::WorkloadRestarted,
        format!("its hosts move to another pool: {words}, drained first"),
    ))
}

/// Verdict for a new pool that takes hosts from other pools.
pub(super) fn added_pool(setting: &Setting<'_>, name: &str, holds: &str) -> Option<Verdict> {
    let mut moved = setting.moved();
    moved.retain(|it| it.to == name);
    let part = setting.after.all.get(&Key::Pool(name.to_owned()))?;
    let words = listed(&moved, |it| &it.from, "from");
    if moved.is_empty() {
        return None;
    }
    Some(if moved.len() == part.members.len() {
        Verdict::because(Impact::Added, format!("{holds}, none of them new: {words}"))
    } else {
        Verdict::because(
            Impact::CapacityGained,
            format!("a new pool of {holds}, not all of them new: {words}"),
        )
    })
}

/// Verdict for a host that moves between this existing pool and another one.
pub(super) fn moves(setting: &Setting<'_>, pool: &str, host: &str) -> Option<Verdict> {
    let moved = setting.moved();
    let of_host = || moved.iter().filter(|it| it.host == host);
    if let Some(it) = of_host().find(|it| it.from == pool) {
        return Some(Verdict::because(
            Impact::WorkloadRestarted,
            format!(
                "{host} moves to pool `{}`: drain it before its labels and taints change",
                it.to
            ),
        ));
    }
    let it = of_host().find(|it| it.to == pool)?;
    Some(Verdict::because(
        Impact::CapacityGained,
        format!("{host} moves here from pool `{}`", it.from),
    ))
}
