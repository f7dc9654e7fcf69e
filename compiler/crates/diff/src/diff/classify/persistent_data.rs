//! Impact on data stored by charts and PersistentVolumeClaims.

use gpuc_compile::charts::KUBE_PROMETHEUS_STACK;
use gpuc_model::plan::Chart;
use gpuc_schema::config::Quantity;

use super::super::changes::Delta;
use super::super::entities::Entity;
use super::super::impact::Impact;
use super::classification::Classification;
use super::context::DiffContext;

/// The chart value with the retention of metrics.
const RETENTION: &str = "values.prometheus.prometheusSpec.retention";

/// The chart value with the storage of metrics.
const STORAGE: &str = "values.prometheus.prometheusSpec.storageSpec";

const VOLUME_RESIZE_SOURCE: &str = "prometheus-operator/prometheus-operator Documentation/platform/storage.md, resizing volumes: \
    existing claims have to be changed by hand (from memory)";

const HUB_DATABASE_SOURCE: &str = "jupyterhub/zero-to-jupyterhub-k8s@124be3be jupyterhub/templates/hub/pvc.yaml, whose \
    annotations are the user's alone, so that Helm removes it with the release; jupyterhub/values.yaml, hub.db.type \
    sqlite-pvc";

/// Verdict for stored metrics.
pub(super) fn classify_metrics(chart: &Chart, path: &str, delta: &Delta) -> Option<Classification> {
    if chart.name != KUBE_PROMETHEUS_STACK.name {
        return None;
    }
    if path == RETENTION {
        let [from, to] =
            [&delta.from, &delta.to].map(|value| parse_days(value.as_ref()?.as_str()?));
        return Some(match (from, to) {
            (Some(from), Some(to)) if to >= from => Classification::with_reason(
                Impact::ServiceRestarted,
                "Prometheus restarts, and keeps metrics longer from now on",
            ),
            _ => Classification::with_reason(Impact::Deleted, "Prometheus deletes older metrics"),
        });
    }
    if !path.starts_with(STORAGE) {
        return None;
    }
    Some(if delta.to.is_none() {
        Classification::with_reason(
            Impact::Deleted,
            "Prometheus restarts without its stored metrics: they stay in its PersistentVolumeClaim until you delete \
             it, and new metrics are lost with its pod",
        )
    } else if delta.from.is_none() {
        Classification::with_reason(
            Impact::ServiceRestarted,
            "Prometheus restarts with an empty volume",
        )
    } else if let (Some(from), Some(to)) = (
        quantity_thousandths(delta.from.as_ref()),
        quantity_thousandths(delta.to.as_ref()),
    ) && to < from
    {
        let stays = delta.from.as_ref().and_then(serde_json::Value::as_str);
        Classification::with_source(
            Impact::ServiceRestarted,
            format!(
                "a PersistentVolumeClaim cannot shrink: the existing one stays {}, and only a new one gets this size",
                stays.unwrap_or("as it is")
            ),
            VOLUME_RESIZE_SOURCE,
        )
    } else {
        Classification::with_source(
            Impact::ServiceRestarted,
            "the existing volume stays as it is, and only a new one gets this size: resize its PersistentVolumeClaim \
             by hand",
            VOLUME_RESIZE_SOURCE,
        )
    })
}

/// Whether JupyterHub's database is on a PersistentVolumeClaim of its chart, which is the default.
pub(super) fn has_database(hub: &Entity) -> bool {
    let kind = hub.fields.get("values.hub.db.type");
    let storage_type = hub
        .fields
        .get("values.hub.db.pvc.annotations.\"helm.sh/resource-policy\"");
    kind.is_none_or(|leaf| leaf.value == "sqlite-pvc")
        && storage_type.is_none_or(|leaf| leaf.value != "keep")
}

/// Verdict for JupyterHub's data when its chart is removed.
pub(super) fn classify_removed_hub() -> Classification {
    Classification::with_source(
        Impact::Deleted,
        "the hub's database of users and running notebooks is deleted with it; running notebooks become unreachable \
         and keep their GPUs until you delete their pods; users' files stay in their PersistentVolumeClaims",
        HUB_DATABASE_SOURCE,
    )
}

/// Verdict for a PersistentVolumeClaim that requests another size.
pub(super) fn classify_resized_claim(setting: &DiffContext<'_>, is_less: bool) -> Classification {
    if !is_less {
        return Classification::with_reason(
            Impact::Nothing,
            "the volume grows, if its StorageClass allows expansion",
        );
    }
    let stops = match setting.after.controller {
        "" => "install.sh stops there".to_owned(),
        tool => format!("{tool} reports that it failed"),
    };
    Classification::with_source(
        Impact::Refused,
        format!(
            "{CLAIM_CANNOT_SHRINK}: the API server rejects it, and {stops}. Restore the size, or copy the data to a smaller \
             claim with another name, and remove this one"
        ),
        CLAIM_SHRINK_SOURCE,
    )
}

/// The message for a PersistentVolumeClaim that shrinks.
pub(in crate::diff) const CLAIM_CANNOT_SHRINK: &str = "a PersistentVolumeClaim cannot shrink";

const CLAIM_SHRINK_SOURCE: &str = "kubernetes/kubernetes pkg/apis/core/validation/validation.go, \
    ValidatePersistentVolumeClaimUpdate, by its message: field can not be less than status.capacity";

/// A quantity in thousandths.
fn quantity_thousandths(value: Option<&serde_json::Value>) -> Option<u64> {
    Quantity(value?.as_str()?.to_owned()).thousandths()
}

/// Parses a duration in days, in the chart's notation.
fn parse_days(text: &str) -> Option<u64> {
    text.strip_suffix('d')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_days_are_parsed() {
        assert_eq!(parse_days("30d"), Some(30));
        assert_eq!(parse_days("2w"), None);
    }
}
