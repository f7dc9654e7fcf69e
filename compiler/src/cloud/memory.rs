//! What gpuc set on a resource, remembered on the resource itself.
//!
//! Others set tags, labels and taints too: the cloud, whoever counts costs, an administrator. So a set is not compared
//! as a whole. A key is gpuc's if it is wanted, if it begins with [`OWN`], or if the memory names it: a tag or label of
//! gpuc's with a mark for each of the other keys. What is gpuc's and not wanted any more is removed; all else stays.
//!
//! Each cloud says where its memory is and what a mark looks like there: in Rust what is remembered, in jq, in the
//! definitions of its kinds of resources, what is gpuc's by that.

/// What begins the keys that are gpuc's wherever they are; a rule refuses them to users.
pub(super) const OWN: &str = "gpuc.dev/";

/// The tags or labels of a memory: marks, in order and each once, with as many to a value as fit. The first has this
/// name, the others `-2`, `-3` and so on behind it. A mark that is too long even alone is left out: its key stays
/// where it is when it leaves the file.
pub(super) fn parts(
    name: &str,
    marks: impl IntoIterator<Item = String>,
    separator: &str,
    longest: usize,
) -> Vec<(String, String)> {
    let length = |text: &str| text.chars().count();
    let mut marks: Vec<_> = marks
        .into_iter()
        .filter(|mark| length(mark) <= longest)
        .collect();
    marks.sort();
    marks.dedup();
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
    let named = values.into_iter().enumerate().map(|(index, value)| {
        let name = match index {
            0 => name.to_owned(),
            _ => format!("{name}-{}", index + 1),
        };
        (name, value)
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(marks: &[&str], longest: usize) -> Vec<(String, String)> {
        let marks = marks.iter().map(|mark| (*mark).to_owned());
        parts("gpuc.dev/tags", marks, " ", longest)
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn marks_are_in_order_and_each_once() {
        let one = [pair("gpuc.dev/tags", "a b c")];
        assert_eq!(packed(&["c", "a", "b", "a"], 256), one);
        assert!(packed(&[], 256).is_empty());
    }

    #[test]
    fn what_does_not_fit_goes_into_another_part() {
        let all = packed(&["aaa", "bbb", "cc", "ééé", "much-too-long"], 7);
        let wanted = [
            pair("gpuc.dev/tags", "aaa bbb"),
            pair("gpuc.dev/tags-2", "cc ééé"),
        ];
        assert_eq!(all, wanted);
    }
}
