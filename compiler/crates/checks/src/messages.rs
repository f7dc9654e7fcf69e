//! Formatting of configuration values in messages.

use serde::Serialize;

use gpuc_model::Pool;
use gpuc_schema::config::DriverOwner;
use gpuc_schema::{Span, quantity};
use gpuc_syntax::diag::{DiagnosticBuilder, phrases};

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

/// Whether only a node image can contain the driver of the pool's GPUs, so that a help names only such images.
pub(super) fn needs_driver_in_image(pool: &Pool) -> bool {
    pool.has_gpus() && pool.driver.value == DriverOwner::Preinstalled
}

/// Adds the help for an invalid quantity: the quantity with the correct suffix, if only the suffix is wrong, and
/// otherwise examples.
pub(super) fn with_quantity_help<'r>(
    builder: DiagnosticBuilder<'r>,
    quantity: &str,
    span: Span,
    is_cpu: bool,
    otherwise: String,
) -> DiagnosticBuilder<'r> {
    match with_correct_suffix(quantity, is_cpu) {
        Some(corrected) => builder
            .help(format!("write `{corrected}`"))
            .replace(span, corrected),
        None => match quantity::ambiguous(quantity).filter(|_| !is_cpu) {
            Some((binary, decimal)) => builder.help(format!("write `{binary}` or `{decimal}`")),
            None => builder.help(otherwise),
        },
    }
}

/// The quantity with the intended suffix of Kubernetes: `4T` for `4TB`, and `1k` for `1K` if it is not in bytes.
fn with_correct_suffix(quantity: &str, is_cpu: bool) -> Option<String> {
    let suffix = quantity.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &quantity[..quantity.len() - suffix.len()];
    let unit = suffix.strip_suffix(['B', 'b']).unwrap_or(suffix);
    let known: &[&str] = if is_cpu {
        &["k"]
    } else {
        &["k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"]
    };
    let known = known.iter().find(|known| known.eq_ignore_ascii_case(unit));
    // `m` is a suffix of its own: thousandths. `8g` may mean `8G` or `8Gi`.
    let is_ambiguous = suffix == "m" || !is_cpu && suffix.len() == 1;
    let corrected = known
        .filter(|_| !is_ambiguous)
        .map(|known| format!("{number}{known}"))?;
    let is_valid = quantity::thousandths(&corrected).is_some_and(|amount| amount > 0);
    (is_valid && corrected != quantity).then_some(corrected)
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

    #[test]
    fn suffixes_of_quantities_are_corrected() {
        for (written, is_cpu, corrected) in [
            ("1K", true, Some("1k")),
            ("1K", false, None),
            ("8g", false, None),
            ("4TB", false, Some("4T")),
            ("1.5gb", false, Some("1.5G")),
            ("64GiB", false, Some("64Gi")),
            ("16gi", false, Some("16Gi")),
            ("16Gi", false, None),
            ("100m", false, None),
            ("4GB", true, None),
            ("0GB", false, None),
            ("much", false, None),
            ("-4GB", false, None),
        ] {
            assert_eq!(
                with_correct_suffix(written, is_cpu).as_deref(),
                corrected,
                "{written}"
            );
        }
    }
}
