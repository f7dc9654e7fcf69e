//! Text descriptions of pictures for screen readers.

use super::scene::format_range;
use super::view::{PoolView, View};

/// The maximum number of described pools: screen reader users cannot skip.
const MAX_POOLS: usize = 20;

/// Describes the picture of a cluster.
pub(super) fn describe_view(view: &View) -> String {
    let mut sentences = vec![format!("{}.", view.facts.join(", "))];
    for pool in view.pools.iter().take(MAX_POOLS) {
        sentences.push(describe_pool(pool));
    }
    if view.pools.len() > MAX_POOLS {
        sentences.push(format!(
            "And {}.",
            gpuc_syntax::diag::phrases::pluralize(view.pools.len() - MAX_POOLS, "more pool")
        ));
    }
    for promise in view.quota_totals.iter().take(MAX_POOLS) {
        let teams = promise.teams.iter().take(MAX_POOLS).map(|team| {
            format!(
                "{} has {} guaranteed and a limit of {}",
                team.name, team.guaranteed, team.limit
            )
        });
        let teams: Vec<_> = teams.collect();
        sentences.push(format!(
            "Of {} {} of {}, {}.",
            format_range(promise.min, promise.max),
            promise.resource,
            promise.pool,
            teams.join(", ")
        ));
    }
    sentences.join(" ")
}

fn describe_pool(pool: &PoolView) -> String {
    let (few, many) = pool.node_count();
    let word = if many == 1 { "node" } else { "nodes" };
    let mut text = format!(
        "Pool {}: {} {word}, {}",
        pool.name,
        format_range(few, many),
        pool.summary()
    );
    let offers = pool.advertised.iter();
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
        .take(MAX_POOLS)
        .map(|it| it.name.as_str())
        .collect();
    if !runs.is_empty() {
        text.push_str(&format!("; runs {}", runs.join(", ")));
    }
    text + "."
}
