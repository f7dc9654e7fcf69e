//! Ownership records: the keys that gpuc set on a cloud resource, stored on the resource itself.
//!
//! The cloud, cost tools and administrators set tags, labels and taints too, so gpuc does not compare a set as a whole.
//! gpuc owns a key if the key is in the desired set, if it has the prefix [`OWNED_PREFIX`], or if the ownership record
//! names it. The record is a tag or label of gpuc with a mark for each of the other keys. gpuc removes the keys that it
//! owns and that are no longer desired, and keeps all others.
//!
//! Each cloud defines the location of its record and the format of a mark. Rust code writes the record; the jq
//! definitions of the kinds of resources read it.

use std::collections::BTreeSet;

/// The prefix of keys that gpuc always owns; a rule rejects it in the file.
pub const OWNED_PREFIX: &str = "gpuc.dev/";

/// The tags or labels of an ownership record: sorted marks without duplicates, as many per value as fit. The first has
/// this name, the others the suffixes `-2`, `-3` and so on. A mark that is too long for one value is omitted: gpuc does
/// not remove its key when it is removed from the file.
pub fn record_entries(
    name: &str,
    marks: impl IntoIterator<Item = String>,
    separator: &str,
    longest: usize,
) -> Vec<(String, String)> {
    let length = |text: &str| text.chars().count();
    let marks: BTreeSet<String> = marks
        .into_iter()
        .filter(|mark| length(mark) <= longest)
        .collect();
    let mut values: Vec<String> = Vec::new();
    for mark in marks {
        let fits =
            |value: &&mut String| length(value) + length(separator) + length(&mark) <= longest;
        match values.last_mut().filter(fits) {
            Some(value) => {
                value.push_str(separator);
                value.push_str(&mark);
            }
            None => values.push(mark),
        }
    }
    (1..)
        .zip(values)
        .map(|(number, value)| match number {
            1 => (name.to_owned(), value),
            _ => (format!("{name}-{number}"), value),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(marks: &[&str], longest: usize) -> Vec<(String, String)> {
        let marks = marks.iter().map(|mark| (*mark).to_owned());
        record_entries("gpuc.dev/tags", marks, " ", longest)
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn marks_are_sorted_and_unique() {
        let one = [pair("gpuc.dev/tags", "a b c")];
        assert_eq!(packed(&["c", "a", "b", "a"], 256), one);
        assert!(packed(&[], 256).is_empty());
    }

    #[test]
    fn marks_that_do_not_fit_start_another_part() {
        let all = packed(&["aaa", "bbb", "cc", "ééé", "much-too-long"], 7);
        let wanted = [
            pair("gpuc.dev/tags", "aaa bbb"),
            pair("gpuc.dev/tags-2", "cc ééé"),
        ];
        assert_eq!(all, wanted);
    }
}
