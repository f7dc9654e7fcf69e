//! Verdicts in words, a line for each pool.

use super::{Answer, Verdict};

/// The verdict that comes nearest to a yes: of several, the one with the fewest reasons, and then the first.
pub fn best<'v, 'c>(verdicts: &'v [Verdict<'c>]) -> Option<&'v Verdict<'c>> {
    let distance = |verdict: &&Verdict<'_>| {
        let against = verdict.reasons.iter();
        let against = against.filter(|reason| reason.answer == Answer::No);
        (
            std::cmp::Reverse(verdict.answer()),
            against.count(),
            verdict.reasons.len(),
        )
    };
    verdicts.iter().min_by_key(distance)
}

/// One line for each pool that does not surely hold the pod.
pub fn explain(verdicts: &[Verdict<'_>]) -> Vec<String> {
    verdicts.iter().filter_map(line).collect()
}

/// Why a pool does not hold the pod, in a line; `None` where it does.
///
/// Where something is impossible, what is only open is left out.
pub fn line(verdict: &Verdict<'_>) -> Option<String> {
    let answer = verdict.answer();
    let decisive = verdict.reasons.iter();
    let decisive = decisive.filter(|reason| reason.answer == answer);
    let words: Vec<_> = decisive.map(ToString::to_string).collect();
    let words = match &words[..] {
        [] => return None,
        [only] => only.clone(),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    };
    let perhaps = match answer {
        Answer::Perhaps => " perhaps",
        _ => "",
    };
    Some(format!("pool `{}`{perhaps} {words}", verdict.pool.name))
}
