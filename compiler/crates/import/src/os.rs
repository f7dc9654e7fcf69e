//! The operating system of a pool.

use gpuc_schema::config::OsFamily;

use crate::cloud_files::CloudPool;
use crate::context::Context;
use crate::described::launch_record::recorded;
use crate::driver::driver_tag;
use crate::groups::Group;
use crate::json::{source, text, word};
use crate::karpenter::provisioned;
use crate::report::Report;

use crate::tree::{Evidence, Item};

/// The value of the key `os`, unless it is the default of the cloud.
pub(crate) fn os(
    cx: &Context<'_>,
    name: &str,
    group: &Group<'_>,
    described: Option<&CloudPool<'_>>,
    report: &mut Report,
) -> Option<Item> {
    // The provider of an existing cluster selects the image.
    if cx.cloud_key() == "existing" {
        return None;
    }
    let (family, evidence) = of_cloud(described, name, report)
        .or_else(|| of_karpenter(cx, group))
        .or_else(|| of_driver(cx, group))
        .or_else(|| of_nodes(cx, name, group, report))?;
    if cx.cloud.os(family).is_none() {
        let key = format!("nodePools[{name}].os.family");
        report.leave_out(
            Some(&key),
            evidence.source,
            "gpuc does not support this operating system here",
        );
        return None;
    }
    let is_default = cx
        .cloud
        .facts()
        .os
        .first()
        .is_some_and(|os| os.family == family);
    let family = Item::text(word(&family)).with(evidence);
    (!is_default).then(|| Item::single("family", family))
}

/// The family of the images of a pool that Karpenter provisions.
fn of_karpenter(cx: &Context<'_>, group: &Group<'_>) -> Option<(OsFamily, Evidence)> {
    let pools = provisioned(cx);
    let pool = pools.iter().find(|it| it.has_group(group))?;
    let (family, _, at) = pool.image()?;
    let family = match family {
        "al2023" => OsFamily::AmazonLinux2023,
        "bottlerocket" => OsFamily::Bottlerocket,
        _ => return None,
    };
    Some((family, Evidence::sure(at)))
}

/// The family that the cloud's description names.
fn of_cloud(
    described: Option<&CloudPool<'_>>,
    name: &str,
    report: &mut Report,
) -> Option<(OsFamily, Evidence)> {
    let pool = described?;
    let pointers = ["/amiType", "/config/imageType", "/osSku"];
    let (pointer, value) = pointers
        .iter()
        .find_map(|it| Some((it, text(pool.value, it)?)))?;
    let at = source(
        pool.object(),
        pointer.trim_start_matches('/').replace('/', "."),
        value,
    );
    let upper = value.to_ascii_uppercase();
    let family = match upper.as_str() {
        "UBUNTU" => OsFamily::Ubuntu,
        "UBUNTU2204" => OsFamily::Ubuntu2204,
        "UBUNTU2404" => OsFamily::Ubuntu2404,
        "AZURELINUX" | "CBLMARINER" | "AZURELINUX3" => OsFamily::AzureLinux,
        other if other.starts_with("AL2023_") => OsFamily::AmazonLinux2023,
        other if other.starts_with("AL2_") => OsFamily::AmazonLinux2,
        other if other.starts_with("BOTTLEROCKET_") => OsFamily::Bottlerocket,
        other if other.starts_with("COS") => OsFamily::ContainerOptimized,
        other if other.starts_with("UBUNTU") => OsFamily::Ubuntu,
        "CUSTOM" => {
            let family = recorded(pool.value, "image")?;
            let at = source(pool.object(), "tags[gpuc.dev/image]", family);
            let family = serde_json::from_value(family.into()).ok()?;
            return Some((family, Evidence::sure(at)));
        }
        _ => {
            let key = format!("nodePools[{name}].os.family");
            report.leave_out(Some(&key), at, "gpuc does not know this image");
            return None;
        }
    };
    Some((family, Evidence::sure(at)))
}

/// The family in the tag of the driver container that runs on the nodes.
fn of_driver(cx: &Context<'_>, group: &Group<'_>) -> Option<(OsFamily, Evidence)> {
    let mut pods = group.nodes.iter().flat_map(|node| cx.pods_on(node));
    let (tag, pod) = pods.find_map(|pod| Some((driver_tag(pod)?.1, pod)))?;
    let family = match tag {
        "ubuntu24.04" => OsFamily::Ubuntu2404,
        "ubuntu22.04" => OsFamily::Ubuntu2204,
        "ubuntu20.04" => OsFamily::Ubuntu2004,
        _ => return None,
    };
    // Clouds that select the release by themselves have one family.
    let family = if cx.cloud.os(OsFamily::Ubuntu).is_some() {
        OsFamily::Ubuntu
    } else {
        family
    };
    let object = format!("Pod {}/{}", pod.metadata.namespace, pod.metadata.name);
    Some((
        family,
        Evidence::sure(source(object, "spec.containers[].image", tag)),
    ))
}

/// The family by the name of the operating system that the kubelets report.
fn of_nodes(
    cx: &Context<'_>,
    name: &str,
    group: &Group<'_>,
    report: &mut Report,
) -> Option<(OsFamily, Evidence)> {
    let node = group.nodes.first()?;
    let image = node.status.node_info.os_image.as_str();
    let object = format!("Node {}", node.metadata.name);
    let at = source(object, "status.nodeInfo.osImage", image);
    let is = |prefix: &str| image.starts_with(prefix);
    let family = if is("Amazon Linux 2023") {
        OsFamily::AmazonLinux2023
    } else if is("Amazon Linux 2") {
        OsFamily::AmazonLinux2
    } else if is("Bottlerocket") {
        OsFamily::Bottlerocket
    } else if is("Container-Optimized OS") {
        OsFamily::ContainerOptimized
    } else if is("CBL-Mariner") || is("Microsoft Azure Linux") || is("Azure Linux") {
        OsFamily::AzureLinux
    } else if is("Ubuntu") {
        ubuntu(cx, image)?
    } else if is("Debian GNU/Linux 12") {
        OsFamily::Debian12
    } else if is("Red Hat Enterprise Linux 9") || is("Rocky Linux 9") || is("AlmaLinux 9") {
        OsFamily::Rhel9
    } else {
        let key = format!("nodePools[{name}].os.family");
        report.leave_out(
            Some(&key),
            at,
            "gpuc does not know this operating system; the file has the default",
        );
        return None;
    };
    Some((family, Evidence::sure(at)))
}

/// The family of an Ubuntu: clouds that select the release by themselves have one family.
fn ubuntu(cx: &Context<'_>, image: &str) -> Option<OsFamily> {
    if cx.cloud.os(OsFamily::Ubuntu).is_some() {
        return Some(OsFamily::Ubuntu);
    }
    [
        ("Ubuntu 24.04", OsFamily::Ubuntu2404),
        ("Ubuntu 22.04", OsFamily::Ubuntu2204),
        ("Ubuntu 20.04", OsFamily::Ubuntu2004),
    ]
    .into_iter()
    .find_map(|(prefix, family)| image.starts_with(prefix).then_some(family))
}
