//! One-line explanations of feasibilities.

use super::{Feasibility, PoolFeasibility};

/// The result closest to a fit: of several, the first with the fewest reasons.
pub fn closest_fit<'v, 'c>(verdicts: &'v [PoolFeasibility<'c>]) -> Option<&'v PoolFeasibility<'c>> {
    let distance = |verdict: &&PoolFeasibility<'_>| {
        let blocking = verdict
            .reasons
            .iter()
            .filter(|reason| reason.feasibility == Feasibility::DoesNotFit);
        (
            std::cmp::Reverse(verdict.feasibility()),
            blocking.count(),
            verdict.reasons.len(),
        )
    };
    verdicts.iter().min_by_key(distance)
}

/// One line for each pool that does not certainly fit the pod.
pub fn explain_pools(verdicts: &[PoolFeasibility<'_>]) -> Vec<String> {
    verdicts.iter().filter_map(explain_pool).collect()
}

/// The reasons why the pod does not fit on a pool, in one line; `None` if it fits.
///
/// If there are blocking reasons, uncertain ones are omitted.
pub fn explain_pool(verdict: &PoolFeasibility<'_>) -> Option<String> {
    let answer = verdict.feasibility();
    let reasons: Vec<_> = verdict
        .reasons
        .iter()
        .filter(|reason| reason.feasibility == answer)
        .map(ToString::to_string)
        .collect();
    let text = match &reasons[..] {
        [] => return None,
        [only] => only.clone(),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    };
    let possibly = match answer {
        Feasibility::Unknown => " possibly",
        _ => "",
    };
    Some(format!("pool `{}`{possibly} {text}", verdict.pool.name))
}
