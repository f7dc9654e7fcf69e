//! Whether a running cluster is the one of the file, by its nodes.

use gpuc_model::Cluster;
use gpuc_schema::config::CloudSection;
use serde_json::Value as Json;

/// The clouds by the prefix of `spec.providerID`: the key in the file, and the name.
///
/// Source: kubernetes/cloud-provider-aws, cloud-provider-gcp and cloud-provider-azure, `ProviderName`, 2026-11-28.
const PROVIDERS: &[(&str, &str, &str)] = &[
    ("aws://", "aws", "AWS"),
    ("gce://", "gcp", "Google Cloud"),
    ("azure://", "azure", "Azure"),
];

/// The labels of nodes with the name of their cluster.
///
/// Source: eksctl `pkg/apis/eksctl.io/v1alpha5/types.go` (`ClusterNameLabel`), 2026-11-28.
const NAME_LABELS: &[&str] = &["alpha.eksctl.io/cluster-name"];

/// Why the cluster with these nodes is another one than the cluster of the file, as a sentence. `None` if nothing in
/// the nodes shows it. A cluster on premises or of
/// another provider can have machines of a cloud.
pub fn find_other_cluster(cluster: &Cluster, nodes: &[Json]) -> Option<String> {
    if matches!(
        cluster.config.cloud.value,
        CloudSection::OnPrem(_) | CloudSection::Existing(_)
    ) {
        return None;
    }
    let own = cluster.cloud.facts().key;
    let of_cloud = nodes.iter().find_map(|node| {
        let id = node["spec"]["providerID"].as_str()?;
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        let (prefix, key, title) = PROVIDERS.iter().find(|it| id.starts_with(it.0))?;
        if *key != own {
            let section = cluster.cloud.facts().name;
            return Some(format!(
                "the node `{name}` is a machine of {title} (`{id}`), and the file describes a cluster of {section}"
            ));
        }
        let rest = &id[prefix.len()..];
        let (what, actual, wanted) = identity(&cluster.config.cloud.value, node, rest)
            .into_iter()
            .find(|(_, actual, wanted)| !actual.is_empty() && !actual.eq_ignore_ascii_case(wanted))?;
        Some(format!(
            "the node `{name}` is in the {what} `{actual}`, and the file names `{wanted}`"
        ))
    });
    of_cloud.or_else(|| other_name(cluster, nodes))
}

/// What a node says about its cluster, and what the file says: the names of the values, the values of the node, and
/// those of the file. Values that the node does not show are empty.
fn identity<'c>(
    section: &'c CloudSection,
    node: &Json,
    id: &str,
) -> Vec<(&'static str, String, &'c str)> {
    let label = |key: &str| {
        let value = node["metadata"]["labels"][key].as_str();
        value.unwrap_or_default().to_owned()
    };
    let region = label("topology.kubernetes.io/region");
    // `gce://PROJECT/ZONE/INSTANCE` and `azure:///subscriptions/ID/resourceGroups/…`
    let parts: Vec<&str> = id.split('/').collect();
    let after = |name: &str| {
        let at = parts.iter().position(|it| it.eq_ignore_ascii_case(name));
        let value = at.and_then(|at| parts.get(at + 1)).copied();
        value.unwrap_or_default().to_owned()
    };
    match section {
        CloudSection::Aws(aws) => vec![("region", region, &aws.region.value)],
        CloudSection::Gcp(gcp) => {
            let location = &gcp.location.value;
            let project = parts.first().copied().unwrap_or_default().to_owned();
            // The location is a region or a zone of it.
            let is_within = location == &region || location.starts_with(&format!("{region}-"));
            let region = if is_within { String::new() } else { region };
            vec![
                ("project", project, &gcp.project.value),
                ("region", region, location),
            ]
        }
        CloudSection::Azure(azure) => vec![
            (
                "subscription",
                after("subscriptions"),
                &azure.subscription.value,
            ),
            ("region", region, &azure.location.value),
        ],
        CloudSection::OnPrem(_) | CloudSection::Existing(_) => Vec::new(),
    }
}

/// The name of the cluster in a label of a node, if it is another one.
fn other_name(cluster: &Cluster, nodes: &[Json]) -> Option<String> {
    let own = &cluster.name.value;
    nodes.iter().find_map(|node| {
        let labels = &node["metadata"]["labels"];
        let names = NAME_LABELS.iter().filter_map(|key| Some((key, labels[key].as_str()?)));
        let (key, name) = names.into_iter().find(|(_, name)| name != own)?;
        let node = node["metadata"]["name"].as_str().unwrap_or_default();
        Some(format!(
            "the label `{key}` of the node `{node}` names the cluster `{name}`, and the file describes `{own}`"
        ))
    })
}
