//! Text descriptions of pictures for screen readers.

use super::scene::range;
use super::view::{PoolView, View};

/// The maximum number of described pools: screen reader users cannot skip.
const MOST: usize = 20;

/// Describes the picture of a cluster.
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
                "{} has {} guaranteed and a limit of {}",
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
        text.push_str(&format!("; per node {}", offers.join(", ")));
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
