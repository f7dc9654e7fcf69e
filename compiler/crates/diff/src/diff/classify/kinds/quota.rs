//! Whether a quota shrinks or grows: the meaning of an absent field depends on the field.

use std::cmp::Ordering;

use gpuc_schema::config::Quantity;
use serde_json::Value as Json;

use super::super::super::changes::Delta;

/// The default weight of a queue.
///
/// Source: kueue 0.19 CRD of ClusterQueue, spec.fairSharing.weight, read 2026-11-22.
const DEFAULT_WEIGHT: u64 = 1000;

/// Compares the quota after the change with the one before; `None` if the values are not quantities.
pub(super) fn compare_quotas(path: &str, delta: &Delta) -> Option<Ordering> {
    let [from, to] = [&delta.from, &delta.to].map(Option::as_ref);
    let last = path.rsplit('.').next().unwrap_or(path);
    Some(if last == "weight" {
        let weight = |value| quantity_thousandths(value).unwrap_or(DEFAULT_WEIGHT);
        weight(to).cmp(&weight(from))
    } else if path.starts_with("spec.hard") || last == "borrowingLimit" || last == "lendingLimit" {
        // An absent limit means unlimited.
        match (quantity_thousandths(from), quantity_thousandths(to)) {
            (Some(from), Some(to)) => to.cmp(&from),
            (None, None) => return None,
            (None, _) => Ordering::Less,
            (_, None) => Ordering::Greater,
        }
    } else if let (Some(Json::Array(from)), Some(Json::Array(to))) = (from, to) {
        if from.iter().any(|it| !to.contains(it)) {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    } else {
        // An absent quota means zero.
        match (from, to) {
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            _ => quantity_thousandths(to)?.cmp(&quantity_thousandths(from)?),
        }
    })
}

/// A quantity in thousandths.
pub(super) fn quantity_thousandths(value: Option<&Json>) -> Option<u64> {
    let text = match value? {
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.clone(),
        _ => return None,
    };
    Quantity(text).thousandths()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diff::entities::EntityKey;

    fn compare(path: &str, from: Option<Json>, to: Option<Json>) -> Option<Ordering> {
        let delta = Delta {
            key: EntityKey::Location,
            path: Some(path.to_owned()),
            from,
            to,
            inputs: Vec::new(),
        };
        compare_quotas(path, &delta)
    }

    #[test]
    fn absent_quota_is_zero_and_absent_limit_unlimited() {
        let quota = "spec.resourceGroups[g].flavors[f].resources[r].nominalQuota";
        assert_eq!(compare(quota, Some(json!(4)), None), Some(Ordering::Less));
        assert_eq!(
            compare(quota, None, Some(json!(4))),
            Some(Ordering::Greater)
        );
        assert_eq!(
            compare(quota, Some(json!("500m")), Some(json!(1))),
            Some(Ordering::Greater)
        );
        let limit = "spec.resourceGroups[g].flavors[f].resources[r].borrowingLimit";
        assert_eq!(
            compare(limit, Some(json!(4)), None),
            Some(Ordering::Greater)
        );
        assert_eq!(compare(limit, None, Some(json!(4))), Some(Ordering::Less));
        assert_eq!(
            compare("spec.hard.pods", Some(json!("4")), None),
            Some(Ordering::Greater)
        );
        let weight = "spec.fairSharing.weight";
        assert_eq!(compare(weight, Some(json!(2)), None), Some(Ordering::Less));
        assert_eq!(
            compare(weight, Some(json!("0.5")), None),
            Some(Ordering::Greater)
        );
        assert_eq!(compare(weight, Some(json!(1)), None), Some(Ordering::Equal));
    }
}
