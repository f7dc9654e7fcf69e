//! Calls about the properties of a GPU or a MIG device.

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlDeviceAttributes_t, nvmlGpuFabricInfo_v2_t, nvmlGpuFabricInfoV_t,
    nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t,
    nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH as OTHER_VERSION,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID,
    nvmlReturn_enum_NVML_ERROR_NOT_FOUND as NOT_FOUND,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED, nvmlReturn_t,
};

use crate::answer::{Outcome, answer_device, fill_field, write_out, write_text};
use crate::handle::DeviceHandle;
use crate::layout::{Instance, instances, mig_mode};
use crate::state::{Gpu, number};

const MIB: u64 = 1 << 20;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(
    device: nvmlDevice_t,
    uuid: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetUUID", device, |gpu, part| {
        let text = match part {
            DeviceHandle::FullGpu(_) => full_gpu_uuid(gpu),
            DeviceHandle::MigDevice(gpu, gi, ci) => {
                format!("MIG-{gpu:08x}-{gi:04x}-{ci:04x}-5a5a-0123456789ab")
            }
        };
        // SAFETY: nvml.h requires a buffer and its length.
        unsafe { write_text(uuid, length, &text) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceSetComputeMode(
    device: nvmlDevice_t,
    mode: c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceSetComputeMode", device, |gpu, _| {
        gpu.change("compute_mode", &mode.to_string());
        Ok(())
    })
}

pub(crate) fn full_gpu_uuid(gpu: Gpu<'_>) -> String {
    let generated = || format!("GPU-{:08x}-0000-0000-0000-0123456789ab", gpu.index);
    gpu.text("uuid").map_or_else(generated, str::to_owned)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(
    device: nvmlDevice_t,
    name: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetName", device, |gpu, part| {
        let mut text = gpu_name(gpu);
        if let DeviceHandle::MigDevice(_, gi, ci) = part
            && gpu.text("slice_name") != Some("none")
        {
            let (instance, slices) = find_mig_device(gpu, gi, ci)?;
            text.push_str(" MIG ");
            if slices != instance.slices() {
                text.push_str(&format!("{slices}c."));
            }
            text.push_str(instance.profile.name);
        }
        // SAFETY: nvml.h requires a buffer and its length.
        unsafe { write_text(name, length, &text) }
    })
}

/// Returns the configured name, or the name of the catalog's product label.
fn gpu_name(gpu: Gpu<'_>) -> String {
    let product = gpu.model().and_then(|model| model.products.first());
    let generated = || {
        product.map_or("NVIDIA Graphics Device".to_owned(), |it| {
            it.replace('-', " ")
        })
    };
    gpu.text("name").map_or_else(generated, str::to_owned)
}

/// Returns the GPU instance and the compute slices of a MIG device.
fn find_mig_device(gpu: Gpu<'_>, gi: u32, ci: u32) -> Result<(Instance, u32), nvmlReturn_t> {
    let instance = instances(gpu).into_iter().find(|it| it.id == gi);
    let instance = instance.ok_or(NOT_FOUND)?;
    let compute = instance.compute.iter().find(|(id, _)| *id == ci);
    let slices = compute.ok_or(NOT_FOUND)?.1;
    Ok((instance, slices))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMinorNumber(
    device: nvmlDevice_t,
    minor: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetMinorNumber", device, |gpu, _| {
        let number = gpu.number("minor").unwrap_or(gpu.index.into());
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(minor, u32::try_from(number).map_err(|_| INVALID)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(
    device: nvmlDevice_t,
    pci: *mut nvmlPciInfo_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetPciInfo_v3", device, |gpu, _| {
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(pci, pci_info(gpu)) }
    })
}

pub(crate) fn pci_info(gpu: Gpu<'_>) -> nvmlPciInfo_t {
    let generated = || format!("00000000:{:02X}:00.0", 0x10 + gpu.index);
    let bus_id = gpu.text("bus").map_or_else(generated, str::to_owned);
    let mut info = pci_at(&bus_id);
    let model_default = gpu.model().and_then(|model| model.pci_ids.first().copied());
    let configured = gpu.number("pci_id").and_then(|id| u32::try_from(id).ok());
    info.pciDeviceId = configured.or(model_default).unwrap_or(0x10DE);
    info
}

