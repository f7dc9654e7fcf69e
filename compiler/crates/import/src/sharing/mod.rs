//! How containers share the GPUs of a pool.

mod nodes;

use std::collections::BTreeMap;

use gpuc_schema::config::MigStrategy;
use gpuc_schema::gpu::GpuModel;
use gpuc_schema::node_config::{NodeConfig, NodeSharing, SharePlacement};
use serde_json::Value;

use crate::claims::{mig_of_slices, sharing_of_class};
use crate::cloud_files::CloudPool;
use crate::configs::{mig_layout, plugin_config};
use crate::context::{Context, label_source};
use crate::gpus::Hardware;
use crate::groups::{GPU, Group};
use crate::json::{is_true, items, number, source, text};
use crate::report::Report;
use crate::tree::{Evidence, Item};
use nodes::{of_amounts, of_gke_labels, of_labels};

/// The resource of replicas with a name of their own.
pub(crate) const SHARED_GPU: &str = "nvidia.com/gpu.shared";

/// How containers share the GPUs of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Time-slicing or MPS.
    Replicas {
        /// `timeSlicing` or `mps`.
        key: &'static str,
        /// The replicas of a GPU.
        replicas: u64,
        /// Whether they are advertised as [`SHARED_GPU`].
        rename: bool,
        /// Whether `placement` is `packed`.
        packed: bool,
    },
    /// MIG.
    Mig {
        /// `single` or `mixed`.
        strategy: &'static str,
        /// The layouts, with the indexes of their GPUs; without indexes, of all GPUs.
        layouts: Vec<(Option<String>, Layout)>,
        /// Whether `placement` is `packed`.
        packed: bool,
    },
}

/// The number of MIG devices of a GPU, by profile.
pub(crate) type Layout = BTreeMap<String, u64>;

/// A pool while its sharing is found.
pub(crate) struct SharedPool<'a> {
    pub(crate) name: &'a str,
    pub(crate) group: &'a Group<'a>,
    pub(crate) described: Option<&'a CloudPool<'a>>,
    pub(crate) config: Option<&'a (NodeConfig, String)>,
    pub(crate) hardware: &'a Hardware,
}

/// Finds the sharing of a pool: in the configuration of the component that advertises the GPUs, in the cloud's
/// description, in labels, and last in the amounts that nodes advertise.
pub(crate) fn sharing(
    cx: &Context<'_>,
    pool: &SharedPool<'_>,
    report: &mut Report,
) -> Option<(Sharing, Evidence)> {
    if let Some((config, at)) = pool.config {
        let sharing = of_node_config(config)?;
        return Some((
            sharing,
            Evidence::sure(source(at, "sharing", sharing_name(config))),
        ));
    }
    if let Some(described) = pool.described
        && let Some(found) = of_cloud(described, pool)
    {
        return Some(found);
    }
    let configured = plugin_config(cx, pool.group);
    if let Some((config, evidence)) = &configured
        && let Some(found) = of_plugin_config(config, evidence)
    {
        return Some(found);
    }
    let of_class = || {
        let (name, _) = pool.group.label("gpuc.dev/pool")?;
        sharing_of_class(cx, name)
    };
    of_mig_manager(cx, pool, report)
        .or_else(|| mig_of_slices(cx, pool.group))
        .or_else(of_class)
        .or_else(|| of_gke_labels(pool))
        .or_else(|| of_labels(pool))
        .or_else(|| of_amounts(pool, report))
}

fn sharing_name(config: &NodeConfig) -> &'static str {
    match config.sharing {
        NodeSharing::Exclusive => "exclusive",
        NodeSharing::TimeSlicing { .. } => "timeSlicing",
        NodeSharing::Mps { .. } => "mps",
        NodeSharing::Mig { .. } => "mig",
    }
}

fn of_node_config(config: &NodeConfig) -> Option<Sharing> {
    let packed = config.placement == SharePlacement::Packed;
    match &config.sharing {
        NodeSharing::Exclusive => None,
        NodeSharing::TimeSlicing {
            replicas, rename, ..
        } => Some(Sharing::Replicas {
            key: "timeSlicing",
            replicas: u64::from(*replicas),
            rename: *rename,
            packed,
        }),
        NodeSharing::Mps {
            replicas, rename, ..
        } => Some(Sharing::Replicas {
            key: "mps",
            replicas: u64::from(*replicas),
            rename: *rename,
            packed,
        }),
        NodeSharing::Mig { strategy, gpus, .. } => {
            let layouts = gpus.iter().map(|gpu| {
                let mut layout = Layout::new();
                for slice in &gpu.slices {
                    *layout.entry(slice.profile.clone()).or_default() += 1;
                }
                (gpu.index, layout)
            });
            Some(Sharing::Mig {
                strategy: match strategy {
                    MigStrategy::Single => "single",
                    MigStrategy::Mixed => "mixed",
                },
                layouts: merged(layouts.collect(), config.expected.count),
                packed,
            })
        }
    }
}

