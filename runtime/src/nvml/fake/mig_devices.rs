//! The MIG devices of a partitioned GPU.

use gpuc_schema::gpu::placement::Placement;
use gpuc_schema::gpu::{GpuArchitecture, GpuModel, MigProfile};

use super::machine::derive_uuid;
use crate::nvml::{Engines, MigDeviceInfo};

/// Returns the MIG devices at these placements: one compute instance in each GPU instance, in order of placement.
pub(super) fn mig_devices(
    model: &GpuModel,
    layout: &[Placement],
    seed: &str,
) -> Vec<MigDeviceInfo> {
    let Some(mig) = model.mig else {
        return Vec::new();
    };
    let mut mig_devices: Vec<MigDeviceInfo> = Vec::new();
    for placement in layout {
        let Some(profile) = mig.profile(placement.profile) else {
            continue;
        };
        let gi = instance_id(mig.compute_slices, profile.compute_slices, &mig_devices);
        let index = u32::try_from(mig_devices.len()).unwrap_or(u32::MAX);
        let compute = u32::from(profile.compute_slices);
        mig_devices.push(MigDeviceInfo {
            index,
            uuid: derive_uuid(
                "MIG",
                &format!("{seed} {gi} {} {}", placement.profile, placement.start),
            ),
            gi,
            ci: 0,
            profile: placement.profile.to_owned(),
            place: Some((placement.start.into(), placement.size.into())),
            memory_mib: profile.memory_mib.into(),
            multiprocessors: compute * multiprocessors_per_slice(model),
            gi_slices: compute,
            ci_slices: compute,
            engines: engines(model, profile),
        });
    }
    mig_devices
}

/// Returns the ID of the next GPU instance: halves of a GPU from 1, quarters from 3 and eighths from 7 on,
/// after the examples in NVIDIA's MIG User Guide (r580). Nothing depends on the number.
fn instance_id(gpu_slices: u8, profile: u8, taken: &[MigDeviceInfo]) -> u32 {
    let parts = gpu_slices.next_power_of_two() / profile.max(1).next_power_of_two();
    let first = u32::from(parts.saturating_sub(1));
    let free = |id: &u32| taken.iter().all(|mig_device| mig_device.gi != *id);
    let last = first + u32::try_from(taken.len()).unwrap_or_default();
    (first..=last).find(free).unwrap_or(last)
}

/// Returns the multiprocessors of a compute slice: 14 on the A100, 16 on the H100 (MIG User Guide r580). Newer GPUs and
/// the largest instances of an H100 have more; nothing depends on the number.
fn multiprocessors_per_slice(model: &GpuModel) -> u32 {
    if model.architecture <= GpuArchitecture::Ampere {
        14
    } else {
        16
    }
}

/// Returns the engines as `nvidia-smi mig -lgip` prints them for A100 and H100 (MIG User Guide r580): from Hopper on,
/// they scale with the slices; before, most belong to the large instances and the media extensions.
fn engines(model: &GpuModel, profile: &MigProfile) -> Engines {
    let compute = u32::from(profile.compute_slices);
    let is_full_gpu = model
        .mig
        .is_some_and(|mig| mig.compute_slices == profile.compute_slices);
    let media = u32::from(is_full_gpu || profile.media_extensions);
    if model.architecture > GpuArchitecture::Ampere {
        return Engines {
            copy: compute,
            decoder: compute,
            encoder: 0,
            jpeg: compute,
            ofa: media,
        };
    }
    let decoder = match compute {
        0 | 1 => media,
        2 => 1,
        3 | 4 => 2,
        _ => 5,
    };
    Engines {
        copy: compute,
        decoder,
        encoder: 0,
        jpeg: media,
        ofa: media,
    }
}
