//! What becomes of data that charts and claims keep.

use gpuc_schema::config::Quantity;

use super::super::deltas::Delta;
use super::super::impact::Impact;
use super::super::parts::Part;
use super::{Setting, Verdict};
use crate::chart::{Chart, KUBE_PROMETHEUS_STACK};

/// Where the chart says how long metrics are kept.
const RETENTION: &str = "values.prometheus.prometheusSpec.retention";

/// Where the chart says what they are kept on.
const STORAGE: &str = "values.prometheus.prometheusSpec.storageSpec";

const OPERATOR: &str = "prometheus-operator/prometheus-operator Documentation/platform/storage.md, resizing volumes: \
    existing claims have to be changed by hand (from memory)";

const DATABASE: &str = "jupyterhub/zero-to-jupyterhub-k8s@124be3be jupyterhub/templates/hub/pvc.yaml, whose annotations \
    are the user's alone, so that Helm removes it with the release; jupyterhub/values.yaml, hub.db.type sqlite-pvc";

/// What becomes of stored metrics.
pub(super) fn judge(chart: &Chart, path: &str, delta: &Delta) -> Option<Verdict> {
    if chart.name != KUBE_PROMETHEUS_STACK.name {
        return None;
    }
    if path == RETENTION {
        let [from, to] = [&delta.from, &delta.to].map(|value| days(value.as_ref()?.as_str()?));
        return Some(match (from, to) {
            (Some(from), Some(to)) if to >= from => Verdict::because(
                Impact::ServiceRestarted,
                "Prometheus restarts, and keeps metrics for longer from now on",
            ),
            _ => Verdict::because(
                Impact::Deleted,
                "Prometheus deletes what it stored before that",
            ),
        });
    }
    if !path.starts_with(STORAGE) {
        return None;
    }
    Some(if delta.to.is_none() {
        Verdict::because(
            Impact::Deleted,
            "Prometheus starts anew without what it stored: that stays in its volume claim until somebody deletes it, and \
             what is stored from now on goes with its pod",
        )
    } else if delta.from.is_none() {
        Verdict::because(
            Impact::ServiceRestarted,
            "Prometheus restarts with an empty volume",
        )
    } else if let (Some(from), Some(to)) = (amount(delta.from.as_ref()), amount(delta.to.as_ref()))
        && to < from
    {
        let stays = delta.from.as_ref().and_then(serde_json::Value::as_str);
        Verdict::fact(
            Impact::ServiceRestarted,
            format!(
                "no volume claim gets smaller: the one that is there stays {}, and only a new one is made so",
                stays.unwrap_or("as it is")
            ),
            OPERATOR,
        )
    } else {
        Verdict::fact(
            Impact::ServiceRestarted,
            "the volume that is there stays as it is, and only a new one is made otherwise: make its claim larger by hand",
            OPERATOR,
        )
    })
}

/// Whether JupyterHub's database is on a claim of its chart's, which is its default.
pub(super) fn has_database(hub: &Part) -> bool {
    let kind = hub.leaves.get("values.hub.db.type");
    let kept = hub
        .leaves
        .get("values.hub.db.pvc.annotations.\"helm.sh/resource-policy\"");
    kind.is_none_or(|leaf| leaf.value == "sqlite-pvc")
        && kept.is_none_or(|leaf| leaf.value != "keep")
}

/// What becomes of JupyterHub's data when its chart is removed.
pub(super) fn hub_leaves() -> Verdict {
    Verdict::fact(
        Impact::Deleted,
        "the hub's database leaves with it: who its users are, and which notebooks run; notebooks that run stay without a \
         hub, out of reach and with their GPUs, until somebody deletes their pods, and files of people stay in their claims",
        DATABASE,
    )
}

/// What becomes of a claim that asks for another size.
pub(super) fn claim(setting: &Setting<'_>, is_less: bool) -> Verdict {
    if !is_less {
        return Verdict::because(Impact::Nothing, "the volume grows, where its class lets it");
    }
    let stops = match setting.after.tool {
        "" => "install.sh stops there".to_owned(),
        tool => format!("{tool} reports that it failed"),
    };
    Verdict::fact(
        Impact::Refused,
        format!(
            "{SMALLER_CLAIM}: the API server refuses it, and {stops}. Take it back, or move its data to a \
             smaller claim of another name, and let this one leave"
        ),
        SMALLER,
    )
}

/// How a claim that shrinks is spoken of.
pub(in crate::diff) const SMALLER_CLAIM: &str = "no volume claim gets smaller";

const SMALLER: &str = "kubernetes/kubernetes pkg/apis/core/validation/validation.go, \
    ValidatePersistentVolumeClaimUpdate, by its message: field can not be less than status.capacity";

/// A quantity in thousandths.
fn amount(value: Option<&serde_json::Value>) -> Option<u64> {
    Quantity(value?.as_str()?.to_owned()).thousandths()
}

/// A duration of days as the chart has it.
fn days(text: &str) -> Option<u64> {
    text.strip_suffix('d')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read() {
        assert_eq!(days("30d"), Some(30));
        assert_eq!(days("2w"), None);
    }
}
