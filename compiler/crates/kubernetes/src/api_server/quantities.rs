//! Quantities, and the relation of requests and limits.

use gpuc_syntax::diag::phrases::quoted_conjunction;
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, parse_value};
use super::types::{ValueType, fields_of_type, is_custom_type};
use gpuc_schema::quantity::{self, thousandths};

/// The fields that are a quantity, and those that are maps of quantities.
const QUANTITY_FIELDS: &[(&str, &str)] = &[
    ("EmptyDirVolumeSource", "sizeLimit"),
    ("MetricTarget", "averageValue"),
    ("MetricTarget", "value"),
    ("ResourceFieldSelector", "divisor"),
];
const QUANTITY_MAP_FIELDS: &[(&str, &str)] = &[
    ("LimitRangeItem", "default"),
    ("LimitRangeItem", "defaultRequest"),
    ("LimitRangeItem", "max"),
    ("LimitRangeItem", "maxLimitRequestRatio"),
    ("LimitRangeItem", "min"),
    ("PersistentVolumeSpec", "capacity"),
    ("PodSpec", "overhead"),
    ("ResourceQuotaSpec", "hard"),
    ("ResourceRequirements", "limits"),
    ("ResourceRequirements", "requests"),
    ("VolumeResourceRequirements", "limits"),
    ("VolumeResourceRequirements", "requests"),
];

/// The most common suffixes.
const SUGGESTED_SUFFIXES: &[&str] = &["m", "k", "M", "G", "Ki", "Mi", "Gi"];

