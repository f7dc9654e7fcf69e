//! Hosts that go from one pool to another: the same machines with other labels and taints.

use super::super::impact::Impact;
use super::super::parts::Key;
use super::{Setting, Verdict};

/// A host that another pool has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diff) struct Moved {
    /// Its name.
    pub host: String,
    /// The pool that had it.
    pub from: String,
    /// The pool that has it.
    pub to: String,
}

impl Setting<'_> {
    /// Every host that is in another pool than before.
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

/// `a, b of pool x`, pool by pool; empty without any.
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

/// A pool that is gone and whose hosts others have: of all of them, or in words where some stay with nobody.
pub(super) fn left(setting: &Setting<'_>, name: &str) -> Result<String, Verdict> {
    let mut moved = setting.moved();
    moved.retain(|it| it.from == name);
    let Some(part) = setting.before.all.get(&Key::Pool(name.to_owned())) else {
        return Ok(String::new());
    };
    let words = listed(&moved, |it| &it.to, "go to");
    if moved.is_empty() || moved.len() < part.members.len() {
        return Ok(words);
    }
    Err(Verdict::because(
        Impact::WorkloadRestarted,
        format!("its hosts are the same machines in another pool: {words}, drained first"),
    ))
}

/// A new pool that has hosts of others.
pub(super) fn came(setting: &Setting<'_>, name: &str, holds: &str) -> Option<Verdict> {
    let mut moved = setting.moved();
    moved.retain(|it| it.to == name);
    let part = setting.after.all.get(&Key::Pool(name.to_owned()))?;
    let words = listed(&moved, |it| &it.from, "of");
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

/// A host that leaves a pool which stays, or comes to it, for another pool or from one.
pub(super) fn moves(setting: &Setting<'_>, pool: &str, host: &str) -> Option<Verdict> {
    let moved = setting.moved();
    let of_host = || moved.iter().filter(|it| it.host == host);
    if let Some(it) = of_host().find(|it| it.from == pool) {
        return Some(Verdict::because(
            Impact::WorkloadRestarted,
            format!(
                "{host} goes to pool `{}`: what runs on it leaves before its labels and taints change",
                it.to
            ),
        ));
    }
    let it = of_host().find(|it| it.to == pool)?;
    Some(Verdict::because(
        Impact::CapacityGained,
        format!("{host} comes from pool `{}`", it.from),
    ))
}
