//! What was probably meant.

/// The one candidate that is nearest to a word, if any is near.
pub(super) fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_lowercase();
    let distance = |candidate: &str| {
        let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
        let near = 1 + word.len().min(candidate.len()) / 4;
        (distance <= near && distance < word.chars().count()).then_some(distance)
    };
    let mut near: Vec<(usize, &'c str)> = candidates
        .iter()
        .filter_map(|candidate| Some((distance(candidate)?, *candidate)))
        .collect();
    near.sort_unstable();
    match near.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, candidate), ..] => Some(candidate),
        [] => None,
    }
}

/// Words in backticks: `a`, `b` and `c`.
pub(super) fn list(words: &[&str], last: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_near_word_is_suggested() {
        assert_eq!(nearest("nodez", &["nodes", "name"]), Some("nodes"));
        assert_eq!(
            nearest("stratgy", &["strategy", "perGpu"]),
            Some("strategy")
        );
        assert_eq!(nearest("ONDEMAND", &["onDemand", "spot"]), Some("onDemand"));
        assert_eq!(nearest("replicas", &["count", "min", "max"]), None);
        assert_eq!(
            nearest("mix", &["min", "max"]),
            None,
            "both are one letter away"
        );
        assert_eq!(nearest("x", &["y"]), None);
        assert_eq!(nearest(&"a".repeat(1_000_000), &["a"]), None);
        assert_eq!(list(&["a", "b", "c"], "or"), "`a`, `b` or `c`");
    }
}
