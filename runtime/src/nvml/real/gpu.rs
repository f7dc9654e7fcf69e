//! The properties of a GPU.

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError as WrapperError;

use super::error::none_if_unsupported;
use super::{mig_devices, raw};
use crate::nvml::{Clique, GpuInfo, MigMode};

/// Reads the properties of a GPU. Any error fails the call, except for properties that a GPU model or driver may lack.
pub(super) fn read(device: &Device<'_>, index: u32) -> Result<GpuInfo, WrapperError> {
    let pci = device.pci_info()?;
    let capability = device.cuda_compute_capability()?;
    let to_u32 = |number: i32| u32::try_from(number).unwrap_or_default();
    let memory_bytes = none_if_unsupported(device.memory_info())?.map(|memory| memory.total);
    let mig = mig_mode(device)?;
    let mig_devices = match mig {
        Some(mode) if mode.enabled => mig_devices::read_all(device, memory_bytes)?,
        _ => Vec::new(),
    };
    Ok(GpuInfo {
        index,
        uuid: device.uuid()?,
        minor: device.minor_number()?,
        name: device.name()?,
        pci_bus_id: pci.bus_id,
        pci_id: pci.pci_device_id,
        memory_bytes,
        compute_capability: (to_u32(capability.major), to_u32(capability.minor)),
        mig,
        slices: mig_devices,
        // If the fabric cannot be queried, the GPU is in no clique.
        clique: raw::fabric(device).ok().flatten().map(clique),
    })
}

/// Returns a GPU's MIG mode, if it supports MIG.
pub(super) fn mig_mode(device: &Device<'_>) -> Result<Option<MigMode>, WrapperError> {
    let mode = none_if_unsupported(device.mig_mode())?;
    Ok(mode.map(|mode| MigMode {
        enabled: mode.current != 0,
        pending: mode.pending != 0,
    }))
}

fn clique((cluster, id): ([u8; 16], u32)) -> Clique {
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    };
    let parts = [
        &cluster[..4],
        &cluster[4..6],
        &cluster[6..8],
        &cluster[8..10],
        &cluster[10..],
    ];
    Clique {
        cluster: parts.map(hex).join("-"),
        id,
    }
}
