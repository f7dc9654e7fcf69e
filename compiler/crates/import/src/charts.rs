//! Helm charts that run in the cluster.

use std::collections::BTreeMap;

use gpuc_live::objects::Metadata;
use gpuc_live::state::Kind;

use crate::context::Context;
use crate::report::Report;
use crate::tree::Item;

/// The charts that a file names to install them, with their namespaces.
///
/// Source: the `Charts` of the schema; the namespaces are those of `gpuc_compile::charts`, compared by a test.
const NAMED: &[(&str, &str)] = &[
    ("jobset", "jobset-system"),
    ("kubeflow-trainer", "kubeflow-system"),
    ("kueue", "kueue-system"),
    ("lws", "lws-system"),
    ("network-operator", "nvidia-network-operator"),
    ("node-feature-discovery", "node-feature-discovery"),
];

/// The other charts of gpuc.
const OTHERS: &[&str] = &[
    "aws-efa-k8s-device-plugin",
    "cluster-autoscaler",
    "dcgm-exporter",
    "dra-driver-nvidia-gpu",
    "gpu-operator",
    "jupyterhub",
    "karpenter",
    "kube-prometheus-stack",
    "nvidia-device-plugin",
];

/// The key `charts`: those that gpuc installed because the file names them, and JupyterHub with its values. Other
/// releases are left out: gpuc does not read their values, which are in Secrets.
pub(crate) fn charts(
    cx: &Context<'_>,
    has_queues: bool,
    jupyter_hub: Option<Item>,
    report: &mut Report,
) -> Option<Item> {
    let namespaces = cx.state.objects(Kind::Namespace);
    let named = NAMED.iter().filter_map(|(chart, namespace)| {
        let object = namespaces
            .iter()
            .find(|it| it.metadata.name == *namespace)?;
        let is_of_gpuc = object.metadata.label("app.kubernetes.io/managed-by") == Some("gpuc");
        let follows = *chart == "kueue" && has_queues;
        let reason = "gpuc created the namespace of this chart";
        let at = format!("Namespace {namespace}");
        (is_of_gpuc && !follows).then(|| (*chart, Item::map::<String>([]).guess(at, reason)))
    });
    let hub = jupyter_hub.map(|item| ("jupyterhub", item));
    let named: Vec<_> = hub.into_iter().chain(named).collect();
    for ((chart, version), at) in releases(cx) {
        let is_known =
            OTHERS.contains(&chart.as_str()) || NAMED.iter().any(|(name, _)| *name == chart);
        if is_known {
            let reason = format!(
                "version {version} of this chart runs; gpuc does not read its values, and may install another version"
            );
            report.leave_out(Some(&format!("charts.{chart}")), at, reason);
        }
    }
    (!named.is_empty()).then(|| Item::map(named))
}

/// The charts and their versions, from the labels of Helm, with an object for each.
fn releases(cx: &Context<'_>) -> BTreeMap<(String, String), String> {
    let deployments = cx.state.objects(Kind::Deployment).iter();
    let deployments = deployments.map(|it| ("Deployment", &it.metadata));
    let sets = cx
        .state
        .daemon_sets
        .items
        .iter()
        .map(|it| ("DaemonSet", &it.metadata));
    let found = deployments.chain(sets).filter_map(|(kind, metadata)| {
        let (chart, version) = chart(metadata)?;
        let at = format!(
            "{kind} {}/{}#metadata.labels[helm.sh/chart] = {chart}-{version}",
            metadata.namespace, metadata.name
        );
        Some(((chart.to_owned(), version.to_owned()), at))
    });
    let mut releases = BTreeMap::new();
    for (key, at) in found {
        releases.entry(key).or_insert(at);
    }
    releases
}

/// The name and the version in the label `helm.sh/chart`: `kueue-0.19.2`, `gpu-operator-v26.7.0`.
fn chart(metadata: &Metadata) -> Option<(&str, &str)> {
    let label = metadata.label("helm.sh/chart")?;
    let is_version = |rest: &str| {
        let number = rest
            .trim_start_matches('v')
            .split(['-', '+'])
            .next()
            .unwrap_or_default();
        number.contains('.') && number.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let dashes = label.match_indices('-').map(|(at, _)| label.split_at(at));
    let mut parts = dashes.map(|(name, rest)| (name, &rest[1..]));
    parts.find(|(_, rest)| is_version(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_helm_have_name_and_version() {
        for (label, expected) in [
            ("kueue-0.19.2", Some(("kueue", "0.19.2"))),
            ("gpu-operator-v26.7.0", Some(("gpu-operator", "v26.7.0"))),
            ("k8s-8-b-1.0", Some(("k8s-8-b", "1.0"))),
            ("none", None),
        ] {
            let mut metadata = Metadata::default();
            metadata
                .labels
                .insert("helm.sh/chart".to_owned(), label.to_owned());
            assert_eq!(chart(&metadata), expected);
        }
    }

    #[test]
    fn every_chart_of_gpuc_is_known() {
        for chart in gpuc_compile::charts::CHARTS {
            let own = NAMED.iter().find(|(name, _)| *name == chart.name);
            match own {
                Some((_, namespace)) => assert_eq!(*namespace, chart.namespace),
                None => assert!(OTHERS.contains(&chart.name), "{}", chart.name),
            }
        }
    }
}
