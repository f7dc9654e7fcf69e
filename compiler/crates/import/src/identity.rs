//! The cluster that files of a cloud describe: all of them must be about the same one, and about the imported one.

use gpuc_live::state::ClusterState;
use serde_json::Value;

use crate::cloud_files::{CloudFile, CloudPart};
use crate::json::text;

/// A file that describes another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The path of the file.
    pub path: String,
    /// The cluster in the file.
    pub found: String,
    /// The object or the file with the other cluster.
    pub other: String,
    /// The other cluster.
    pub expected: String,
}

/// The label of nodes with their region.
const REGION: &str = "topology.kubernetes.io/region";

/// A cluster in a cloud.
#[derive(Debug)]
struct Identity {
    /// The cluster for messages, which is unique: `EKS cluster prod in us-east-1`.
    title: String,
    /// The region; of GKE also a zone.
    region: String,
}

/// Verifies that the files are about one cluster, in the region of the nodes.
pub(crate) fn verify(files: &[CloudFile], state: &ClusterState) -> Result<(), Conflict> {
    let mut known: Option<(&str, String)> = None;
    for file in files {
        for part in &file.parts {
            let Some(own) = identity(part) else {
                continue;
            };
            match &known {
                Some((path, title)) if !title.eq_ignore_ascii_case(&own.title) => {
                    return Err(Conflict {
                        path: file.path.clone(),
                        found: own.title,
                        other: (*path).to_owned(),
                        expected: format!("of {title}"),
                    });
                }
                Some(_) => {}
                None => known = Some((&file.path, own.title.clone())),
            }
            if let Some((node, region)) = other_region(&own.region, state) {
                return Err(Conflict {
                    path: file.path.clone(),
                    found: own.title,
                    other: format!("Node {node}"),
                    expected: format!("in {region}"),
                });
            }
        }
    }
    Ok(())
}

/// A node and its region, if all nodes are in other regions.
fn other_region<'s>(region: &str, state: &'s ClusterState) -> Option<(&'s str, &'s str)> {
    let nodes = state.nodes.items.iter();
    let regions = nodes.filter_map(|node| {
        let region = node.metadata.label(REGION)?;
        Some((node.metadata.name.as_str(), region))
    });
    let regions: Vec<_> = regions.collect();
    // A zone of GKE begins with its region.
    let is_same = |other: &str| region.eq_ignore_ascii_case(other) || region.starts_with(other);
    let is_known = !region.is_empty() && !regions.iter().any(|(_, it)| is_same(it));
    regions.first().copied().filter(|_| is_known)
}

/// The cluster of a part; `None` if the part does not name it.
fn identity(part: &CloudPart) -> Option<Identity> {
    match part {
        CloudPart::EksCluster(value) => eks(text(value, "/arn")?),
        CloudPart::EksNodeGroup(value) => eks(text(value, "/nodegroupArn")?),
        CloudPart::GkeCluster(value) | CloudPart::GkeNodePool(value) => gke(value),
        CloudPart::AksCluster(value) | CloudPart::AksNodePool(value) => aks(value),
    }
}

/// `arn:aws:eks:us-east-1:123456789012:cluster/prod` and `…:nodegroup/prod/gpu/…`.
///
/// Source: docs.aws.amazon.com, "Resource types defined by Amazon EKS", 2026-11-28 (from memory).
fn eks(arn: &str) -> Option<Identity> {
    let mut parts = arn.splitn(6, ':').skip(3);
    let (region, account, resource) = (parts.next()?, parts.next()?, parts.next()?);
    let name = resource.split('/').nth(1)?;
    Some(Identity {
        title: format!("the EKS cluster `{name}` of account {account} in {region}"),
        region: region.to_owned(),
    })
}

/// `https://container.googleapis.com/v1/projects/p/locations/us-central1/clusters/prod/nodePools/gpu`; older ones have
/// `zones`.
fn gke(value: &Value) -> Option<Identity> {
    let link = text(value, "/selfLink")?;
    let (project, location, name) = (
        after(link, "projects")?,
        after(link, "locations").or_else(|| after(link, "zones"))?,
        after(link, "clusters")?,
    );
    Some(Identity {
        title: format!("the GKE cluster `{name}` of project {project} in {location}"),
        region: location.to_owned(),
    })
}

