//! Hosts that move between pools: the same machines with other labels and taints.

use super::super::entities::EntityKey;
use super::super::impact::Impact;
use super::classification::Classification;
use super::context::DiffContext;

/// A host that moved to another pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diff) struct MovedHost {
    /// The host's name.
    pub host: String,
    /// The pool before the change.
    pub from: String,
    /// The pool after the change.
    pub to: String,
}

impl DiffContext<'_> {
    /// Every host that moved to another pool.
    pub(in crate::diff) fn moved_hosts(&self) -> Vec<MovedHost> {
        if !self.before.has_user_hosts || !self.after.has_user_hosts {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (key, old) in &self.before.by_key {
            let EntityKey::Pool(from) = key else { continue };
            for (key, new) in &self.after.by_key {
                let EntityKey::Pool(to) = key else { continue };
                let moved = old.members.intersection(&new.members);
                found.extend(moved.filter(|_| to != from).map(|host| MovedHost {
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
fn list_by_pool(moved: &[MovedHost], pool: impl Fn(&MovedHost) -> &str, word: &str) -> String {
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
pub(super) fn classify_removed_pool(
    setting: &DiffContext<'_>,
    name: &str,
) -> Result<String, Classification> {
    let mut moved = setting.moved_hosts();
    moved.retain(|it| it.from == name);
    let Some(entity) = setting.before.by_key.get(&EntityKey::Pool(name.to_owned())) else {
        return Ok(String::new());
    };
    let words = list_by_pool(&moved, |it| &it.to, "move to");
    if moved.is_empty() || moved.len() < entity.members.len() {
        return Ok(words);
    }
    Err(Classification::with_reason(
        Impact::WorkloadRestarted,
        format!("its hosts move to another pool: {words}, drained first"),
    ))
}

/// Verdict for a new pool that takes hosts from other pools.
pub(super) fn classify_added_pool(
    setting: &DiffContext<'_>,
    name: &str,
    holds: &str,
) -> Option<Classification> {
    let mut moved = setting.moved_hosts();
    moved.retain(|it| it.to == name);
    let entity = setting
        .after
        .by_key
        .get(&EntityKey::Pool(name.to_owned()))?;
    let words = list_by_pool(&moved, |it| &it.from, "from");
    if moved.is_empty() {
        return None;
    }
    Some(if moved.len() == entity.members.len() {
        Classification::with_reason(Impact::Added, format!("{holds}, none of them new: {words}"))
    } else {
        Classification::with_reason(
            Impact::CapacityGained,
            format!("a new pool of {holds}, not all of them new: {words}"),
        )
    })
}

/// Verdict for a host that moves between this existing pool and another one.
pub(super) fn classify_moved_host(
    setting: &DiffContext<'_>,
    pool: &str,
    host: &str,
) -> Option<Classification> {
    let moved = setting.moved_hosts();
    let moves_of_host = || moved.iter().filter(|it| it.host == host);
    if let Some(it) = moves_of_host().find(|it| it.from == pool) {
        return Some(Classification::with_reason(
            Impact::WorkloadRestarted,
            format!(
                "{host} moves to pool `{}`: drain it before its labels and taints change",
                it.to
            ),
        ));
    }
    let moved_host = moves_of_host().find(|it| it.to == pool)?;
    Some(Classification::with_reason(
        Impact::CapacityGained,
        format!("{host} moves here from pool `{}`", moved_host.from),
    ))
}