/// Merges GPUs with equal layouts: one entry without indexes if all GPUs have the same. GPUs without MIG devices have
/// no entry.
fn merged(gpus: Vec<(u32, Layout)>, count: u32) -> Vec<(Option<String>, Layout)> {
    let mut entries: Vec<(Vec<u32>, Layout)> = Vec::new();
    for (index, layout) in gpus.into_iter().filter(|(_, layout)| !layout.is_empty()) {
        match entries.iter_mut().find(|(_, known)| *known == layout) {
            Some((indexes, _)) => indexes.push(index),
            None => entries.push((vec![index], layout)),
        }
    }
    if let [(indexes, layout)] = entries.as_slice()
        && u32::try_from(indexes.len()).is_ok_and(|len| len == count)
    {
        return vec![(None, layout.clone())];
    }
    let entries = entries.into_iter();
    entries
        .map(|(indexes, layout)| (Some(ranges(&indexes)), layout))
        .collect()
}

/// Indexes as ranges: `0-3,6`.
fn ranges(indexes: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &index in indexes {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == index => *end = index,
            _ => ranges.push((index, index)),
        }
    }
    let ranges = ranges.iter().map(|(start, end)| {
        if start == end {
            start.to_string()
        } else {
            format!("{start}-{end}")
        }
    });
    ranges.collect::<Vec<_>>().join(",")
}

/// The sharing in the description of a node pool of GKE or AKS.
fn of_cloud(described: &CloudPool<'_>, pool: &SharedPool<'_>) -> Option<(Sharing, Evidence)> {
    let accelerator = described
        .value
        .pointer("/config/accelerators/0")
        .unwrap_or(&Value::Null);
    if let Some(strategy) = text(accelerator, "/gpuSharingConfig/gpuSharingStrategy") {
        let replicas = number(accelerator, "/gpuSharingConfig/maxSharedClientsPerGpu")?;
        let field = "config.accelerators[0].gpuSharingConfig";
        let evidence = Evidence::sure(source(
            described.object(),
            field,
            format!("{strategy}, {replicas} clients"),
        ));
        let sharing = Sharing::Replicas {
            key: match strategy {
                "MPS" => "mps",
                _ => "timeSlicing",
            },
            replicas: u64::try_from(replicas).ok()?,
            rename: false,
            packed: false,
        };
        return Some((sharing, evidence));
    }
    if let Some(profile) = text(accelerator, "/gpuPartitionSize") {
        let evidence = source(
            described.object(),
            "config.accelerators[0].gpuPartitionSize",
            profile,
        );
        return Some((uniform_mig(pool, profile)?, Evidence::sure(evidence)));
    }
    // `MIG1g` names the compute slices; the memory depends on the GPU.
    let profile = text(described.value, "/gpuInstanceProfile")?;
    let slices: u8 = profile
        .strip_prefix("MIG")?
        .strip_suffix('g')?
        .parse()
        .ok()?;
    let mig = pool.hardware.model.as_ref()?.0.mig?;
    let mut profiles = mig
        .profiles
        .iter()
        .filter(|it| it.compute_slices == slices && !it.media_extensions);
    let own = profiles.next()?;
    let source = source(described.object(), "gpuInstanceProfile", profile);
    let reason = "the profile with this number of compute slices and the least memory";
    Some((
        uniform_mig(pool, own.name)?,
        Evidence::guess(source, reason),
    ))
}

/// As many MIG devices of a profile as a GPU has.
fn uniform_mig(pool: &SharedPool<'_>, profile: &str) -> Option<Sharing> {
    let mig = pool.hardware.model.as_ref()?.0.mig?;
    let count = mig.profile(profile)?.max_instances;
    Some(Sharing::Mig {
        strategy: "single",
        layouts: vec![(None, Layout::from([(profile.to_owned(), u64::from(count))]))],
        packed: false,
    })
}

/// Time-slicing or MPS in a configuration of NVIDIA's device plugin.
fn of_plugin_config(config: &Value, evidence: &Evidence) -> Option<(Sharing, Evidence)> {
    for key in ["timeSlicing", "mps"] {
        let section = config
            .pointer(&format!("/sharing/{key}"))
            .unwrap_or(&Value::Null);
        let resource = items(section, "/resources").iter();
        let mut resource = resource.filter(|it| matches!(text(it, "/name"), Some(GPU | "gpu")));
        let Some(replicas) = resource.next().and_then(|it| number(it, "/replicas")) else {
            continue;
        };
        let replicas = u64::try_from(replicas).ok().filter(|count| *count > 1)?;
        let mut evidence = evidence.clone();
        evidence.source = source(
            &evidence.source,
            format!("sharing.{key}.resources"),
            replicas,
        );
        let sharing = Sharing::Replicas {
            key,
            replicas,
            rename: is_true(section, "/renameByDefault"),
            packed: false,
        };
        return Some((sharing, evidence));
    }
    None
}

