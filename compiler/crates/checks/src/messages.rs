//! Formatting of configuration values in messages.

use serde::Serialize;

use gpuc_syntax::diag::phrases;

/// The keyword of a value in the configuration: `clusterAutoscaler`.
pub(super) fn keyword(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => unreachable!("messages contain only values that serialize to a string"),
    }
}

/// The quoted keywords of values, as a comma-separated list.
pub(super) fn keyword_list<'a, T: Serialize + 'a>(
    values: impl IntoIterator<Item = &'a T>,
) -> String {
    let words: Vec<_> = values.into_iter().map(keyword).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    phrases::quoted_list(&words, 12)
}

/// A help that lists the valid values.
pub(super) fn one_of_help<'a, T: Serialize + 'a>(
    values: impl IntoIterator<Item = &'a T>,
) -> String {
    let values: Vec<_> = values.into_iter().collect();
    let one_of = if values.len() == 1 { "" } else { "one of " };
    format!("write {one_of}{}", keyword_list(values))
}

#[cfg(test)]
mod tests {
    use gpuc_schema::config::{Autoscaler, OsFamily};

    use super::*;

    #[test]
    fn values_are_formatted_as_in_the_file() {
        assert_eq!(keyword(&Autoscaler::ClusterAutoscaler), "clusterAutoscaler");
        let families = [OsFamily::Bottlerocket, OsFamily::Ubuntu2204];
        assert_eq!(keyword_list(&families), "`Bottlerocket`, `Ubuntu2204`");
        assert_eq!(
            one_of_help(&families),
            "write one of `Bottlerocket`, `Ubuntu2204`"
        );
        assert_eq!(one_of_help(&families[..1]), "write `Bottlerocket`");
    }
}
