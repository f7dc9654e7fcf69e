//! Discovers the GPUs of a node, independently: an error of one GPU does not affect the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{Gpu, Inventory, Topology};
use crate::host::Roots;
use crate::nvml::{GpuInfo, Nvml, NvmlError, NvmlErrorKind};

/// Display adapters of a DGX Station without compute support (NVIDIA/k8s-device-plugin@1b826acc skips them
/// as well).
const DISPLAY_ADAPTERS: [&str; 2] = ["DGX Display", "NVIDIA DGX Display"];

/// Discovers the GPUs of the node. Only a driver that does not respond at all is an error. A GPU that does not respond
/// is [`Gpu::Unresponsive`], with its last known identity. The topology is read once and kept while the GPUs stay the
/// same.
pub fn discover(
    nvml: &dyn Nvml,
    roots: &Roots,
    previous: Option<&Inventory>,
) -> Result<Inventory, NvmlError> {
    let mut inventory = discover_without_links(nvml, roots, previous)?;
    inventory.topology = read_topology(nvml, &inventory.gpus, previous);
    Ok(inventory)
}

/// Discovers the GPUs without the links between them, which take most of the driver calls and which only a preferred
/// allocation needs.
///
/// # Errors
///
/// As [`discover`].
pub fn discover_without_links(
    nvml: &dyn Nvml,
    roots: &Roots,
    previous: Option<&Inventory>,
) -> Result<Inventory, NvmlError> {
    let driver = nvml.driver()?;
    let mut names = BTreeMap::new();
    let results: Vec<_> = (0..nvml.gpu_count()?)
        .map(|index| {
            let result = nvml.gpu(index);
            (
                index,
                result.and_then(|info| with_unique_uuid(info, &mut names)),
            )
        })
        .collect();
    // The driver was unloaded meanwhile.
    let mut errors = results
        .iter()
        .filter_map(|(_, result)| result.as_ref().err());
    if let Some(error) = errors.find(|error| error.is_driver_missing()) {
        return Err(error.clone());
    }
    let answering: BTreeSet<&str> = results
        .iter()
        .filter_map(|(_, result)| Some(result.as_ref().ok()?.uuid.as_str()))
        .collect();
    let mut gpus = Vec::new();
    for (index, result) in &results {
        match result {
            Ok(info) if DISPLAY_ADAPTERS.contains(&info.name.as_str()) => {}
            Ok(info) => gpus.push(Gpu::Responding {
                info: info.clone(),
                numa: read_numa_node(roots, &info.pci_bus_id),
            }),
            Err(error) => gpus.push(Gpu::Unresponsive {
                index: *index,
                last_info: last_known_info(previous, *index, &answering),
                error: error.clone(),
            }),
        }
    }
    Ok(Inventory {
        driver,
        gpus,
        topology: Topology::default(),
    })
}

/// Ensures that a GPU has a unique UUID. The kubelet merges devices with the same ID, and a container that
/// requests an ambiguous ID gets either device.
fn with_unique_uuid(
    info: GpuInfo,
    names: &mut BTreeMap<String, u32>,
) -> Result<GpuInfo, NvmlError> {
    let index = info.index;
    let nameless = |reason: String| NvmlError {
        kind: NvmlErrorKind::Other,
        message: format!("GPU {index}: {reason}"),
    };
    if info.uuid.is_empty() {
        return Err(nameless("the driver reports no UUID".to_owned()));
    }
    if let Some(other) = names.get(&info.uuid) {
        let message = format!("the driver reports the UUID of GPU {other}, {}", info.uuid);
        return Err(nameless(message));
    }
    names.insert(info.uuid.clone(), index);
    Ok(info)
}

/// Returns the last known identity of the GPU with this index. A reloaded driver may have given the index to another
/// GPU: one that responds under another index is not the unresponsive one.
fn last_known_info(
    previous: Option<&Inventory>,
    index: u32,
    answering: &BTreeSet<&str>,
) -> Option<GpuInfo> {
    let info = previous?.gpu(index)?.info()?;
    (!answering.contains(info.uuid.as_str())).then(|| info.clone())
}

/// Returns the NUMA node of the GPU. The driver writes the PCI domain with eight digits, sysfs with four, or more if
/// needed.
fn read_numa_node(roots: &Roots, pci_bus_id: &str) -> Option<u32> {
    let (domain, rest) = pci_bus_id.split_once(':')?;
    let domain = u32::from_str_radix(domain, 16).ok()?;
    let device = format!("{domain:04x}:{}", rest.to_lowercase());
    if device.contains('/') {
        return None;
    }
    let file = roots.sys.join("bus/pci/devices").join(device);
    let text = fs::read_to_string(file.join("numa_node")).ok()?;
    // sysfs has -1 if the node is unknown.
    text.trim().parse().ok()
}

