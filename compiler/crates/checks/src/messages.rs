//! Formatting of configuration values in messages.

use serde::Serialize;

use gpuc_syntax::diag::words;

/// The keyword of a value in the configuration: `clusterAutoscaler`.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => unreachable!("messages contain only values that serialize to a string"),
    }
}

/// The quoted keywords of values, as a comma-separated list.
pub(super) fn words<'a, T: Serialize + 'a>(values: impl IntoIterator<Item = &'a T>) -> String {
    let words: Vec<_> = values.into_iter().map(word).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    words::some(&words, 12)
}

/// A help that lists the valid values.
pub(super) fn one_of<'a, T: Serialize + 'a>(values: impl IntoIterator<Item = &'a T>) -> String {
    let values: Vec<_> = values.into_iter().collect();
    let one_of = if values.len() == 1 { "" } else { "one of " };
    format!("write {one_of}{}", words(values))
}

#[cfg(test)]
mod tests {
    use gpuc_schema::config::{Autoscaler, OsFamily};

    use super::*;

    #[test]
    fn values_are_formatted_as_in_the_file() {
        assert_eq!(word(&Autoscaler::ClusterAutoscaler), "clusterAutoscaler");
        let families = [OsFamily::Bottlerocket, OsFamily::Ubuntu2204];
        assert_eq!(words(&families), "`Bottlerocket`, `Ubuntu2204`");
        assert_eq!(
            one_of(&families),
            "write one of `Bottlerocket`, `Ubuntu2204`"
        );
        assert_eq!(one_of(&families[..1]), "write `Bottlerocket`");
    }
}
