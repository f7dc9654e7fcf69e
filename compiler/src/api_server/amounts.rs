//! Quantities, and what is between requests and limits.

use super::Here;
use super::place::Step;
use super::read::{Read, get, read};
use super::types::{Type, fields, is_custom};
use crate::diag::words::all;
use crate::node::Node;
use crate::placement::thousandths;

/// The fields that are one quantity, and those that are quantities by names.
const SINGLE: &[(&str, &str)] = &[
    ("EmptyDirVolumeSource", "sizeLimit"),
    ("MetricTarget", "averageValue"),
    ("MetricTarget", "value"),
    ("ResourceFieldSelector", "divisor"),
];
const NAMED: &[(&str, &str)] = &[
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

/// What stands behind numbers most of the time.
const UNITS: &[&str] = &["m", "k", "M", "G", "Ki", "Mi", "Gi"];

/// Letters that people write after numbers, for what Kubernetes has.
const MEANT: &[(&str, &str)] = &[
    ("kb", "k"),
    ("mb", "M"),
    ("gb", "G"),
    ("tb", "T"),
    ("kib", "Ki"),
    ("mib", "Mi"),
    ("gib", "Gi"),
    ("tib", "Ti"),
    ("k", "k"),
    ("g", "G"),
    ("t", "T"),
    ("ki", "Ki"),
    ("mi", "Mi"),
    ("gi", "Gi"),
    ("ti", "Ti"),
    ("b", ""),
];

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateResourceQuantityValue` and
/// `ValidateContainerResourceRequirements`; the grammar: `placement/quantity.rs`.
pub(super) fn look(here: &mut Here<'_, '_>) {
    let name = here.name;
    let of_custom = fields(name).iter().filter(|_| is_custom(name));
    let amount = Type::Map(Box::new(Type::Amount));
    let (single, named) = (
        of_custom.clone().filter(|it| it.holds == Type::Amount),
        of_custom.filter(|it| it.holds == amount),
    );
    let own = |table: &'static [(&str, &'static str)]| {
        table.iter().filter(move |it| it.0 == name).map(|it| it.1)
    };
    for field in own(SINGLE).chain(single.map(|it| it.name)) {
        if let Some(value) = get(here.node, field) {
            one(here, vec![Step::from(field)], value);
        }
    }
    for field in own(NAMED).chain(named.map(|it| it.name)) {
        let entries = here.node.get(field).map_or(&[][..], Node::entries);
        let is_container = name == "ResourceRequirements";
        for entry in entries
            .iter()
            .filter(|entry| !is_container || !is_counted_elsewhere(&entry.key))
        {
            let below = vec![Step::from(field), Step::from(entry.key.as_str())];
            one(here, below, &entry.value);
        }
    }
    if here.name == "ResourceRequirements" {
        limits(here);
        pages(here);
    }
}

/// Extended resources, of which the rules for manifests ask for whole numbers.
fn is_counted_elsewhere(name: &str) -> bool {
    name.contains('/')
}

/// What stands there, where it may be an amount.
fn written(value: &Node) -> Option<String> {
    match read(value) {
        Read::Text(text) => Some(text.to_owned()),
        Read::Whole(number) => Some(number.to_string()),
        // A number that is too large for a computer is still an amount.
        Read::Number(_) => value.text().map(str::to_owned),
        _ => None,
    }
}

/// An amount in thousandths, and what stands there.
pub(super) fn amount(value: &Node) -> Option<(u64, String)> {
    let text = written(value)?;
    Some((thousandths(&text)?, text))
}

fn one(here: &mut Here<'_, '_>, below: Vec<Step>, value: &Node) {
    let Some(text) = written(value) else {
        return;
    };
    if thousandths(&text).is_some() {
        return;
    }
    let is_less = text
        .strip_prefix('-')
        .is_some_and(|rest| thousandths(rest).is_some());
    if is_less {
        here.refuse(
            below,
            |path| format!("`{path}` is `{text}`, and has to be 0 or more"),
            "write 0 or more, or remove it",
        );
        return;
    }
    let meant = meant(&text);
    let help = match &meant {
        Some(meant) => format!("write `{meant}`"),
        None => format!(
            "write a number, with {} behind it or nothing",
            all(UNITS, "or")
        ),
    };
    here.refuse(
        below,
        |path| format!("`{path}` is `{text}`, which is no amount"),
        help,
    );
    here.meant(meant);
}

fn meant(text: &str) -> Option<String> {
    let compact: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != ',')
        .collect();
    let end = compact
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(compact.len());
    let (number, letters) = compact.split_at(end);
    let lower = letters.to_ascii_lowercase();
    let letters = MEANT
        .iter()
        .find(|it| it.0 == lower)
        .map_or(letters, |it| it.1);
    let meant = format!("{number}{letters}");
    thousandths(&meant).map(|_| meant)
}

/// Huge pages are whole, and no more than are asked for can be had.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateContainerResourceRequirements` and
/// `validateResourceQuantityHugePageValue`.
fn pages(here: &mut Here<'_, '_>) {
    let amount = |list: &str, name: &str| {
        let value = here.node.get(list)?.get(name)?;
        let text = match read(value) {
            Read::Text(text) => text.to_owned(),
            Read::Whole(number) => number.to_string(),
            _ => return None,
        };
        Some((thousandths(&text)?, text))
    };
    let mut found = Vec::new();
    for list in ["limits", "requests"] {
        for entry in here.node.get(list).map_or(&[][..], Node::entries) {
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
                    format!("is `{text}`, which are no whole pages"),
                    "write a multiple of a page",
                ));
            } else if list == "requests"
                && amount("limits", name).is_none_or(|(limit, _)| limit > own)
            {
                let message = format!("is `{text}`, and its limit is not the same");
                found.push((list, name, message, "write the same limit"));
            }
        }
    }
    for (list, name, message, help) in found {
        here.refuse(
            [Step::from(list), Step::from(name)],
            |path| format!("`{path}` {message}"),
            help,
        );
    }
}

/// A limit is at least the request.
fn limits(here: &mut Here<'_, '_>) {
    let amount = |list: &str, name: &str| amount(here.node.get(list)?.get(name)?);
    let mut found = Vec::new();
    for entry in here.node.get("limits").map_or(&[][..], Node::entries) {
        if is_counted_elsewhere(&entry.key) {
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
        here.refuse(
            [Step::from("requests"), Step::from(name)],
            |path| format!("`{path}` is `{request}`, which is more than its limit of `{limit}`"),
            "write a limit that is no less, or a smaller request",
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_was_meant() {
        let meant = |text: &str| super::meant(text).unwrap_or_default();
        assert_eq!(meant("10GB"), "10G");
        assert_eq!(meant("10 Gi"), "10Gi");
        assert_eq!(meant("512mb"), "512M");
        assert_eq!(meant("1GiB"), "1Gi");
        assert_eq!(meant("1,000"), "1000");
        assert_eq!(meant("lots"), "");
    }
}
