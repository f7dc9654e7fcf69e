//! One-line explanations of verdicts.

use super::{Answer, Verdict};

/// The verdict closest to a fit: of several, the first with the fewest reasons.
pub fn best<'v, 'c>(verdicts: &'v [Verdict<'c>]) -> Option<&'v Verdict<'c>> {
    let distance = |verdict: &&Verdict<'_>| {
        let blocking = verdict
            .reasons
            .iter()
            .filter(|reason| reason.answer == Answer::No);
        (
            std::cmp::Reverse(verdict.answer()),
            blocking.count(),
            verdict.reasons.len(),
        )
    };
    verdicts.iter().min_by_key(distance)
}

/// One line for each pool that does not certainly fit the pod.
pub fn explain(verdicts: &[Verdict<'_>]) -> Vec<String> {
    verdicts.iter().filter_map(line).collect()
}

/// The reasons why the pod does not fit on a pool, in one line; `None` if it fits.
///
/// If there are blocking reasons, uncertain ones are omitted.
pub fn line(verdict: &Verdict<'_>) -> Option<String> {
    let answer = verdict.answer();
    let reasons: Vec<_> = verdict
        .reasons
        .iter()
        .filter(|reason| reason.answer == answer)
        .map(ToString::to_string)
        .collect();
    let text = match &reasons[..] {
        [] => return None,
        [only] => only.clone(),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    };
    let possibly = match answer {
        Answer::Perhaps => " possibly",
        _ => "",
    };
    Some(format!("pool `{}`{possibly} {text}", verdict.pool.name))
}