/// Reads the links of all new pairs, and of those that failed before. Failures are left out.
fn read_topology(nvml: &dyn Nvml, gpus: &[Gpu], previous: Option<&Inventory>) -> Topology {
    let previous_id = |gpu: &Gpu| previous.and_then(|it| it.gpu(gpu.index())).map(Gpu::id);
    let is_unchanged = |gpu: &Gpu| previous_id(gpu) == Some(gpu.id());
    let is_unresponsive = |gpu: &Gpu| matches!(gpu, Gpu::Unresponsive { .. });
    let pairs = gpus
        .iter()
        .enumerate()
        .flat_map(|(index, one)| gpus.iter().skip(index + 1).map(move |other| (one, other)));
    Topology::new(pairs.filter_map(|(one, other)| {
        let pair = (one.index(), other.index());
        let known = previous
            .filter(|it| {
                it.topology.has_link(pair.0, pair.1) && is_unchanged(one) && is_unchanged(other)
            })
            .map(|it| it.topology.link(pair.0, pair.1));
        if known.is_some() || is_unresponsive(one) || is_unresponsive(other) {
            return Some((pair, known?));
        }
        Some((pair, nvml.link(pair.0, pair.1).ok()?))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvml::fake::Fake;

    struct Node {
        fake: Fake,
        roots: Roots,
        _folder: tempfile::TempDir,
    }

    fn node(description: &str) -> Node {
        let fake = Fake::from_description(description).expect(description);
        let folder = tempfile::tempdir().expect("a folder");
        let roots = fake.write_roots(folder.path()).expect("files");
        Node {
            fake,
            roots,
            _folder: folder,
        }
    }

    impl Node {
        fn discover(&self, previous: Option<&Inventory>) -> Inventory {
            discover(&self.fake, &self.roots, previous).expect("the driver responds")
        }
    }

    fn numa_nodes(inventory: &Inventory) -> Vec<Option<u32>> {
        let numa = |gpu: &Gpu| match gpu {
            Gpu::Responding { numa, .. } => *numa,
            Gpu::Unresponsive { .. } => None,
        };
        inventory.gpus.iter().map(numa).collect()
    }

    #[test]
    fn links_can_be_read_later() {
        let node = node("h100x8");
        let first = discover_without_links(&node.fake, &node.roots, None).expect("an inventory");
        let control = node.fake.control();
        assert_eq!(control.call_count_for("link"), 0);
        assert!(!first.topology.has_link(0, 1));
        let second = node.discover(Some(&first));
        assert_eq!(second.gpus, first.gpus);
        assert_eq!(second, node.discover(None));
    }

    #[test]
    fn inventory_is_complete() {
        let inventory = node("h100x8").discover(None);
        assert_eq!(inventory.gpus.len(), 8);
        assert_eq!(numa_nodes(&inventory)[3..5], [Some(0), Some(1)]);
        assert_eq!(inventory.topology.link(7, 0).nvlinks, 18);
    }

    #[test]
    fn numa_node_can_be_unknown() {
        let node = node("l4x3");
        let file = |bus| {
            node.roots
                .sys
                .join(format!("bus/pci/devices/{bus}/numa_node"))
        };
        fs::write(file("0000:19:00.0"), "-1\n").expect("a file");
        fs::remove_file(file("0000:3b:00.0")).expect("the file exists");
        assert_eq!(numa_nodes(&node.discover(None)), [None, None, Some(1)]);
        assert_eq!(read_numa_node(&node.roots, "../../etc/passwd"), None);
        assert_eq!(read_numa_node(&node.roots, "0000:../../x"), None);
    }

    #[test]
    fn long_pci_domains_are_kept() {
        let node = node("l4");
        let device = node.roots.sys.join("bus/pci/devices/10001:01:00.0");
        fs::create_dir_all(&device).expect("a folder");
        fs::write(device.join("numa_node"), "5\n").expect("a file");
        assert_eq!(read_numa_node(&node.roots, "00010001:01:00.0"), Some(5));
    }

    /// NVIDIA's plugin exits if one GPU does not respond at startup (NVIDIA/k8s-device-plugin#2038).
    #[test]
    fn gpu_lost_at_start_does_not_affect_others() {
        let node = node("h100x8");
        node.fake.control().lose(3);
        let inventory = node.discover(None);
        assert_eq!(inventory.gpus.len(), 8);
        assert_eq!(inventory.gpus[3].id(), "gpu-3-unresponsive");
        assert_eq!(inventory.topology.link(2, 4).nvlinks, 18);
        assert!(!inventory.topology.has_link(2, 3));
    }

    #[test]
    fn gpu_lost_later_keeps_its_identity() {
        let node = node("h100x8");
        let first = node.discover(None);
        node.fake.control().lose(3);
        let second = node.discover(Some(&first));
        assert!(
            matches!(&second.gpus[3], Gpu::Unresponsive { error, .. } if error.kind == NvmlErrorKind::GpuLost)
        );
        assert_eq!(second.gpus[3].id(), first.gpus[3].id());
        // The UUID and the links survive several discoveries.
        let third = node.discover(Some(&second));
        assert_eq!(third.gpus[3].id(), first.gpus[3].id());
        assert_eq!(third.topology, first.topology);
        node.fake.control().bring_back(3);
        assert_eq!(node.discover(Some(&third)), first);
    }

    #[test]
    fn second_discovery_makes_few_calls() {
        let node = node("h100x8");
        let control = node.fake.control();
        let first = node.discover(None);
        assert_eq!(control.call_count_for("link"), 28);
        let before = control.call_count();
        assert_eq!(node.discover(Some(&first)), first);
        assert_eq!(
            control.call_count() - before,
            10,
            "driver, count, and each GPU"
        );
        control.partition(0, "7g.80gb").expect("the profile fits");
        node.discover(Some(&first));
        assert_eq!(
            control.call_count_for("link"),
            28,
            "a MIG change does not affect links"
        );
    }

    #[test]
    fn links_of_returned_gpu_are_read() {
        let node = node("h100x4");
        let control = node.fake.control();
        control.lose(0);
        let first = node.discover(None);
        assert_eq!(control.call_count_for("link"), 3);
        control.bring_back(0);
        let second = node.discover(Some(&first));
        assert_eq!(
            control.call_count_for("link"),
            6,
            "only the three that are new"
        );
        assert_eq!(second, node.discover(None));
    }

    #[test]
    fn links_of_replaced_gpus_are_read_again() {
        let node = node("l4x4");
        let first = node.discover(None);
        node.fake
            .control()
            .replace_gpus("h100x4")
            .expect("a machine");
        let second = node.discover(Some(&first));
        assert_eq!(second.topology.link(0, 3).nvlinks, 18);
    }

    /// When the driver is reloaded without GPU 1, GPU 2 gets index 1. If the GPU with index 1 then stops responding, it
    /// must not get the UUID of the GPU that responds under index 2.
    #[test]
    fn duplicate_uuid_is_an_error_of_one_gpu() {
        let node = node("h100x3");
        let first = node.discover(None);
        let mut renumbered = first.clone();
        let Gpu::Responding { info, .. } = &first.gpus[2] else {
            panic!("GPU 2 does not respond");
        };
        let mut moved = info.clone();
        moved.index = 1;
        renumbered.gpus[1] = Gpu::Responding {
            info: moved,
            numa: None,
        };
        node.fake.control().lose(1);
        let second = node.discover(Some(&renumbered));
        assert_eq!(second.gpus[1].id(), "gpu-1-unresponsive");
    }

    #[test]
    fn display_adapters_are_skipped() {
        let node = node("a100-sxm4-80gbx4+t4");
        node.fake.control().set_driver_name(4, "NVIDIA DGX Display");
        let inventory = node.discover(None);
        assert_eq!(inventory.gpus.len(), 4);
        assert_eq!(node.fake.control().call_count_for("link"), 6);
    }

    #[test]
    fn driver_that_is_unloaded_meanwhile_is_an_error() {
        let node = node("h100x8");
        node.fake.control().fail_gpu(3, NvmlErrorKind::NoDriver);
        let error = discover(&node.fake, &node.roots, None).expect_err("the driver is missing");
        assert_eq!(error.kind, NvmlErrorKind::NoDriver);
    }

    #[test]
    fn missing_driver_is_an_error() {
        let node = node("h100x8");
        node.fake.control().fail_all(Some(NvmlErrorKind::NoLibrary));
        let error = discover(&node.fake, &node.roots, None).expect_err("the driver is missing");
        assert_eq!(error.kind, NvmlErrorKind::NoLibrary);
    }
}