/// A PCI address without device information.
pub(crate) fn pci_at(bus_id: &str) -> nvmlPciInfo_t {
    let mut parts = bus_id
        .split([':', '.'])
        .map(|part| u32::from_str_radix(part, 16).unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    let mut info = nvmlPciInfo_t {
        busIdLegacy: [0; 16],
        domain: part(),
        bus: part(),
        device: part(),
        pciDeviceId: 0,
        pciSubSystemId: 0,
        busId: [0; 32],
    };
    fill_field(&mut info.busId, bus_id);
    info
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: nvmlDevice_t,
    major: *mut c_int,
    minor: *mut c_int,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetCudaComputeCapability", device, |gpu, _| {
        let model_default = gpu.model().map(|model| model.compute_capability);
        let model_default = model_default.map(|it| (c_int::from(it.major), c_int::from(it.minor)));
        let configured = gpu.text("cc").and_then(|text| text.split_once('.'));
        let configured =
            configured.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let (major_version, minor_version) = configured.or(model_default).unwrap_or((9, 0));
        // SAFETY: nvml.h requires two pointers for the result.
        unsafe {
            write_out(major, major_version)?;
            write_out(minor, minor_version)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    device: nvmlDevice_t,
    memory: *mut nvmlMemory_v2_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetMemoryInfo_v2", device, |gpu, part| {
        if gpu.text("memory_mib") == Some("shared") {
            return Err(NOT_SUPPORTED);
        }
        // SAFETY: nvml.h requires a structure that begins with its version.
        let version = unsafe { memory.as_ref() }.ok_or(INVALID)?.version;
        check_version::<nvmlMemory_v2_t>(version, 2)?;
        let (total, reserved, used) = memory_mib(gpu, part)?;
        let info = nvmlMemory_v2_t {
            version,
            total: total * MIB,
            reserved: reserved * MIB,
            free: (total - reserved - used) * MIB,
            used: used * MIB,
        };
        // SAFETY: as above.
        unsafe { write_out(memory, info) }
    })
}

/// Like the second version, but reserved memory counts as used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(
    device: nvmlDevice_t,
    memory: *mut nvmlMemory_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetMemoryInfo", device, |gpu, part| {
        if gpu.text("memory_mib") == Some("shared") {
            return Err(NOT_SUPPORTED);
        }
        let (total, reserved, used) = memory_mib(gpu, part)?;
        let info = nvmlMemory_t {
            total: total * MIB,
            free: (total - reserved - used) * MIB,
            used: (reserved + used) * MIB,
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(memory, info) }
    })
}

/// The total, reserved and used memory of a GPU or a MIG device, in MiB.
fn memory_mib(gpu: Gpu<'_>, part: DeviceHandle) -> Result<(u64, u64, u64), nvmlReturn_t> {
    let total = match part {
        DeviceHandle::FullGpu(_) => full_memory_mib(gpu),
        DeviceHandle::MigDevice(_, gi, ci) => {
            find_mig_device(gpu, gi, ci)?.0.profile.memory_mib.into()
        }
    };
    let reserved = gpu.number("memory_reserved_mib").unwrap_or(0);
    let used = gpu.number("memory_used_mib").unwrap_or(0);
    Ok((total, reserved, used.min(total - reserved)))
}

fn full_memory_mib(gpu: Gpu<'_>) -> u64 {
    let model_default = gpu.model().map(|model| model.memory_mib.into());
    gpu.number("memory_mib").or(model_default).unwrap_or(81_559)
}

