//! Phrases for messages: suggestions for typos, counts, and lists of names.

use std::fmt::Display;

/// The maximum length of a word for suggestions; the comparison takes quadratic time.
const MAX_WORD_LENGTH: usize = 64;

/// The maximum number of candidates of the same length as a word, more or less. Thousands of similar names are
/// generated: none of them is meant more than the others, and comparing all takes too much time.
const MAX_CANDIDATES: usize = 700;

/// The candidate that is closest to a word, if any is close enough. `None` if two are equally close, or if there are
/// too many candidates.
pub fn closest_match<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    if word.len() > MAX_WORD_LENGTH {
        return None;
    }
    let lower = word.to_lowercase();
    let max_distance = |candidate: &str| 1 + word.len().min(candidate.len()) / 4;
    let has_similar_length =
        |candidate: &&str| candidate.len().abs_diff(word.len()) <= max_distance(candidate);
    let candidates = candidates.into_iter().filter(has_similar_length);
    let candidates: Vec<_> = candidates.take(MAX_CANDIDATES + 1).collect();
    if candidates.len() > MAX_CANDIDATES {
        return None;
    }
    let distance = |candidate: &str| {
        let max_distance = max_distance(candidate);
        let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
        (distance <= max_distance && distance < word.chars().count()).then_some(distance)
    };
    let mut matches: Vec<(usize, &'c str)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(candidate)?, candidate)))
        .collect();
    matches.sort_unstable();
    matches.dedup();
    match matches.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, candidate), ..] => Some(candidate),
        [] => None,
    }
}

/// The candidates that become a word by one typing mistake, sorted: a missing, additional, wrong or swapped character.
/// If some have the swapped characters in the right order, or one character that the word repeats, only those. In a
/// word of fewer than three characters, any other edit is as likely another word.
pub fn one_edit_away<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Vec<&'c str> {
    if word.len() > MAX_WORD_LENGTH {
        return Vec::new();
    }
    let is_one_edit = |candidate: &&str| {
        candidate.len().abs_diff(word.len()) <= 1
            && strsim::damerau_levenshtein(word, candidate) == 1
    };
    let mut similar: Vec<_> = candidates.into_iter().filter(is_one_edit).collect();
    similar.sort_unstable();
    similar.dedup();
    let likely: Vec<_> = similar
        .iter()
        .copied()
        .filter(|candidate| is_slip(word, candidate))
        .collect();
    if likely.is_empty() && word.chars().count() > 2 {
        similar
    } else {
        likely
    }
}

/// Whether a word, which is one edit away from another, has two characters swapped or one repeated.
fn is_slip(word: &str, intended: &str) -> bool {
    let (word, intended): (Vec<_>, Vec<_>) = (word.chars().collect(), intended.chars().collect());
    let first = word.iter().zip(&intended).take_while(|(a, b)| a == b);
    let at = first.count();
    if word.len() == intended.len() {
        // One edit away and of the same length: a wrong character, or two swapped.
        return word.get(at + 1) == intended.get(at) && word.get(at) == intended.get(at + 1);
    }
    // The additional character repeats the one before it.
    word.len() > intended.len() && at > 0 && word[at] == word[at - 1]
}

/// A count with its noun: `1 node`, `2 nodes`.
pub fn pluralize<N: Copy + PartialEq + From<bool> + Display>(count: N, word: &str) -> String {
    let s = if count == N::from(true) { "" } else { "s" };
    format!("{count} {word}{s}")
}

/// All names, in backticks: `a`, `b` and `c`. `last` is the conjunction before the last name.
pub fn quoted_conjunction<S: AsRef<str>>(names: &[S], last: &str) -> String {
    let quoted = names.iter().map(|name| format!("`{}`", name.as_ref()));
    match quoted.collect::<Vec<_>>().as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// At most `most` names, in backticks, and the number of the other names.
pub fn quoted_list<S: AsRef<str>>(names: &[S], max_names: usize) -> String {
    let shown = names.iter().take(max_names);
    let shown: Vec<_> = shown.map(|name| format!("`{}`", name.as_ref())).collect();
    match names.len().saturating_sub(max_names) {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_words_are_not_suggested() {
        assert_eq!(closest_match("nodez", ["nodes", "name"]), Some("nodes"));
        assert_eq!(
            closest_match("stratgy", ["strategy", "perGpu"]),
            Some("strategy")
        );
        assert_eq!(
            closest_match("ONDEMAND", ["onDemand", "spot"]),
            Some("onDemand")
        );
        assert_eq!(closest_match("replicas", ["count", "min", "max"]), None);
        assert_eq!(
            closest_match("mix", ["min", "max"]),
            None,
            "both differ in one letter"
        );
        assert_eq!(closest_match("x", ["y"]), None);
        assert_eq!(closest_match(&"a".repeat(1_000_000), ["a"]), None);
        let machines = ["p5.48xlarge", "p4d.24xlarge", "g5.2xlarge"];
        assert_eq!(closest_match("p5.48xlrage", machines), Some("p5.48xlarge"));
        assert_eq!(closest_match("n1-standard-4", machines), None);
    }

    #[test]
    fn slips_are_preferred() {
        let families = ["m6i", "m6id", "m6in", "m7i", "m7a", "i7i"];
        for (word, expected) in [
            ("m6ii", &["m6i"][..]),
            ("mi7", &["m7i"]),
            ("m6ix", &["m6i", "m6id", "m6in"]),
            ("7i", &[]),
            ("m7i", &["i7i", "m6i", "m7a"]),
            ("c7gn", &[]),
        ] {
            assert_eq!(one_edit_away(word, families), expected, "{word}");
        }
    }

    #[test]
    fn names_are_listed() {
        let nodes = [0_u32, 1, 2].map(|count| pluralize(count, "node"));
        assert_eq!(nodes, ["0 nodes", "1 node", "2 nodes"]);
        assert_eq!(
            quoted_conjunction(&["a", "b", "c"], "or"),
            "`a`, `b` or `c`"
        );
        assert_eq!(quoted_conjunction::<&str>(&[], "or"), "nothing");
        assert_eq!(quoted_list(&["a", "b", "c"], 2), "`a`, `b` and 1 more");
    }
}
