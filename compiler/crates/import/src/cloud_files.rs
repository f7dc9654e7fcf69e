//! JSON files of the clouds' command-line tools, recognized by their content.
//!
//! Sources of the formats: aws-cli `eks describe-cluster` and `describe-nodegroup` (botocore@0e6e2404
//! `eks/2017-11-01/service-2.json`), Google's `container/v1` API (`Cluster`, `NodePool`), Azure's `managedClusters` and
//! `agentPools`, as the tables of `gpuc-clouds` read them.

use std::fmt;

use serde_json::Value;

use crate::json::{items, text};

/// A JSON file of a cloud's command-line tool.
#[derive(Clone, Debug)]
pub struct CloudFile {
    /// The path, for messages.
    pub path: String,
    pub(crate) parts: Vec<CloudPart>,
}

/// A cluster or a node pool of a cloud.
#[derive(Clone, Debug)]
pub(crate) enum CloudPart {
    /// The cluster in `aws eks describe-cluster`.
    EksCluster(Value),
    /// The node group in `aws eks describe-nodegroup`.
    EksNodeGroup(Value),
    /// The output of `gcloud container clusters describe`.
    GkeCluster(Value),
    /// A pool in `gcloud container node-pools list`.
    GkeNodePool(Value),
    /// The output of `az aks show`.
    AksCluster(Value),
    /// A pool in `az aks nodepool list`.
    AksNodePool(Value),
}

/// Why a file of a cloud cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudFileError {
    /// The path.
    pub path: String,
    /// The problem.
    pub problem: String,
}

impl fmt::Display for CloudFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}\nhelp: write it with `aws eks describe-cluster`, `aws eks describe-nodegroup`, `gcloud container \
             clusters describe --format json`, `gcloud container node-pools list --format json`, `az aks show` or `az \
             aks nodepool list`",
            self.path, self.problem
        )
    }
}

impl std::error::Error for CloudFileError {}

impl CloudFile {
    /// Reads a file. It may contain several outputs, one after the other.
    ///
    /// # Errors
    ///
    /// If it is not JSON, or no cluster and no node pool of a cloud that gpuc knows.
    pub fn parse(path: &str, bytes: &[u8]) -> Result<Self, CloudFileError> {
        let error = |problem: String| CloudFileError {
            path: path.to_owned(),
            problem,
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut parts = Vec::new();
        for value in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
            let value = value.map_err(|problem| error(format!("not JSON: {problem}")))?;
            match value {
                Value::Array(values) => parts.extend(values.into_iter().map(recognize)),
                value => parts.push(recognize(value)),
            }
        }
        let parts: Option<Vec<_>> = parts.into_iter().collect();
        match parts {
            Some(parts) if !parts.is_empty() => Ok(Self {
                path: path.to_owned(),
                parts,
            }),
            _ => Err(error(
                "no cluster and no node pool of EKS, GKE or AKS".to_owned(),
            )),
        }
    }
}

/// The part that a value is.
fn recognize(mut value: Value) -> Option<CloudPart> {
    if text(&value, "/cluster/arn").is_some_and(|arn| arn.contains(":eks:")) {
        return Some(CloudPart::EksCluster(value["cluster"].take()));
    }
    if text(&value, "/nodegroup/nodegroupName").is_some() {
        return Some(CloudPart::EksNodeGroup(value["nodegroup"].take()));
    }
    let kind = text(&value, "/type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    if kind == "microsoft.containerservice/managedclusters"
        || text(&value, "/agentPoolProfiles/0/vmSize").is_some()
    {
        return Some(CloudPart::AksCluster(value));
    }
    if text(&value, "/vmSize").is_some() && text(&value, "/name").is_some() {
        return Some(CloudPart::AksNodePool(value));
    }
    if text(&value, "/currentMasterVersion").is_some() && text(&value, "/name").is_some() {
        return Some(CloudPart::GkeCluster(value));
    }
    if text(&value, "/config/machineType").is_some() && text(&value, "/name").is_some() {
        return Some(CloudPart::GkeNodePool(value));
    }
    None
}

/// Everything that the files of clouds contain.
#[derive(Debug, Default)]
pub(crate) struct CloudData<'f> {
    /// The clusters, with their files.
    pub(crate) clusters: Vec<(&'f str, &'f CloudPart)>,
    /// The pools.
    pub(crate) pools: Vec<CloudPool<'f>>,
}

/// A node pool of a cloud.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CloudPool<'f> {
    /// The cloud's key in the file: `aws`, `gcp` or `azure`.
    pub(crate) cloud: &'static str,
    /// The name.
    pub(crate) name: &'f str,
    /// The pool as the cloud describes it.
    pub(crate) value: &'f Value,
}

