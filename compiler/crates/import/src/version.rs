//! The key `kubernetes`.

use gpuc_live::objects::Node;
use gpuc_model::SUPPORTED;

use crate::cloud_section::Fact;
use crate::context::Context;
use crate::json::{source, text};
use crate::report::Report;
use crate::tree::{Evidence, Item};

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
}
