//! What a misspelt name was probably meant to be.

/// The candidate nearest to a word, when it is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    // A third of the letters may be wrong; in a short word, one.
    let most = (word.chars().count() / 3).max(1);
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= most)
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Names as a sentence lists them, at most `most` of them.
pub fn listed(names: &[&str], most: usize) -> String {
    let shown: Vec<_> = names
        .iter()
        .take(most)
        .map(|name| format!("`{name}`"))
        .collect();
    let rest = names.len().saturating_sub(most);
    match rest {
        0 => shown.join(", "),
        _ => format!("{} and {rest} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let names = ["p5.48xlarge", "p4d.24xlarge", "g5.2xlarge"];
        assert_eq!(nearest("p5.48xlrage", names), Some("p5.48xlarge"));
        assert_eq!(nearest("P5.48XLARGE", names), Some("p5.48xlarge"));
        assert_eq!(nearest("n1-standard-4", names), None);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(listed(&["a", "b", "c"], 2), "`a`, `b` and 1 more");
    }
}
