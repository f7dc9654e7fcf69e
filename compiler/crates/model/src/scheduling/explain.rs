//! One-line explanations of feasibilities.

use super::{Feasibility, PoolFeasibility};

/// The result closest to a fit: of several, the first with the fewest reasons.
pub fn closest_fit<'v, 'c>(
    evaluations: &'v [PoolFeasibility<'c>],
) -> Option<&'v PoolFeasibility<'c>> {
    let distance = |evaluation: &&PoolFeasibility<'_>| {
        let blocking = evaluation
            .reasons
            .iter()
            .filter(|reason| reason.feasibility == Feasibility::DoesNotFit);
        (
            std::cmp::Reverse(evaluation.feasibility()),
            blocking.count(),
            evaluation.reasons.len(),
        )
    };
    evaluations.iter().min_by_key(distance)
}

/// One line for each pool that does not certainly fit the pod.
pub fn explain_pools(evaluations: &[PoolFeasibility<'_>]) -> Vec<String> {
    evaluations.iter().filter_map(explain_pool).collect()
}

/// The reasons why the pod does not fit on a pool, in one line; `None` if it fits.
///
/// If there are blocking reasons, uncertain ones are omitted.
pub fn explain_pool(evaluation: &PoolFeasibility<'_>) -> Option<String> {
    let feasibility = evaluation.feasibility();
    let reasons: Vec<_> = evaluation
        .reasons
        .iter()
        .filter(|reason| reason.feasibility == feasibility)
        .map(ToString::to_string)
        .collect();
    let text = match &reasons[..] {
        [] => return None,
        [only] => only.clone(),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    };
    let possibly = match feasibility {
        Feasibility::Unknown => " possibly",
        _ => "",
    };
    Some(format!("pool `{}`{possibly} {text}", evaluation.pool.name))
}
