//! The MIG devices of a GPU.

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError as WrapperError;
use nvml_wrapper::struct_wrappers::device::DeviceAttributes;

use super::raw;
use super::raw_mig::GpuInstanceHandle;
use crate::nvml::{Engines, MigDeviceInfo};

/// Reads the MIG devices, by index. Deleted instances leave gaps in the indexes.
pub(super) fn read_all(
    device: &Device<'_>,
    memory_bytes: Option<u64>,
) -> Result<Vec<MigDeviceInfo>, WrapperError> {
    let mut found = Vec::new();
    for (index, mig_device) in mig_device_handles(device)? {
        match read_one(device, &mig_device, index, memory_bytes) {
            Ok(mig_device) => found.push(mig_device),
            // Deleted during the read; an event signals it, and the GPU is read again.
            Err(WrapperError::NotFound | WrapperError::InvalidArg) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns the handles of the MIG devices.
pub(super) fn mig_device_handles<'n>(
    device: &Device<'n>,
) -> Result<Vec<(u32, Device<'n>)>, WrapperError> {
    let mut found = Vec::new();
    for index in 0..device.mig_device_count()? {
        match device.mig_device_by_index(index) {
            Ok(mig_device) => found.push((index, mig_device)),
            Err(WrapperError::NotFound | WrapperError::InvalidArg) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn read_one(
    gpu: &Device<'_>,
    mig_device: &Device<'_>,
    index: u32,
    memory_bytes: Option<u64>,
) -> Result<MigDeviceInfo, WrapperError> {
    let attributes = mig_device.attributes()?;
    let gi = raw::gpu_instance_id(mig_device)?;
    // Only a privileged process can query the GPU instance; the placement is optional.
    let placement = GpuInstanceHandle::find(gpu, gi).and_then(|instance| instance.info());
    Ok(MigDeviceInfo {
        index,
        uuid: mig_device.uuid()?,
        gi,
        ci: raw::compute_instance_id(mig_device)?,
        profile: parse_profile(&mig_device.name()?)
            .unwrap_or_else(|| derive_profile(&attributes, memory_bytes)),
        place: placement.ok().map(|info| info.placement),
        memory_mib: attributes.memory_size_mb,
        multiprocessors: attributes.multiprocessor_count,
        gi_slices: attributes.gpu_instance_slice_count,
        ci_slices: attributes.compute_instance_slice_count,
        engines: Engines {
            copy: attributes.shared_copy_engine_count,
            decoder: attributes.shared_decoder_count,
            encoder: attributes.shared_encoder_count,
            jpeg: attributes.shared_jpeg_count,
            ofa: attributes.shared_ofa_count,
        },
    })
}

/// Extracts the profile from NVML's name of a MIG device or profile: `NVIDIA H100 80GB HBM3 MIG 1g.10gb+me`.
pub(super) fn parse_profile(name: &str) -> Option<String> {
    let (_, profile) = name.rsplit_once("MIG ")?;
    profile.contains("g.").then(|| profile.trim().to_owned())
}

/// Derives the profile from the attributes of the device, which do not include media extensions.
fn derive_profile(attributes: &DeviceAttributes, memory_bytes: Option<u64>) -> String {
    let gi = attributes.gpu_instance_slice_count;
    let ci = attributes.compute_instance_slice_count;
    profile_name(gi, ci, attributes.memory_size_mb, memory_bytes)
}

/// Returns a profile's name by NVIDIA's algorithm (go-nvlib, `getMigMemorySizeInGB`, read 2026-11): the fraction of the
/// GPU memory in eighths, times the GPU memory in whole GiB.
pub(super) fn profile_name(
    gi_slices: u32,
    ci_slices: u32,
    memory_mib: u64,
    gpu_bytes: Option<u64>,
) -> String {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let device_bytes = memory_mib * MIB;
    let gigabytes = match gpu_bytes {
        Some(gpu_bytes) if gpu_bytes > 0 => {
            let eighths = (device_bytes * 8).div_ceil(gpu_bytes);
            // Rounds to the nearest integer; halves round up.
            (eighths * gpu_bytes.div_ceil(GIB) + 4) / 8
        }
        _ => device_bytes.div_ceil(GIB),
    };
    let compute = if ci_slices == gi_slices {
        String::new()
    } else {
        format!("{ci_slices}c.")
    };
    format!("{compute}{gi_slices}g.{gigabytes}gb")
}

#[cfg(test)]
mod tests {
    use gpuc_schema::gpu::Basis;

    use super::*;

    #[test]
    fn profiles_are_parsed_from_names() {
        for (name, profile) in [
            ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", Some("1g.5gb")),
            ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", Some("1g.10gb+me")),
            ("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", Some("1c.3g.20gb")),
            ("MIG 2g.48gb+me.all", Some("2g.48gb+me.all")),
            ("NVIDIA A100-SXM4-40GB", None),
        ] {
            assert_eq!(parse_profile(name).as_deref(), profile, "{name}");
        }
    }

    /// NVIDIA's names follow from the memory that GPUs report (gpuc's table of observed GPUs).
    #[test]
    fn profile_names_match_nvidia() {
        let mut compared = 0;
        for model in gpuc_schema::gpu::MODELS {
            let (Some(mig), Basis::Observed | Basis::General) = (model.mig, model.memory_basis)
            else {
                continue;
            };
            if mig.basis.memory != Basis::Observed {
                continue;
            }
            let gpu_bytes = u64::from(model.memory_mib) << 20;
            for profile in mig.profiles {
                let slices = u32::from(profile.compute_slices);
                let name = profile_name(slices, slices, profile.memory_mib.into(), Some(gpu_bytes));
                let plain = profile.name.split(['+', '-']).next().unwrap();
                assert_eq!(name, plain, "{}", model.key);
                compared += 1;
            }
        }
        assert!(
            compared > 20,
            "only {compared} profiles are known well enough"
        );
    }

    #[test]
    fn partial_instance_profiles_have_a_prefix() {
        let gpu_bytes = Some(40_960 << 20);
        assert_eq!(profile_name(3, 1, 19_968, gpu_bytes), "1c.3g.20gb");
    }
}
