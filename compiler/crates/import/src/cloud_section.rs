//! The key `cloud`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::context::{Context, find_provider, label_source};
use crate::json::{source, text, text_entries, texts};
use crate::report::Report;
use crate::tree::{Entries, Evidence, Item};

/// A text with its evidence.
pub(crate) type Fact = (String, Evidence);

/// A name that stands for a value that is not known. `gpuc check` warns about it.
const PLACEHOLDER: &str = "replace-me";

/// The value of the first of these labels that a node has.
pub(crate) fn node_label(cx: &Context<'_>, keys: &[&str]) -> Option<(String, String)> {
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
pub(crate) enum Part {
    Account,
    Location,
    Name,
}

/// A part of the name of the kubeconfig's context, as the clouds' tools write it: the ARN of an EKS cluster, and
/// `gke_PROJECT_LOCATION_NAME`.
///
/// Source: aws-cli `awscli/customizations/eks/update_kubeconfig.py`; Google Cloud SDK `container/kubeconfig.py` (from
/// memory). Users can rename contexts, but not to such names by accident.
pub(crate) fn context_part(cx: &Context<'_>, part: Part) -> Option<(String, String)> {
    let context = cx.kubeconfig?;
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

/// The key `cloud`.
pub(crate) fn cloud(
    cx: &Context<'_>,
    remote: Option<Item>,
    has_autoscaler: Option<Item>,
    report: &mut Report,
) -> Item {
    let key = cx.cloud_key();
    let section = match key {
        "aws" => aws(cx, remote, has_autoscaler, report),
        "gcp" => gcp(cx, remote),
        "azure" => azure(cx, remote),
        "existing" => existing_platform(cx),
        _ => on_prem(cx),
    };
    let mut item = Item::single(key, section.with(cx.cloud_evidence.clone()));
    if !matches!(key, "onPrem" | "existing") {
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

fn aws(
    cx: &Context<'_>,
    remote: Option<Item>,
    has_autoscaler: Option<Item>,
    report: &mut Report,
) -> Item {
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
    if let Some(mode) =
        text(cluster, "/accessConfig/authenticationMode").filter(|mode| mode.starts_with("API"))
    {
        let at = source("cluster", "accessConfig.authenticationMode", mode);
        let reason = "access entries are not in this file: run `aws eks list-access-entries`, and add those that gpuc \
                      manages, with `apply.sh --adopt`; the scripts keep all others";
        report.leave_out(Some("cloud.aws.cluster.existing.access"), at, reason);
    }
    more.push_some("hasAutoscaler", has_autoscaler);
    let mut entries = Entries::default();
    let account = known_or_placeholder(account, "000000000000", "no object has the account");
    entries.push("account", account);
    let region = known_or_placeholder(region, PLACEHOLDER, "no object has the region");
    entries.push("region", region);
    entries.push("cluster", existing(remote, more));
    if let Some(texts) = own_texts(cluster, "tags", "aws:") {
        entries.push("tags", texts);
    }
    entries.into_item()
}

/// The tags or labels of the cluster in the cloud, without those of the cloud and of gpuc.
fn own_texts(cluster: &Value, key: &str, prefix_of_cloud: &str) -> Option<Item> {
    let texts = text_entries(cluster, &format!("/{key}")).into_iter();
    let own =
        texts.filter(|(name, _)| !name.starts_with(prefix_of_cloud) && !name.starts_with("gpuc"));
    let items: BTreeMap<&str, Item> = own
        .map(|(name, value)| {
            let at = source("cluster", format!("{key}.{name}"), value);
            (name, Item::text(value).sure(at))
        })
        .collect();
    (!items.is_empty()).then(|| Item::map(items))
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
    if let Some(texts) = own_texts(cluster, "resourceLabels", "goog-") {
        entries.push("resourceLabels", texts);
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

/// The context of the kubeconfig.
fn context(cx: &Context<'_>) -> Item {
    let context = cx.kubeconfig.map(|context| {
        (
            context.to_owned(),
            Evidence::sure(format!("kubeconfig context {context}")),
        )
    });
    let reason = "a snapshot does not name the context";
    known_or_placeholder(context, PLACEHOLDER, reason)
}

fn existing_platform(cx: &Context<'_>) -> Item {
    let mut entries = Entries::default();
    let provider = find_provider(cx.state).map(|(provider, evidence)| {
        let keyword = serde_json::to_value(provider).unwrap_or_default();
        Item::text(keyword.as_str().unwrap_or_default()).with(evidence)
    });
    entries.push_some("provider", provider);
    entries.push("context", context(cx));
    entries.into_item()
}

fn on_prem(cx: &Context<'_>) -> Item {
    let mut entries = Entries::default();
    entries.push("context", context(cx));
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