impl<'f> CloudData<'f> {
    /// The content of the files. The pools in a list take precedence over those in the description of the cluster.
    pub(crate) fn new(files: &'f [CloudFile]) -> Self {
        let mut data = Self::default();
        let mut inner = Vec::new();
        for (file, part) in files
            .iter()
            .flat_map(|file| file.parts.iter().map(move |part| (file, part)))
        {
            match part {
                CloudPart::EksCluster(_) => data.clusters.push((&file.path, part)),
                CloudPart::GkeCluster(value) => {
                    data.clusters.push((&file.path, part));
                    let pools = items(value, "/nodePools").iter();
                    inner.extend(pools.filter_map(|it| CloudPool::new("gcp", "/name", it)));
                }
                CloudPart::AksCluster(value) => {
                    data.clusters.push((&file.path, part));
                    let pools = items(value, "/agentPoolProfiles").iter();
                    inner.extend(pools.filter_map(|it| CloudPool::new("azure", "/name", it)));
                }
                CloudPart::EksNodeGroup(value) => {
                    data.pools
                        .extend(CloudPool::new("aws", "/nodegroupName", value));
                }
                CloudPart::GkeNodePool(value) => {
                    data.pools.extend(CloudPool::new("gcp", "/name", value));
                }
                CloudPart::AksNodePool(value) => {
                    data.pools.extend(CloudPool::new("azure", "/name", value));
                }
            }
        }
        data.pools.extend(inner);
        let mut names = std::collections::BTreeSet::new();
        data.pools
            .retain(|pool| names.insert((pool.cloud, pool.name)));
        data
    }

    /// The key of the cloud that the files are from, if they are from one.
    pub(crate) fn cloud(&self) -> Option<&'static str> {
        let of_cluster = self.clusters.first().map(|(_, part)| match part {
            CloudPart::EksCluster(_) | CloudPart::EksNodeGroup(_) => "aws",
            CloudPart::GkeCluster(_) | CloudPart::GkeNodePool(_) => "gcp",
            CloudPart::AksCluster(_) | CloudPart::AksNodePool(_) => "azure",
        });
        of_cluster.or_else(|| self.pools.first().map(|pool| pool.cloud))
    }

    /// The description of the cluster.
    pub(crate) fn cluster(&self) -> Option<&'f Value> {
        self.clusters.first().map(|(_, part)| match part {
            CloudPart::EksCluster(value)
            | CloudPart::EksNodeGroup(value)
            | CloudPart::GkeCluster(value)
            | CloudPart::GkeNodePool(value)
            | CloudPart::AksCluster(value)
            | CloudPart::AksNodePool(value) => value,
        })
    }
}

impl<'f> CloudPool<'f> {
    fn new(cloud: &'static str, name: &str, value: &'f Value) -> Option<Self> {
        let name = text(value, name)?;
        Some(Self { cloud, name, value })
    }

    /// The notation of the pool in sources.
    pub(crate) fn object(&self) -> String {
        let kind = match self.cloud {
            "aws" => "EKS node group",
            "gcp" => "GKE node pool",
            _ => "AKS node pool",
        };
        format!("{kind} {}", self.name)
    }

    /// The node label with the name of the pool.
    pub(crate) fn label(&self) -> &'static str {
        match self.cloud {
            "aws" => "eks.amazonaws.com/nodegroup",
            "gcp" => "cloud.google.com/gke-nodepool",
            _ => "kubernetes.azure.com/agentpool",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_recognized_by_their_content() {
        let outputs = r#"{"nodegroup": {"nodegroupName": "a", "instanceTypes": ["g6.xlarge"]}}
            {"nodegroup": {"nodegroupName": "b"}}"#;
        let file = CloudFile::parse("groups.json", outputs.as_bytes()).unwrap();
        assert_eq!(CloudData::new(std::slice::from_ref(&file)).pools.len(), 2);
        let pools = br#"[{"name": "p", "config": {"machineType": "g2-standard-4"}}]"#;
        let file = CloudFile::parse("pools.json", pools).unwrap();
        assert_eq!(
            CloudData::new(std::slice::from_ref(&file)).cloud(),
            Some("gcp")
        );
    }

    #[test]
    fn other_files_are_refused() {
        for text in [
            "",
            "{",
            "[]",
            "{}",
            "[{}]",
            "null",
            "\u{0}",
            r#"{"cluster": {"arn": 1}}"#,
        ] {
            let error = CloudFile::parse("x.json", text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("help: write it with"), "{error}");
        }
    }
}
