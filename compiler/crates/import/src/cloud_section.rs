//! The keys `metadata`, `kubernetes` and `cloud`.

use std::collections::BTreeMap;

use gpuc_live::objects::Node;
use gpuc_live::state::Kind;
use gpuc_model::SUPPORTED;
use gpuc_schema::node_config::NodeConfig;
use serde_json::Value;

use crate::autoscaler;
use crate::context::{Context, label_source};
use crate::json::{source, text, text_entries, texts};
use crate::report::Report;
use crate::tree::{Entries, Evidence, Item};

/// A text with its evidence.
type Fact = (String, Evidence);

/// A name that stands for a value that is not known. `gpuc check` warns about it.
const PLACEHOLDER: &str = "replace-me";

/// The names of the cluster: in the file, and in the cloud.
pub(crate) struct Names {
    /// The value of `metadata`.
    pub(crate) metadata: Item,
    /// The name in the cloud, if it differs.
    pub(crate) remote: Option<Item>,
}

/// Finds the name of the cluster.
pub(crate) fn names(cx: &Context<'_>) -> Names {
    let remote = remote_name(cx);
    let Some((name, evidence)) = remote.or_else(|| name_in_configs(cx)) else {
        let item = Item::text("imported").guess("all objects", "no object names the cluster");
        return Names {
            metadata: Item::single("name", item),
            remote: None,
        };
    };
    let valid = valid_cluster_name(&name);
    if valid == name {
        return Names {
            metadata: Item::single("name", Item::text(name).with(evidence)),
            remote: None,
        };
    }
    let reason = format!("gpuc does not accept the name `{name}` here");
    let item = Item::text(valid).guess(&evidence.source, reason);
    Names {
        metadata: Item::single("name", item),
        remote: Some(Item::text(name).with(evidence)),
    }
}

/// A name that the schema accepts: letters, digits and dashes, at most 40 characters.
fn valid_cluster_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let dashed: String = lower
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let begins = dashed.trim_start_matches(|c: char| !c.is_ascii_lowercase());
    let short: String = begins.chars().take(40).collect();
    match short.trim_end_matches('-') {
        "" => "imported".to_owned(),
        name => name.to_owned(),
    }
}

fn remote_name(cx: &Context<'_>) -> Option<Fact> {
    if let Some(cluster) = cx.files.cluster()
        && let Some(name) = text(cluster, "/name")
    {
        return Some((
            name.to_owned(),
            Evidence::sure(source("cluster", "name", name)),
        ));
    }
    for pool in &cx.files.pools {
        if let Some(name) = text(pool.value, "/clusterName") {
            return Some((
                name.to_owned(),
                Evidence::sure(source(pool.object(), "clusterName", name)),
            ));
        }
    }
    if let Some((name, source)) = context_part(cx, Part::Name) {
        return Some((name, Evidence::sure(source)));
    }
    let (value, at) = node_label(cx, &["alpha.eksctl.io/cluster-name"])?;
    Some((value, Evidence::sure(at)))
}

/// The name in the configuration of gpuc-runtime.
fn name_in_configs(cx: &Context<'_>) -> Option<Fact> {
    let config_maps = cx.state.objects(Kind::ConfigMap).iter();
    let mut names = config_maps.filter_map(|object| {
        let data = object.body.pointer("/data/node.json")?.as_str()?;
        let config: NodeConfig = serde_json::from_str(data).ok()?;
        let at = source(
            crate::configs::name_of("ConfigMap", object),
            "data[node.json].cluster",
            &config.cluster,
        );
        (!config.cluster.is_empty()).then(|| (config.cluster, Evidence::sure(at)))
    });
    names.next()
}

/// The value of the first of these labels that a node has.
fn node_label(cx: &Context<'_>, keys: &[&str]) -> Option<(String, String)> {
    let mut nodes = cx.state.nodes.items.iter();
    nodes.find_map(|node| {
        let mut found = keys
            .iter()
            .filter_map(|key| Some((*key, node.metadata.label(key)?)));
        found
            .next()
            .map(|(key, value)| (value.to_owned(), label_source(node, key, value)))
    })
}

