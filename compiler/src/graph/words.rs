//! A picture in words, for those who hear it.

use super::scene::range;
use super::view::{PoolView, View};

/// The most pools that are described: who hears it cannot skip.
const MOST: usize = 20;

/// What a picture of a cluster shows.
pub(super) fn description(view: &View) -> String {
    let mut sentences = vec![format!("{}.", view.facts.join(", "))];
    for pool in view.pools.iter().take(MOST) {
        sentences.push(pool_words(pool));
    }
    if view.pools.len() > MOST {
        sentences.push(format!("And {} more pools.", view.pools.len() - MOST));
    }
    for promise in view.promises.iter().take(MOST) {
        let teams = promise.teams.iter().take(MOST).map(|team| {
            format!(
                "{} has {} kept and {} at most",
                team.name, team.guaranteed, team.limit
            )
        });
        let teams: Vec<_> = teams.collect();
        sentences.push(format!(
            "Of {} {} of {}, {}.",
            range(promise.min, promise.max),
            promise.resource,
            promise.pool,
            teams.join(", ")
        ));
    }
    sentences.join(" ")
}

fn pool_words(pool: &PoolView) -> String {
    let (few, many) = pool.node_count();
    let word = if many == 1 { "node" } else { "nodes" };
    let mut text = format!(
        "Pool {}: {} {word}, {}",
        pool.name,
        range(few, many),
        pool.words()
    );
    let offers = pool.offers.iter();
    let offers: Vec<_> = offers
        .map(|it| format!("{} {}", it.per_node, it.name))
        .collect();
    if !offers.is_empty() {
        text.push_str(&format!("; a node offers {}", offers.join(", ")));
    }
    if !pool.taints.is_empty() {
        text.push_str(&format!("; taints {}", pool.taints.join(", ")));
    }
    let runs: Vec<_> = pool
        .workloads
        .iter()
        .take(MOST)
        .map(|it| it.name.as_str())
        .collect();
    if !runs.is_empty() {
        text.push_str(&format!("; runs {}", runs.join(", ")));
    }
    text + "."
}
