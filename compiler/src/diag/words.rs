//! Words that messages need in the same way everywhere: what was probably meant, and lists of names.

use std::fmt::Display;

/// The longest word that anything is suggested for; comparing takes time in proportion to the square.
const LONGEST: usize = 64;

/// The one candidate that is nearest to a word, if any is near. Of two that are equally near, none.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_lowercase();
    let distance = |candidate: &str| {
        let near = 1 + word.len().min(candidate.len()) / 4;
        if candidate.len().abs_diff(word.len()) > near {
            return None;
        }
        let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
        (distance <= near && distance < word.chars().count()).then_some(distance)
    };
    let mut near: Vec<(usize, &'c str)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(candidate)?, candidate)))
        .collect();
    near.sort_unstable();
    near.dedup();
    match near.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, candidate), ..] => Some(candidate),
        [] => None,
    }
}

/// The one word that another is but for its case, a letter, or two of a long one.
pub fn slip<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let meant = nearest(word, candidates)?;
    let (word, own) = (word.to_lowercase(), meant.to_lowercase());
    let most = if own.len() < 8 { 1 } else { 2 };
    (strsim::damerau_levenshtein(&word, &own) <= most).then_some(meant)
}

/// A count with its word: `1 node`, `2 nodes`.
pub fn counted<N: Copy + PartialEq + From<bool> + Display>(count: N, word: &str) -> String {
    let s = if count == N::from(true) { "" } else { "s" };
    format!("{count} {word}{s}")
}

/// All of some names, in backticks: `a`, `b` and `c`. `last` is the word before the last one.
pub fn all<S: AsRef<str>>(names: &[S], last: &str) -> String {
    let quoted = names.iter().map(|name| format!("`{}`", name.as_ref()));
    match quoted.collect::<Vec<_>>().as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// At most so many of some names, in backticks, and how many more there are.
pub fn some<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let shown = names.iter().take(most);
    let shown: Vec<_> = shown.map(|name| format!("`{}`", name.as_ref())).collect();
    match names.len().saturating_sub(most) {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_near_word_is_suggested() {
        assert_eq!(nearest("nodez", ["nodes", "name"]), Some("nodes"));
        assert_eq!(nearest("stratgy", ["strategy", "perGpu"]), Some("strategy"));
        assert_eq!(nearest("ONDEMAND", ["onDemand", "spot"]), Some("onDemand"));
        assert_eq!(nearest("replicas", ["count", "min", "max"]), None);
        assert_eq!(
            nearest("mix", ["min", "max"]),
            None,
            "both are one letter away"
        );
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest(&"a".repeat(1_000_000), ["a"]), None);
        let machines = ["p5.48xlarge", "p4d.24xlarge", "g5.2xlarge"];
        assert_eq!(nearest("p5.48xlrage", machines), Some("p5.48xlarge"));
        assert_eq!(nearest("n1-standard-4", machines), None);
    }

    #[test]
    fn names_are_listed() {
        let nodes = [0_u32, 1, 2].map(|count| counted(count, "node"));
        assert_eq!(nodes, ["0 nodes", "1 node", "2 nodes"]);
        assert_eq!(all(&["a", "b", "c"], "or"), "`a`, `b` or `c`");
        assert_eq!(all::<&str>(&[], "or"), "nothing");
        assert_eq!(some(&["a", "b", "c"], 2), "`a`, `b` and 1 more");
    }
}