/// The layout that the MIG manager applies, from its ConfigMap.
fn of_mig_manager(
    cx: &Context<'_>,
    pool: &SharedPool<'_>,
    report: &mut Report,
) -> Option<(Sharing, Evidence)> {
    let (layout, at) = mig_layout(cx, pool.group)?;
    let model = pool.hardware.model.as_ref().map(|(model, _)| *model);
    let count = pool.hardware.count.as_ref().map_or(0, |(count, _)| *count);
    let mut gpus: Vec<(u32, Layout)> = Vec::new();
    for entry in layout.as_array()? {
        if !is_true(entry, "/mig-enabled") {
            continue;
        }
        if !matches_filter(entry, model) {
            continue;
        }
        let devices = entry.get("mig-devices")?.as_object()?.iter();
        let own: Layout = devices
            .filter_map(|(profile, count)| Some((profile.clone(), count.as_u64()?)))
            .collect();
        let indexes: Vec<u32> = match entry.get("devices") {
            Some(Value::Array(list)) => {
                let indexes = list.iter().filter_map(Value::as_u64);
                indexes
                    .filter_map(|index| u32::try_from(index).ok())
                    .collect()
            }
            _ => (0..count).collect(),
        };
        gpus.extend(indexes.into_iter().map(|index| (index, own.clone())));
    }
    gpus.sort();
    gpus.dedup_by_key(|(index, _)| *index);
    let layouts = merged(gpus, count);
    if layouts.is_empty() {
        return None;
    }
    let is_mixed = pool
        .group
        .advertised()
        .keys()
        .any(|name| name.contains("/mig-"));
    let label = pool.group.label("nvidia.com/mig.strategy");
    let strategy = match label {
        Some(("single", _)) => "single",
        _ if is_mixed => "mixed",
        Some(_) => "mixed",
        None => "single",
    };
    let state = pool.group.label("nvidia.com/mig.config.state");
    if let Some((state, node)) = state.filter(|(state, _)| *state != "success") {
        let key = format!("nodePools[{}].sharing", pool.name);
        let reason = "the MIG manager has not applied the layout";
        report.leave_out(
            Some(&key),
            label_source(node, "nvidia.com/mig.config.state", state),
            reason,
        );
    }
    let sharing = Sharing::Mig {
        strategy,
        layouts,
        packed: false,
    };
    Some((sharing, Evidence::sure(at)))
}

/// Whether an entry of mig-parted applies to a GPU model: `device-filter` has PCI ids such as `0x20B010DE`.
fn matches_filter(entry: &Value, model: Option<&GpuModel>) -> bool {
    let Some(filter) = entry.get("device-filter") else {
        return true;
    };
    let filters: Vec<&str> = match filter {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => return true,
    };
    let Some(model) = model else { return true };
    filters.iter().any(|filter| {
        let id = filter.trim_start_matches("0x").trim_start_matches("0X");
        let id = u32::from_str_radix(id, 16).unwrap_or_default();
        // The device is in the upper half, or the vendor is not part of the id.
        model
            .pci_ids
            .iter()
            .any(|own| id == *own || id >> 16 == *own || id == own >> 16)
    })
}

impl Sharing {
    /// The value of the key `sharing`.
    pub(crate) fn item(&self) -> Item {
        let placement = |packed: &bool| packed.then(|| ("placement", Item::text("packed")));
        match self {
            Self::Replicas {
                key,
                replicas,
                rename,
                packed,
            } => {
                let mut entries = vec![("replicas", Item::number(*replicas))];
                entries.extend(rename.then(|| ("rename", Item::bool(true))));
                entries.extend(placement(packed));
                Item::single(key, Item::map(entries))
            }
            Self::Mig {
                strategy,
                layouts,
                packed,
            } => {
                let layouts = layouts.iter().map(|(gpus, layout)| {
                    let devices = layout.iter().map(|(profile, count)| {
                        Item::map([
                            ("profile", Item::text(profile)),
                            ("count", Item::number(*count)),
                        ])
                    });
                    let gpus = gpus.as_ref().map(|gpus| ("gpus", Item::text(gpus)));
                    Item::map(gpus.into_iter().chain([("layout", Item::list(devices))]))
                });
                let mut entries = vec![("strategy", Item::text(*strategy))];
                entries.extend(placement(packed));
                entries.push(("perGpu", Item::list(layouts)));
                Item::single("mig", Item::map(entries))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_layouts_are_merged() {
        let layout = |profile: &str| Layout::from([(profile.to_owned(), 2)]);
        let gpus = vec![
            (0, layout("a")),
            (1, layout("a")),
            (2, layout("b")),
            (3, layout("a")),
        ];
        let expected = vec![
            (Some("0-1,3".to_owned()), layout("a")),
            (Some("2".to_owned()), layout("b")),
        ];
        assert_eq!(merged(gpus, 4), expected);
        assert_eq!(
            merged(vec![(0, layout("a")), (1, layout("a"))], 2),
            vec![(None, layout("a"))]
        );
        assert_eq!(
            merged(vec![(0, layout("a")), (1, Layout::new())], 2),
            vec![(Some("0".to_owned()), layout("a"))]
        );
    }
}
