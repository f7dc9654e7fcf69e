//! The links between two GPUs: the common ancestor of their PCI paths, and the number of NVLinks.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::TopologyLevel;
use nvml_wrapper::error::NvmlError as WrapperError;
use nvml_wrapper_sys::bindings::{
    NVML_NVLINK_MAX_LINKS, nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_GPU as GPU,
    nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH as SWITCH,
};

use super::error::{call_error, error_kind};
use super::{Real, raw};
use crate::nvml::{CommonAncestor, Link, NvmlError, NvmlErrorKind};

/// The remote ends of the NVLinks of GPUs, by the GPU's index.
pub(super) type LinkEnds = BTreeMap<u32, GpuEnds>;

/// The PCI address of a GPU, and the remote ends of its active NVLinks.
#[derive(Clone)]
pub(super) struct GpuEnds {
    address: PciAddress,
    /// The PCI addresses of other GPUs, one per link.
    gpus: Vec<PciAddress>,
    /// Number of links to switches.
    switches: u32,
}

/// Domain, bus and device.
type PciAddress = (u32, u32, u32);

impl Real {
    /// Discards the cached links of a GPU.
    pub(super) fn forget_links(&self, index: u32) {
        self.ends
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&index);
    }

    pub(super) fn read_link(&self, one: u32, other: u32) -> Result<Link, NvmlError> {
        let (from, to) = (self.gpu_ends(one)?, self.gpu_ends(other)?);
        let refused = |error: WrapperError| call_error(&format!("GPUs {one} and {other}"), &error);
        let first = self.nvml.device_by_index(one).map_err(refused)?;
        let second = self.nvml.device_by_index(other).map_err(refused)?;
        let meet = match self.nvml.topology_common_ancestor(&first, &second) {
            Ok(level) => common_ancestor(level),
            Err(error) if error_kind(&error) == NvmlErrorKind::GpuLost => {
                return Err(refused(error));
            }
            // Without the PCI topology, as in some virtual machines, the NVLinks are still useful.
            Err(_) => CommonAncestor::System,
        };
        Ok(Link {
            meet,
            nvlinks: nvlinks(&from, &to),
        })
    }

    fn gpu_ends(&self, index: u32) -> Result<GpuEnds, NvmlError> {
        let cached = || self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ends) = cached().get(&index) {
            return Ok(ends.clone());
        }
        let ends = self.query(index, read)?;
        cached().insert(index, ends.clone());
        Ok(ends)
    }
}

fn read(device: &Device<'_>) -> Result<GpuEnds, WrapperError> {
    let pci = device.pci_info()?;
    let mut ends = GpuEnds {
        address: (pci.domain, pci.bus, pci.device),
        gpus: Vec::new(),
        switches: 0,
    };
    for link in 0..NVML_NVLINK_MAX_LINKS {
        let nvlink = device.link_wrapper_for(link);
        match nvlink.is_active() {
            Ok(true) => {}
            Ok(false) => continue,
            Err(WrapperError::GpuLost) => return Err(WrapperError::GpuLost),
            // The GPU model has no such link, and none with a higher number.
            Err(_) => break,
        }
        // Old drivers report only the address of the remote end, not its type.
        match raw::remote_device_type(device, link) {
            Ok(SWITCH) => ends.switches += 1,
            Ok(GPU) | Err(_) => {
                if let Ok(far) = nvlink.remote_pci_info() {
                    ends.gpus.push((far.domain, far.bus, far.device));
                }
            }
            Ok(_) => {}
        }
    }
    Ok(ends)
}

/// Returns the number of NVLinks between two GPUs. The two may report different numbers while a link is being trained;
/// the higher number is right, because a link that one of them reports exists. With switches, every GPU reaches every
/// other one, limited by the GPU with fewer links.
fn nvlinks(one: &GpuEnds, other: &GpuEnds) -> u32 {
    let count = |from: &GpuEnds, to: &GpuEnds| {
        let links = from
            .gpus
            .iter()
            .filter(|address| **address == to.address)
            .count();
        u32::try_from(links).unwrap_or_default()
    };
    let direct = count(one, other).max(count(other, one));
    direct + one.switches.min(other.switches)
}

fn common_ancestor(level: TopologyLevel) -> CommonAncestor {
    match level {
        TopologyLevel::Internal => CommonAncestor::Board,
        TopologyLevel::Single => CommonAncestor::Switch,
        TopologyLevel::Multiple => CommonAncestor::Switches,
        TopologyLevel::HostBridge => CommonAncestor::HostBridge,
        TopologyLevel::Node => CommonAncestor::Processor,
        TopologyLevel::System => CommonAncestor::System,
    }
}