/// A part of the name of a context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Account,
    Location,
    Name,
}

/// A part of the name of the kubeconfig's context, as the clouds' tools write it: the ARN of an EKS cluster, and
/// `gke_PROJECT_LOCATION_NAME`.
///
/// Source: aws-cli `awscli/customizations/eks/update_kubeconfig.py`; Google Cloud SDK `container/kubeconfig.py` (from
/// memory). Users can rename contexts, but not to such names by accident.
fn context_part(cx: &Context<'_>, part: Part) -> Option<(String, String)> {
    let context = cx.kubeconfig_context?;
    let found = match cx.cloud_key() {
        "aws" => {
            let parts: Vec<&str> = context.splitn(6, ':').collect();
            let [_, _, "eks", region, account, name] = parts[..] else {
                return None;
            };
            match part {
                Part::Account => account,
                Part::Location => region,
                Part::Name => name.strip_prefix("cluster/")?,
            }
        }
        "gcp" => {
            let parts: Vec<&str> = context.strip_prefix("gke_")?.splitn(3, '_').collect();
            let [project, location, name] = parts[..] else {
                return None;
            };
            match part {
                Part::Account => project,
                Part::Location => location,
                Part::Name => name,
            }
        }
        _ => return None,
    };
    (!found.is_empty()).then(|| (found.to_owned(), format!("kubeconfig context {context}")))
}

/// The key `kubernetes`.
pub(crate) fn kubernetes(cx: &Context<'_>, report: &mut Report) -> Item {
    let found = server_version(cx).or_else(|| kubelet_version(cx));
    let Some((version, evidence)) = found else {
        let newest = SUPPORTED.end().to_string();
        let item = Item::text(newest).guess("Nodes", "no node has a version of Kubernetes");
        return Item::single("version", item);
    };
    let is_supported = version
        .strip_prefix("1.")
        .and_then(|minor| minor.parse().ok())
        .is_some_and(|minor| SUPPORTED.contains(&gpuc_model::KubernetesVersion(minor)));
    let mut item = Item::text(&version).with(evidence.clone());
    if !is_supported {
        let reason = format!(
            "gpuc supports Kubernetes {} to {}",
            SUPPORTED.start(),
            SUPPORTED.end()
        );
        item = item.note(format!("TODO: {reason}."));
        report.leave_out(Some("kubernetes.version"), evidence.source, reason);
    }
    Item::single("version", item)
}

fn server_version(cx: &Context<'_>) -> Option<Fact> {
    let described = cx.files.cluster().and_then(|cluster| {
        let pointers = [
            "/version",
            "/currentMasterVersion",
            "/currentKubernetesVersion",
            "/kubernetesVersion",
        ];
        let mut found = pointers
            .iter()
            .filter_map(|it| Some((*it, text(cluster, it)?)));
        found.next()
    });
    if let Some((pointer, version)) = described {
        let at = source("cluster", pointer.trim_start_matches('/'), version);
        return Some((minor_version(version)?, Evidence::sure(at)));
    }
    let version = cx.state.server_version.as_deref()?;
    let evidence = Evidence::sure(source("API server", "version.gitVersion", version));
    Some((minor_version(version)?, evidence))
}

/// The version of the newest kubelet. It is at most that of the API server.
fn kubelet_version(cx: &Context<'_>) -> Option<Fact> {
    let nodes = cx.state.nodes.items.iter();
    let versions = nodes.filter_map(|node| {
        let version = node.status.node_info.kubelet_version.as_str();
        let minor = minor_version(version)?;
        let number: u32 = minor.strip_prefix("1.")?.parse().ok()?;
        Some((number, minor, version, node))
    });
    let (_, minor, version, node): (u32, String, &str, &Node) = versions.max_by_key(|it| it.0)?;
    let at = source(
        format!("Node {}", node.metadata.name),
        "status.nodeInfo.kubeletVersion",
        version,
    );
    Some((
        minor,
        Evidence::guess(at, "the newest kubelet; the API server may be newer"),
    ))
}