/// Rejects a structure with another version, like NVML.
fn check_version<T>(version: c_uint, expected: u32) -> Outcome {
    let size = u32::try_from(size_of::<T>()).expect("NVML's structures are smaller than 4 GiB");
    if version == size | expected << 24 {
        Ok(())
    } else {
        Err(OTHER_VERSION)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuFabricInfoV(
    device: nvmlDevice_t,
    fabric: *mut nvmlGpuFabricInfoV_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetGpuFabricInfoV", device, |gpu, _| {
        let text = gpu.text("fabric").ok_or(NOT_SUPPORTED)?;
        let words: Vec<_> = text.split_whitespace().collect();
        let &[cluster, clique, state] = words.as_slice() else {
            return Err(INVALID);
        };
        // SAFETY: nvml.h requires a structure that begins with its version.
        let mut info = unsafe { fabric.as_ref() }.copied().ok_or(INVALID)?;
        check_version::<nvmlGpuFabricInfo_v2_t>(info.version, 2)?;
        let cluster = u128::from_str_radix(cluster, 16).map_err(|_| INVALID)?;
        info.clusterUuid = cluster.to_be_bytes();
        info.cliqueId = clique.parse().map_err(|_| INVALID)?;
        info.state = state.parse().map_err(|_| INVALID)?;
        info.status = 0;
        // SAFETY: as above. The second version is a prefix of the third, whose end is not changed.
        unsafe { write_out(fabric, info) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetMigMode", device, |gpu, _| {
        let (enabled, enabled_later) = mig_mode(gpu).ok_or(NOT_SUPPORTED)?;
        // SAFETY: nvml.h requires two pointers for the result.
        unsafe {
            write_out(current, enabled.into())?;
            write_out(pending, enabled_later.into())
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(
    device: nvmlDevice_t,
    count: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetMaxMigDeviceCount", device, |gpu, _| {
        let mig = gpu.model().and_then(|model| model.mig);
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(count, mig.map_or(0, |mig| mig.compute_slices.into())) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: nvmlDevice_t,
    index: c_uint,
    slice: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetMigDeviceHandleByIndex", device, |gpu, _| {
        let instances = instances(gpu);
        let mut parts = instances.iter().flat_map(|instance| {
            let part = |(ci, _): &(u32, u32)| DeviceHandle::MigDevice(gpu.index, instance.id, *ci);
            instance.compute.iter().map(part)
        });
        let part = parts.nth(index as usize).ok_or(NOT_FOUND)?;
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(slice, part.handle()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(
    device: nvmlDevice_t,
    id: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetGpuInstanceId", device, |_, part| {
        let DeviceHandle::MigDevice(_, gi, _) = part else {
            return Err(INVALID);
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(id, gi) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeInstanceId(
    device: nvmlDevice_t,
    id: *mut c_uint,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetComputeInstanceId", device, |_, part| {
        let DeviceHandle::MigDevice(_, _, ci) = part else {
            return Err(INVALID);
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(id, ci) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAttributes_v2(
    device: nvmlDevice_t,
    attributes: *mut nvmlDeviceAttributes_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetAttributes_v2", device, |gpu, part| {
        let DeviceHandle::MigDevice(_, gi, ci) = part else {
            return Err(NOT_SUPPORTED);
        };
        let (instance, slices) = find_mig_device(gpu, gi, ci)?;
        let all_slices = instance.slices();
        let configured = gpu.text("engines").unwrap_or("");
        let mut configured = configured.split_whitespace().map(number);
        let mut engine = |default: u32| {
            let count = configured
                .next()
                .flatten()
                .and_then(|it| u32::try_from(it).ok());
            count.unwrap_or(default)
        };
        let per_slice = gpu.number("sm_per_slice").unwrap_or(16);
        let answer = nvmlDeviceAttributes_t {
            multiprocessorCount: slices * u32::try_from(per_slice).map_err(|_| INVALID)?,
            sharedCopyEngineCount: engine(all_slices),
            sharedDecoderCount: engine(all_slices),
            sharedEncoderCount: engine(0),
            sharedJpegCount: engine(all_slices),
            sharedOfaCount: engine(0),
            gpuInstanceSliceCount: all_slices,
            computeInstanceSliceCount: slices,
            memorySizeMB: instance.profile.memory_mib.into(),
        };
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(attributes, answer) }
    })
}
