//! The key `metadata`.

use gpuc_live::state::Kind;
use gpuc_schema::node_config::NodeConfig;

use crate::cloud_section::{Fact, Part, context_part, node_label};
use crate::context::Context;
use crate::gitops::cluster_name;
use crate::json::{source, text};
use crate::report::Report;
use crate::tree::{Evidence, Item};

/// The name of a cluster that no object names.
const PLACEHOLDER: &str = "replace-me";

/// The names of the cluster: in the file, and in the cloud.
pub(crate) struct Names {
    /// The value of `metadata`.
    pub(crate) metadata: Item,
    /// The name in the cloud, if it differs.
    pub(crate) remote: Option<Item>,
}

/// Finds the name of the cluster.
pub(crate) fn names(cx: &Context<'_>, report: &mut Report) -> Names {
    let remote = remote_name(cx);
    // The tree of gpuc can have another name than the cluster in the cloud.
    if let Some((own, evidence)) = name_of_tree(cx) {
        let other = remote.filter(|(name, _)| *name != own);
        return Names {
            metadata: Item::single("name", Item::text(own).with(evidence)),
            remote: other.map(|(name, evidence)| Item::text(name).with(evidence)),
        };
    }
    let Some((name, evidence)) = remote else {
        let reason = "no object names the cluster; replace it";
        let item = Item::text(PLACEHOLDER).guess("all objects", reason);
        return Names {
            metadata: Item::single("name", item),
            remote: None,
        };
    };
    let rule = &cx.cloud.facts().cluster_name;
    if !(rule.is_valid)(&name) || name.len() > rule.max {
        let reason = format!("gpuc accepts names of {}", rule.description);
        report.leave_out(Some("metadata.name"), &evidence.source, reason);
    }
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
        "" => PLACEHOLDER.to_owned(),
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
    if let Some((value, at)) = node_label(cx, &["alpha.eksctl.io/cluster-name"]) {
        return Some((value, Evidence::sure(at)));
    }
    // The default name of the resource group of the nodes on AKS: MC_group_cluster_location.
    let (group, at) = node_label(cx, &["kubernetes.azure.com/cluster"])?;
    let parts: Vec<&str> = group.split('_').collect();
    let [prefix, _, name, _] = parts[..] else {
        return None;
    };
    let is_default = prefix.eq_ignore_ascii_case("mc") && !name.is_empty();
    let reason = "the part of the name of the nodes' resource group";
    is_default.then(|| (name.to_owned(), Evidence::guess(at, reason)))
}

/// The name of the tree that gpuc built: its GitOps controller and gpuc-runtime have it.
fn name_of_tree(cx: &Context<'_>) -> Option<Fact> {
    if let Some((name, at)) = cluster_name(cx) {
        return Some((name.to_owned(), Evidence::sure(at)));
    }
    name_in_configs(cx)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_valid() {
        for (name, valid) in [
            ("ML_Prod", "ml-prod"),
            ("9-lives", "lives"),
            ("", "replace-me"),
            ("a.b.", "a-b"),
        ] {
            assert_eq!(valid_cluster_name(name), valid);
        }
        assert_eq!(valid_cluster_name(&"a".repeat(90)).len(), 40);
    }
}