/// `1.36` of `v1.36.2-eks-1234`.
fn minor_version(version: &str) -> Option<String> {
    let version = version.strip_prefix('v').unwrap_or(version);
    let mut parts = version.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    (major == "1" && !minor.is_empty()).then(|| format!("1.{minor}"))
}

/// The key `cloud`.
pub(crate) fn cloud(cx: &Context<'_>, remote: Option<Item>, report: &mut Report) -> Item {
    let key = cx.cloud_key();
    let section = match key {
        "aws" => aws(cx, remote, report),
        "gcp" => gcp(cx, remote),
        "azure" => azure(cx, remote),
        _ => on_prem(cx),
    };
    let mut item = Item::single(key, section.with(cx.cloud_evidence.clone()));
    if key != "onPrem" {
        // The comment is on the section, where it is readable.
        item.evidence = None;
    }
    item
}

/// A value, or a placeholder that the user must replace.
fn known_or_placeholder(found: Option<Fact>, placeholder: &str, reason: &str) -> Item {
    match found {
        Some((value, evidence)) => Item::text(value).with(evidence),
        None => Item::text(placeholder).guess("all objects", format!("{reason}; replace it")),
    }
}

fn sure(found: Option<(String, String)>) -> Option<Fact> {
    found.map(|(value, at)| (value, Evidence::sure(at)))
}

fn existing(remote: Option<Item>, more: Entries) -> Item {
    let mut entries = Entries::default();
    entries.push_some("name", remote);
    entries.0.extend(more.0);
    Item::single("existing", entries.into_item())
}

fn aws(cx: &Context<'_>, remote: Option<Item>, report: &mut Report) -> Item {
    let cluster = cx.files.cluster().unwrap_or(&Value::Null);
    let arns = [text(cluster, "/arn")].into_iter().flatten();
    let groups = cx
        .files
        .pools
        .iter()
        .filter_map(|pool| text(pool.value, "/nodegroupArn"));
    let arn: Option<Vec<&str>> = arns
        .chain(groups)
        .next()
        .map(|arn| arn.splitn(6, ':').collect());
    let of_arn = |index: usize| {
        let parts = arn.as_ref()?;
        let value = parts.get(index)?.to_string();
        let at = source("cluster", "arn", parts.join(":"));
        Some((value, Evidence::sure(at)))
    };
    let account = of_arn(4).or_else(|| sure(context_part(cx, Part::Account)));
    let region = of_arn(3)
        .or_else(|| sure(context_part(cx, Part::Location)))
        .or_else(|| sure(node_label(cx, &["topology.kubernetes.io/region"])));
    let mut more = Entries::default();
    let network = cluster
        .pointer("/resourcesVpcConfig")
        .unwrap_or(&Value::Null);
    if let Some(id) = text(network, "/vpcId") {
        let at = source("cluster", "resourcesVpcConfig", id);
        let subnets = texts(network, "/subnetIds").join(", ");
        let reason = "the zones of the subnets are not in this file: run `aws ec2 describe-subnets`, and add `vpc` if gpuc creates node groups";
        report.leave_out(
            Some("cloud.aws.cluster.existing.vpc"),
            format!("{at}, subnets {subnets}"),
            reason,
        );
    }
    if crate::json::is_true(cluster, "/computeConfig/enabled") {
        let at = source("cluster", "computeConfig.enabled", true);
        report.leave_out(
            Some("autoscaler"),
            at,
            "gpuc does not manage the nodes of EKS Auto Mode",
        );
    }
    more.push_some("hasAutoscaler", autoscaler::has_autoscaler(cx));
    let mut entries = Entries::default();
    let account = known_or_placeholder(account, "000000000000", "no object has the account");
    entries.push("account", account);
    let region = known_or_placeholder(region, PLACEHOLDER, "no object has the region");
    entries.push("region", region);
    entries.push("cluster", existing(remote, more));
    let tags = text_entries(cluster, "/tags").into_iter();
    let tags = tags.filter(|(key, _)| !key.starts_with("aws:") && !key.starts_with("gpuc"));
    let tags: BTreeMap<&str, Item> = tags
        .map(|(key, value)| {
            (
                key,
                Item::text(value).sure(source("cluster", format!("tags.{key}"), value)),
            )
        })
        .collect();
    if !tags.is_empty() {
        entries.push("tags", Item::map(tags));
    }
    entries.into_item()
}

