//! The suffixes that NVIDIA's operators append to the tags of driver images on each node.

use std::collections::BTreeSet;

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::cloud::machine::CpuArchitecture;
use gpuc_model::plan::Identity;
use gpuc_schema::config::OsFamily;
use gpuc_syntax::node::Node;

use crate::charts::images::{RunningImage, boolean};
use crate::charts::{GPU_OPERATOR, driver_pools};

/// A suffix of a tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TagSuffix {
    /// The suffix; empty if the tag is complete.
    pub(crate) text: String,
    /// The meaning of the placeholders in the suffix, if there are any.
    pub(crate) unknown: Option<String>,
}

/// The placeholder for the operating system of a node.
const OS: (&str, &str) = (
    "<os>",
    "`<os>` is `ID` and `VERSION_ID` in the node's /etc/os-release, such as `ubuntu24.04`",
);

/// The same if the file determines the major version of RHEL. The GPU Operator omits the minor version.
const OS_RHEL: (&str, &str) = (
    "<os>",
    "`<os>` is `rhel9` on Red Hat Enterprise Linux, `rocky9` on Rocky Linux and `ol9` on Oracle Linux",
);

/// Images of the GPU Operator that contain kernel modules.
///
/// Source: NVIDIA/gpu-operator@10ee5b36 `controllers/object_controls.go` (`resolveDriverTag` and its callers), read
/// 2026-11-26.
const KERNEL_MODULES: &[&str] = &[
    "nvcr.io/nvidia/driver",
    "nvcr.io/nvidia/cloud-native/nvidia-fs",
    "nvcr.io/nvidia/cloud-native/gdrdrv",
];

/// The suffixes of an image that a release runs. Empty if it runs on no node.
pub(super) fn release_suffixes(
    cluster: &Checked<'_>,
    image: &RunningImage,
    values: &Node,
) -> BTreeSet<TagSuffix> {
    let default = image.chart_image;
    if default.chart != GPU_OPERATOR.name {
        return BTreeSet::from([TagSuffix::default()]);
    }
    let is_of_driver = default
        .switch
        .is_some_and(|(path, _)| path == "driver/enabled");
    if is_of_driver && has_driver_objects_only(values) {
        return BTreeSet::new();
    }
    if !KERNEL_MODULES.contains(&default.repository) {
        return BTreeSet::from([TagSuffix::default()]);
    }
    let is_precompiled = is_of_driver && boolean(values, "driver/usePrecompiled") == Some(true);
    let mut pools: Vec<_> = driver_pools(cluster).map(|(pool, _)| pool).collect();
    if pools.is_empty() {
        pools = cluster.operator_pools().map(|(pool, _)| pool).collect();
    }
    let suffixes = pools.into_iter();
    suffixes
        .map(|pool| gpu_driver_suffix(cluster, pool, is_precompiled))
        .collect()
}

/// Whether only the NVIDIADriver objects of the tree install drivers, so that the driver in the values is unused.
fn has_driver_objects_only(values: &Node) -> bool {
    boolean(values, "driver/nvidiaDriverCRD/enabled") == Some(true)
        && boolean(values, "driver/nvidiaDriverCRD/deployDefaultCR") == Some(false)
}

/// The suffixes of an image in an object.
pub(super) fn object_suffixes(
    cluster: &Checked<'_>,
    identity: &Identity,
    reference: &str,
) -> BTreeSet<TagSuffix> {
    let name = reference.rsplit('/').next().unwrap_or_default();
    let name = name.split([':', '@']).next().unwrap_or_default();
    match (cluster.pool(&identity.name), identity.kind.as_str(), name) {
        (Some(pool), "NVIDIADriver", "driver" | "gdrdrv" | "nvidia-fs") => {
            BTreeSet::from([gpu_driver_suffix(cluster, pool, false)])
        }
        (Some(pool), "NicNodePolicy", "doca-driver") => doca_driver_suffixes(cluster, pool),
        _ => BTreeSet::from([TagSuffix::default()]),
    }
}

/// The suffix that the GPU Operator appends: the operating system, after the kernel if the modules are precompiled.
///
/// Source: NVIDIA/gpu-operator@10ee5b36 `internal/state/nodepool.go` (`getOSTag`),
/// `api/nvidia/v1alpha1/nvidiadriver_types.go` (`GetImagePath`, `GetPrecompiledImagePath`), read 2026-11-26.
fn gpu_driver_suffix(cluster: &Checked<'_>, pool: &Pool, is_precompiled: bool) -> TagSuffix {
    let release = cluster.cloud.os_release(cluster, pool);
    let placeholder = match pool.os.value {
        OsFamily::Rhel9 => OS_RHEL,
        _ => OS,
    };
    let kernel = if is_precompiled { "-<kernel>" } else { "" };
    let kernel_meaning = "`<kernel>` is the kernel of the node, as `uname -r` prints it";
    let meanings = [
        is_precompiled.then_some(kernel_meaning),
        release.is_none().then_some(placeholder.1),
    ];
    let meanings: Vec<_> = meanings.into_iter().flatten().collect();
    TagSuffix {
        text: format!("{kernel}-{}", release.unwrap_or(placeholder.0)),
        unknown: (!meanings.is_empty()).then(|| meanings.join("; ")),
    }
}

/// The suffixes that the Network Operator appends: the operating system with its minor version, and the architecture.
/// It prefers an image that is precompiled for the node's kernel, if the registry has one.
///
/// Source: Mellanox/network-operator@85afd6d9 `pkg/state/state_ofed.go` (`mofedImageFormat`, `precompiledImageFormat`,
/// `renderObjects`) and `pkg/nodeinfo/node_info.go`, read 2026-11-26.
fn doca_driver_suffixes(cluster: &Checked<'_>, pool: &Pool) -> BTreeSet<TagSuffix> {
    let release = cluster.cloud.os_release(cluster, pool);
    let os_meaning = release.is_none().then_some(OS.1);
    let gpus = pool.gpus.expect_resolved().as_ref();
    let architecture = if gpus.is_some_and(|gpus| gpus.model.arm64_host) {
        CpuArchitecture::Arm64
    } else {
        pool.architecture()
    };
    let end = format!("{}-{}", release.unwrap_or(OS.0), architecture.label());
    let kernel_meaning = "`<kernel>` is the kernel of the node, as `uname -r` prints it; the Network Operator pulls \
                          this image instead if the registry has it";
    let precompiled = [Some(kernel_meaning), os_meaning].into_iter().flatten();
    BTreeSet::from([
        TagSuffix {
            text: format!("-{end}"),
            unknown: os_meaning.map(str::to_owned),
        },
        TagSuffix {
            text: format!("-<kernel>-{end}"),
            unknown: Some(precompiled.collect::<Vec<_>>().join("; ")),
        },
    ])
}

/// The complete references: `reference` with each suffix, or unchanged if it has a digest.
///
/// Source: the operators append nothing to a digest, in the functions that [`gpu_driver_suffix`] and
/// [`doca_driver_suffixes`] name.
pub(super) fn completed<'s>(
    reference: &'s str,
    suffixes: &'s BTreeSet<TagSuffix>,
) -> impl Iterator<Item = (String, Option<String>)> + 's {
    let is_pinned = reference.contains("@sha256:");
    let count = if is_pinned { 1 } else { suffixes.len() };
    suffixes.iter().take(count).map(move |suffix| {
        if is_pinned {
            (reference.to_owned(), None)
        } else {
            (
                format!("{reference}{}", suffix.text),
                suffix.unknown.clone(),
            )
        }
    })
}
