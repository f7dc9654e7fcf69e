//! Calls about the links between GPUs.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEnableState_t, nvmlGpuTopologyLevel_t,
    nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_GPU as GPU,
    nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH as SWITCH,
    nvmlIntNvLinkDeviceType_t, nvmlPciInfo_t,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED, nvmlReturn_t,
};

use crate::answer::{answer_device, write_out};
use crate::device::{pci_at, pci_info};
use crate::handle::DeviceHandle;
use crate::state::Gpu;

/// The remote end of a link: `off`, `switch`, or the index of a GPU.
fn remote_end(gpu: Gpu<'_>, link: c_uint) -> Result<&str, nvmlReturn_t> {
    let links = gpu.text("links").ok_or(NOT_SUPPORTED)?;
    links.split_whitespace().nth(link as usize).ok_or(INVALID)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkState(
    device: nvmlDevice_t,
    link: c_uint,
    active: *mut nvmlEnableState_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetNvLinkState", device, |gpu, _| {
        let on = remote_end(gpu, link)? != "off";
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(active, on.into()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(
    device: nvmlDevice_t,
    link: c_uint,
    kind: *mut nvmlIntNvLinkDeviceType_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetNvLinkRemoteDeviceType", device, |gpu, _| {
        let answer = match remote_end(gpu, link)? {
            "off" => return Err(INVALID),
            "switch" => SWITCH,
            _ => GPU,
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(kind, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(
    device: nvmlDevice_t,
    link: c_uint,
    pci: *mut nvmlPciInfo_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, |gpu, _| {
        let answer = match remote_end(gpu, link)? {
            "off" => return Err(INVALID),
            "switch" => pci_at("00000000:C4:00.0"),
            other => {
                let index = other.parse().map_err(|_| INVALID)?;
                pci_info(gpu.state.gpu(index).ok_or(INVALID)?)
            }
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(pci, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    one: nvmlDevice_t,
    other: nvmlDevice_t,
    level: *mut nvmlGpuTopologyLevel_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetTopologyCommonAncestor", one, |gpu, _| {
        let other = DeviceHandle::from_handle(other).ok_or(INVALID)?.gpu();
        let pair = |one, other| gpu.state.number(&format!("level.{one}.{other}"));
        let own_level = pair(gpu.index, other).or_else(|| pair(other, gpu.index));
        let number = own_level
            .or_else(|| gpu.state.number("level"))
            .unwrap_or(50);
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(level, u32::try_from(number).map_err(|_| INVALID)?) }
    })
}