fn gcp(cx: &Context<'_>, remote: Option<Item>) -> Item {
    let cluster = cx.files.cluster().unwrap_or(&Value::Null);
    // `https://container.googleapis.com/v1/projects/P/locations/L/clusters/C`
    let link = text(cluster, "/selfLink").unwrap_or_default();
    let project = link
        .split_once("/projects/")
        .and_then(|(_, rest)| rest.split('/').next());
    let project = project.map(|it| {
        (
            it.to_owned(),
            Evidence::sure(source("cluster", "selfLink", link)),
        )
    });
    let location = text(cluster, "/location").map(|it| {
        (
            it.to_owned(),
            Evidence::sure(source("cluster", "location", it)),
        )
    });
    // `gce://PROJECT/ZONE/INSTANCE`
    let of_provider = || {
        let mut nodes = cx.state.nodes.items.iter();
        nodes.find_map(|node| {
            let id = &node.spec.provider_id;
            let project = id.strip_prefix("gce://")?.split('/').next()?;
            let at = source(
                format!("Node {}", node.metadata.name),
                "spec.providerID",
                id,
            );
            Some((project.to_owned(), Evidence::sure(at)))
        })
    };
    let project = project
        .or_else(|| sure(context_part(cx, Part::Account)))
        .or_else(of_provider);
    let location = location
        .or_else(|| sure(context_part(cx, Part::Location)))
        .or_else(|| {
            let (region, at) = node_label(cx, &["topology.kubernetes.io/region"])?;
            let reason = "the region of the nodes; the location of a zonal cluster is a zone";
            Some((region, Evidence::guess(at, reason)))
        });
    let mut entries = Entries::default();
    entries.push(
        "project",
        known_or_placeholder(project, PLACEHOLDER, "no object has the project"),
    );
    entries.push(
        "location",
        known_or_placeholder(location, PLACEHOLDER, "no object has the location"),
    );
    entries.push("cluster", existing(remote, Entries::default()));
    let labels = text_entries(cluster, "/resourceLabels").into_iter();
    let labels = labels.filter(|(key, _)| !key.starts_with("goog-") && !key.starts_with("gpuc"));
    let labels: BTreeMap<&str, Item> = labels
        .map(|(key, value)| {
            (
                key,
                Item::text(value).sure(source("cluster", format!("resourceLabels.{key}"), value)),
            )
        })
        .collect();
    if !labels.is_empty() {
        entries.push("resourceLabels", Item::map(labels));
    }
    entries.into_item()
}