/// Common wrong suffixes, with the suffixes of Kubernetes.
const SUFFIX_CORRECTIONS: &[(&str, &str)] = &[
    ("kb", "k"),
    ("mb", "M"),
    ("gb", "G"),
    ("tb", "T"),
    ("kib", "Ki"),
    ("mib", "Mi"),
    ("gib", "Gi"),
    ("tib", "Ti"),
    ("ki", "Ki"),
    ("mi", "Mi"),
    ("gi", "Gi"),
    ("ti", "Ti"),
    ("b", ""),
];

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateResourceQuantityValue` and
/// `ValidateContainerResourceRequirements`; the grammar: `placement/quantity.rs`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.type_name;
    let of_custom = fields_of_type(name).iter().filter(|_| is_custom_type(name));
    let amount = ValueType::Map(Box::new(ValueType::Quantity));
    let (single, named) = (
        of_custom
            .clone()
            .filter(|it| it.value_type == ValueType::Quantity),
        of_custom.filter(|it| it.value_type == amount),
    );
    let fields_in_table = |table: &'static [(&str, &'static str)]| {
        table.iter().filter(move |it| it.0 == name).map(|it| it.1)
    };
    for field in fields_in_table(QUANTITY_FIELDS).chain(single.map(|it| it.name)) {
        if let Some(value) = get_non_null(ctx.node, field) {
            check_quantity(ctx, vec![Step::from(field)], value);
        }
    }
    for field in fields_in_table(QUANTITY_MAP_FIELDS).chain(named.map(|it| it.name)) {
        let entries = ctx.node.get(field).map_or(&[][..], Node::entries);
        let is_container = name == "ResourceRequirements";
        for entry in entries
            .iter()
            .filter(|entry| !is_container || !is_extended_resource(&entry.key))
        {
            let below = vec![Step::from(field), Step::from(entry.key.as_str())];
            check_quantity(ctx, below, &entry.value);
        }
    }
    if ctx.type_name == "ResourceRequirements" {
        check_requests_within_limits(ctx);
        check_huge_pages(ctx);
    }
}

/// Extended resources; the rules for manifests check that they are integers.
fn is_extended_resource(name: &str) -> bool {
    name.contains('/')
}

/// The text of a value that can be a quantity.
fn scalar_text(value: &Node) -> Option<String> {
    match parse_value(value) {
        ParsedValue::Text(text) => Some(text.to_owned()),
        ParsedValue::Integer(number) => Some(number.to_string()),
        // A number that is too large for an integer is still a quantity.
        ParsedValue::Float(_) => value.text().map(str::to_owned),
        _ => None,
    }
}

/// A quantity in thousandths, and its text.
pub(super) fn parse_quantity(value: &Node) -> Option<(u64, String)> {
    let text = scalar_text(value)?;
    Some((thousandths(&text)?, text))
}

fn check_quantity(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, value: &Node) {
    let Some(text) = scalar_text(value) else {
        return;
    };
    if thousandths(&text).is_some() {
        return;
    }
    let is_negative = text
        .strip_prefix('-')
        .is_some_and(|rest| thousandths(rest).is_some());
    if is_negative {
        ctx.report(
            below,
            |path| format!("`{path}` is `{text}`, but must be 0 or more"),
            "write 0 or more, or remove it",
        );
        return;
    }
    let meant = corrected_quantity(&text);
    let help = match (&meant, quantity::ambiguous(&text)) {
        (Some(meant), _) => format!("write `{meant}`"),
        (None, Some((binary, decimal))) => format!("write `{binary}` or `{decimal}`"),
        (None, None) => format!(
            "write a number, with {} behind it or nothing",
            quoted_conjunction(SUGGESTED_SUFFIXES, "or")
        ),
    };
    ctx.report(
        below,
        |path| format!("`{path}` is `{text}`, which is not a valid quantity"),
        help,
    );
    ctx.suggest(meant);
}

fn corrected_quantity(text: &str) -> Option<String> {
    let compact: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != ',')
        .collect();
    let end = compact
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(compact.len());
    let (number, letters) = compact.split_at(end);
    let lower = letters.to_ascii_lowercase();
    let letters = SUFFIX_CORRECTIONS
        .iter()
        .find(|it| it.0 == lower)
        .map_or(letters, |it| it.1);
    let meant = format!("{number}{letters}");
    thousandths(&meant).map(|_| meant)
}

/// Huge pages are multiples of the page size, and their limit equals their request.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateContainerResourceRequirements` and
/// `validateResourceQuantityHugePageValue`.
fn check_huge_pages(ctx: &mut ObjectContext<'_, '_>) {
    let amount = |list: &str, name: &str| {
        let value = ctx.node.get(list)?.get(name)?;
        let text = match parse_value(value) {
            ParsedValue::Text(text) => text.to_owned(),
            ParsedValue::Integer(number) => number.to_string(),
            _ => return None,
        };
        Some((thousandths(&text)?, text))
    };
    let mut found = Vec::new();
    for list in ["limits", "requests"] {
        for entry in ctx.node.get(list).map_or(&[][..], Node::entries) {
            let name = entry.key.as_str();
            let Some((own, text)) = amount(list, name).filter(|_| name.starts_with("hugepages-"))
            else {
                continue;
            };
            let size = name.strip_prefix("hugepages-").and_then(thousandths);
            let size = size.filter(|size| *size > 0);
            if size.is_some_and(|size| own % size != 0) {
                found.push((
                    list,
                    name,
                    format!("is `{text}`, which is not a multiple of the page size"),
                    "write a multiple of a page",
                ));
            } else if list == "requests"
                && amount("limits", name).is_none_or(|(limit, _)| limit > own)
            {
                let message = format!("is `{text}`, but its limit differs");
                found.push((list, name, message, "write the same limit"));
            }
        }
    }
    for (list, name, message, help) in found {
        ctx.report(
            [Step::from(list), Step::from(name)],
            |path| format!("`{path}` {message}"),
            help,
        );
    }
}

/// A limit must not be lower than the request.
fn check_requests_within_limits(ctx: &mut ObjectContext<'_, '_>) {
    let amount = |list: &str, name: &str| parse_quantity(ctx.node.get(list)?.get(name)?);
    let mut found = Vec::new();
    for entry in ctx.node.get("limits").map_or(&[][..], Node::entries) {
        if is_extended_resource(&entry.key) {
            continue;
        }
        let name = entry.key.as_str();
        if let (Some(limit), Some(request)) = (amount("limits", name), amount("requests", name))
            && request.0 > limit.0
        {
            found.push((name, request.1, limit.1));
        }
    }
    for (name, request, limit) in found {
        ctx.report(
            [Step::from("requests"), Step::from(name)],
            |path| format!("`{path}` is `{request}`, which is more than its limit of `{limit}`"),
            "increase the limit, or reduce the request",
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn wrong_suffixes_are_corrected() {
        let meant = |text: &str| super::corrected_quantity(text).unwrap_or_default();
        assert_eq!(meant("10GB"), "10G");
        assert_eq!(meant("10 Gi"), "10Gi");
        assert_eq!(meant("512mb"), "512M");
        assert_eq!(meant("1GiB"), "1Gi");
        assert_eq!(meant("1,000"), "1000");
        assert_eq!(meant("lots"), "");
        assert_eq!(meant("64K"), "");
    }
}