/// `/subscriptions/s/resourceGroups/ml/providers/Microsoft.ContainerService/managedClusters/prod/agentPools/gpu`. The
/// location is a key of the cluster only.
fn aks(value: &Value) -> Option<Identity> {
    let id = text(value, "/id")?;
    let (group, name) = (after(id, "resourceGroups")?, after(id, "managedClusters")?);
    Some(Identity {
        title: format!("the AKS cluster `{name}` in resource group {group}"),
        region: text(value, "/location").unwrap_or_default().to_owned(),
    })
}

/// The part of a path after a name, in any case.
fn after<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let mut parts = path.split('/');
    parts.find(|part| part.eq_ignore_ascii_case(name))?;
    parts.next()
}

#[cfg(test)]
mod tests {
    use gpuc_live::read::read_files;

    use super::*;

    fn check(files: &[&str], region: &str) -> Result<(), String> {
        let files: Vec<CloudFile> = (files.iter().enumerate())
            .map(|(index, text)| {
                CloudFile::parse(&format!("{index}.json"), text.as_bytes()).unwrap()
            })
            .collect();
        let node = format!(
            r#"{{"kind": "NodeList", "apiVersion": "v1", "items": [{{"metadata": {{"name": "a",
                "labels": {{"topology.kubernetes.io/region": "{region}"}}}}}}]}}"#
        );
        let load = |_: &str| Ok(node.clone().into_bytes());
        let (state, _) = read_files(&["nodes.json".to_owned()], &load);
        verify(&files, &state).map_err(|conflict| {
            let Conflict {
                path,
                found,
                other,
                expected,
            } = conflict;
            format!("{path}: {found}, {other}: {expected}")
        })
    }

    const CLUSTER: &str =
        r#"{"cluster": {"name": "prod", "arn": "arn:aws:eks:us-east-1:1:cluster/prod"}}"#;

    #[test]
    fn node_groups_of_another_cluster_are_refused() {
        let group = |arn: &str| {
            format!(r#"{{"nodegroup": {{"nodegroupName": "gpu", "nodegroupArn": "{arn}"}}}}"#)
        };
        let own = group("arn:aws:eks:us-east-1:1:nodegroup/prod/gpu/x");
        assert_eq!(check(&[CLUSTER, &own], "us-east-1"), Ok(()));
        for arn in [
            "arn:aws:eks:us-east-1:1:nodegroup/other/gpu/x",
            "arn:aws:eks:eu-west-1:1:nodegroup/prod/gpu/x",
            "arn:aws:eks:us-east-1:2:nodegroup/prod/gpu/x",
        ] {
            let error = check(&[CLUSTER, &group(arn)], "us-east-1").unwrap_err();
            assert!(error.starts_with("1.json: the EKS cluster"), "{error}");
            assert!(
                error.contains("0.json: of the EKS cluster `prod`"),
                "{error}"
            );
        }
        let error = check(&[&own], "eu-west-1").unwrap_err();
        assert!(error.ends_with("Node a: in eu-west-1"), "{error}");
        // A shortened description names no cluster.
        assert_eq!(
            check(
                &[CLUSTER, r#"{"nodegroup": {"nodegroupName": "gpu"}}"#],
                "us-east-1"
            ),
            Ok(())
        );
    }

    #[test]
    fn pools_of_gke_and_aks_name_their_cluster() {
        let gke = |cluster: &str, pool: &str| {
            format!(
                r#"{{"name": "gpu", "config": {{"machineType": "g2-standard-4"}}, "selfLink":
                "https://container.googleapis.com/v1/projects/p/zones/us-central1-a/clusters/{cluster}{pool}"}}"#
            )
        };
        let (one, two) = (gke("a", "/nodePools/gpu"), gke("b", "/nodePools/gpu"));
        assert_eq!(check(&[&one, &one], "us-central1"), Ok(()));
        assert!(check(&[&one, &two], "us-central1").is_err());
        assert!(check(&[&one], "europe-west4").is_err());
        let aks = |cluster: &str| {
            format!(
                r#"{{"name": "gpu", "vmSize": "Standard_NC24ads_A100_v4", "id":
                "/subscriptions/s/resourcegroups/ML/providers/Microsoft.ContainerService/managedClusters/{cluster}/agentPools/g"}}"#
            )
        };
        assert_eq!(check(&[&aks("a"), &aks("A")], "westeurope"), Ok(()));
        assert!(check(&[&aks("a"), &aks("b")], "westeurope").is_err());
    }
}