fn azure(cx: &Context<'_>, remote: Option<Item>) -> Item {
    let cluster = cx.files.cluster().unwrap_or(&Value::Null);
    // `azure:///subscriptions/S/resourceGroups/mc_G_C_L/providers/…`
    let ids = [text(cluster, "/id").map(|id| ("cluster#id".to_owned(), id.to_owned()))];
    let nodes = cx.state.nodes.items.iter().map(|node| {
        let at = format!("Node {}#spec.providerID", node.metadata.name);
        Some((at, node.spec.provider_id.clone()))
    });
    let part = |id: &str, name: &str| {
        let mut parts = id
            .split('/')
            .skip_while(|part| !part.eq_ignore_ascii_case(name));
        parts
            .nth(1)
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
    };
    let ids: Vec<(String, String)> = ids.into_iter().chain(nodes).flatten().collect();
    let subscription = ids.iter().find_map(|(at, id)| {
        Some((
            part(id, "subscriptions")?,
            Evidence::sure(format!("{at} = {id}")),
        ))
    });
    let group = text(cluster, "/resourceGroup").map(|it| {
        (
            it.to_owned(),
            Evidence::sure(source("cluster", "resourceGroup", it)),
        )
    });
    let group = group.or_else(|| {
        // The default name of the resource group of the nodes: MC_group_cluster_location.
        ids.iter().find_map(|(at, id)| {
            let own = part(id, "resourceGroups")?;
            let names: Vec<&str> = own.split('_').collect();
            let [prefix, group, _, _] = names[..] else {
                return None;
            };
            let reason = "the part of the name of the nodes' resource group";
            let at = format!("{at} = {id}");
            prefix
                .eq_ignore_ascii_case("mc")
                .then(|| (group.to_owned(), Evidence::guess(at, reason)))
        })
    });
    let location = text(cluster, "/location")
        .map(|it| {
            (
                it.to_owned(),
                Evidence::sure(source("cluster", "location", it)),
            )
        })
        .or_else(|| sure(node_label(cx, &["topology.kubernetes.io/region"])));
    let mut entries = Entries::default();
    let reason = "no object has the subscription";
    entries.push(
        "subscription",
        known_or_placeholder(subscription, PLACEHOLDER, reason),
    );
    let reason = "no object has the resource group";
    entries.push(
        "resourceGroup",
        known_or_placeholder(group, PLACEHOLDER, reason),
    );
    entries.push(
        "location",
        known_or_placeholder(location, PLACEHOLDER, "no object has the location"),
    );
    entries.push("cluster", existing(remote, Entries::default()));
    let tags = text_entries(cluster, "/tags")
        .into_iter()
        .filter(|(key, _)| !key.starts_with("gpuc"));
    let tags: BTreeMap<&str, Item> = tags
        .map(|(key, value)| {
            (
                key,
                Item::text(value).sure(source("cluster", format!("tags.{key}"), value)),
            )
        })
        .collect();
    if !tags.is_empty() {
        entries.push("tags", Item::map(tags));
    }
    entries.into_item()
}

fn on_prem(cx: &Context<'_>) -> Item {
    let context = cx.kubeconfig_context.map(|context| {
        (
            context.to_owned(),
            Evidence::sure(format!("kubeconfig context {context}")),
        )
    });
    let mut entries = Entries::default();
    let reason = "a snapshot does not name the context";
    entries.push(
        "context",
        known_or_placeholder(context, PLACEHOLDER, reason),
    );
    let mut nodes = cx.state.nodes.items.iter();
    let distribution = nodes.find_map(|node| {
        let version = &node.status.node_info.kubelet_version;
        let name = ["k3s", "rke2"]
            .into_iter()
            .find(|name| version.contains(&format!("+{name}")))?;
        let at = source(
            format!("Node {}", node.metadata.name),
            "status.nodeInfo.kubeletVersion",
            version,
        );
        Some(Item::text(name).sure(at))
    });
    entries.push_some("distribution", distribution);
    entries.into_item()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_clouds_are_read() {
        for (version, minor) in [
            ("v1.36.2", Some("1.36")),
            ("1.34", Some("1.34")),
            ("1.33.5-gke.1080000", Some("1.33")),
            ("v1.34.1+k3s1", Some("1.34")),
            ("1.30+", Some("1.30")),
            ("2.0", None),
            ("", None),
        ] {
            assert_eq!(minor_version(version).as_deref(), minor, "{version}");
        }
    }

    #[test]
    fn names_become_valid() {
        for (name, valid) in [
            ("ML_Prod", "ml-prod"),
            ("9-lives", "lives"),
            ("", "imported"),
            ("a.b.", "a-b"),
        ] {
            assert_eq!(valid_cluster_name(name), valid);
        }
        assert_eq!(valid_cluster_name(&"a".repeat(90)).len(), 40);
    }
}
