//! The machine behind the fake driver: its GPUs and their responses.

use gpuc_schema::gpu::cuda::{self, CudaRelease};
use gpuc_schema::gpu::placement::Placement;
use gpuc_schema::gpu::{GpuArchitecture, GpuModel};

use super::description::Group;
use super::{links, mig_devices, nvml_error};
use crate::nvml::{
    Clique, Condition, DriverInfo, GpuInfo, Link, MigMode, NvmlError, NvmlErrorKind, RecoveryAction,
};

/// The PCI buses of the GPUs of an HGX board, as on many machines with H100s.
const BUSES: [u32; 8] = [0x19, 0x3B, 0x4C, 0x5D, 0x9B, 0xBB, 0xCB, 0xDB];

/// The UUIDs of monitored GPUs, by index.
type WatchedGpus = Vec<(u32, String)>;

/// A machine.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) driver: DriverInfo,
    pub(super) gpus: Vec<FakeGpu>,
    /// The name of the machine, from which UUIDs are derived.
    name: String,
}

/// A GPU in a machine.
#[derive(Debug)]
pub(super) struct FakeGpu {
    pub(super) model: &'static GpuModel,
    pub(super) info: GpuInfo,
    pub(super) condition: Condition,
    /// Why it does not respond.
    pub(super) error: Option<NvmlError>,
    /// Why it cannot be monitored.
    pub(super) watch_error: Option<NvmlError>,
    pub(super) double_bit_errors: u64,
    /// Number of samples taken.
    pub(super) samples: u64,
    /// Millijoules.
    pub(super) energy: u64,
    /// The seed of its UUIDs.
    seed: String,
}

impl Machine {
    pub(super) fn new(groups: &[Group], name: &str) -> Self {
        let mut fake_gpus = Vec::new();
        for group in groups {
            for _ in 0..group.count {
                let index = u32::try_from(fake_gpus.len()).unwrap_or(u32::MAX);
                fake_gpus.push(FakeGpu::new(group.model, index, name, group.mig.as_deref()));
            }
        }
        let models: Vec<_> = groups.iter().map(|group| group.model).collect();
        Self {
            driver: newest_common_driver(&models),
            gpus: fake_gpus,
            name: name.to_owned(),
        }
    }

    /// Replaces the GPUs. Faults of the old ones are cleared.
    pub(super) fn replace(&mut self, groups: &[Group]) {
        *self = Self::new(groups, &self.name);
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.gpus.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn gpu_mut(&mut self, index: u32) -> Option<&mut FakeGpu> {
        let index = usize::try_from(index).ok()?;
        self.gpus.get_mut(index)
    }

    /// Returns the GPU with this index, if it responds.
    pub(super) fn responding_gpu_mut(&mut self, index: u32) -> Result<&mut FakeGpu, NvmlError> {
        let Some(fake_gpu) = self.gpu_mut(index) else {
            let about = format!("GPU {index} does not exist");
            return Err(nvml_error(NvmlErrorKind::Other, &about));
        };
        match &fake_gpu.error {
            Some(error) => Err(error.clone()),
            None => Ok(fake_gpu),
        }
    }

    pub(super) fn link(&self, one: u32, other: u32) -> Link {
        let gpu_at = |index: u32| {
            let slot = usize::try_from(index).ok()?;
            Some((index, self.gpus.get(slot)?.model))
        };
        match (gpu_at(one), gpu_at(other)) {
            (Some(one), Some(other)) => links::link(one, other, self.count()),
            _ => Link::default(),
        }
    }

    /// Removes the GPU with this index. The GPUs after it get new indexes.
    pub(super) fn remove(&mut self, index: u32) {
        self.gpus.retain(|fake_gpu| fake_gpu.info.index != index);
        self.number_gpus();
    }

    /// Inserts a GPU of the same model as the first one at this index. The GPUs after it get new indexes.
    pub(super) fn insert(&mut self, index: u32, seed: &str) {
        let Some(model) = self.gpus.first().map(|fake_gpu| fake_gpu.model) else {
            return;
        };
        let fake_gpu = FakeGpu::new(model, index, &format!("{} {seed}", self.name), None);
        let slot = usize::try_from(index)
            .unwrap_or(usize::MAX)
            .min(self.gpus.len());
        self.gpus.insert(slot, fake_gpu);
        self.number_gpus();
    }

    fn number_gpus(&mut self) {
        for (index, fake_gpu) in (0..).zip(&mut self.gpus) {
            fake_gpu.info.index = index;
        }
    }

    /// Subscribes to the events of all GPUs. Returns the UUIDs of the monitored ones and the errors of the others, by
    /// index.
    pub(super) fn subscribe(&self) -> (WatchedGpus, Vec<(u32, NvmlError)>) {
        let (mut watched, mut unwatched) = (Vec::new(), Vec::new());
        for fake_gpu in &self.gpus {
            let index = fake_gpu.info.index;
            match fake_gpu.error.as_ref().or(fake_gpu.watch_error.as_ref()) {
                Some(error) => unwatched.push((index, error.clone())),
                None => watched.push((index, fake_gpu.info.uuid.clone())),
            }
        }
        (watched, unwatched)
    }

    /// Returns the UUID of the GPU with this index.
    pub(super) fn uuid(&self, index: u32) -> Option<&str> {
        let index = usize::try_from(index).ok()?;
        Some(&self.gpus.get(index)?.info.uuid)
    }
}

impl FakeGpu {
    fn new(model: &'static GpuModel, index: u32, machine: &str, mig: Option<&[Placement]>) -> Self {
        let seed = format!("{machine} {} {index}", model.key);
        let version = model.compute_capability;
        let in_rack = ["gb200", "gb300"]
            .iter()
            .any(|word| model.key.starts_with(word));
        let bus = BUSES[usize::try_from(index % 8).unwrap_or_default()];
        let mut fake_gpu = Self {
            model,
            info: GpuInfo {
                index,
                uuid: derive_uuid("GPU", &seed),
                minor: index,
                name: driver_name(model),
                pci_bus_id: format!("{:08X}:{bus:02X}:00.0", index / 8),
                // A GPU whose PCI ID gpuc's tables do not have reports its vendor only.
                pci_id: model.pci_ids.first().copied().unwrap_or(0x10DE),
                memory_bytes: Some(u64::from(model.memory_mib) << 20),
                compute_capability: (version.major.into(), version.minor.into()),
                mig: model.mig.map(|_| MigMode {
                    enabled: false,
                    pending: false,
                }),
                slices: Vec::new(),
                clique: in_rack.then(|| Clique {
                    cluster: derive_uuid("", "rack").trim_start_matches('-').to_owned(),
                    id: 1,
                }),
            },
            condition: Condition {
                action: Some(RecoveryAction::Nothing),
                remap_failed: false,
            },
            error: None,
            watch_error: None,
            double_bit_errors: 0,
            samples: 0,
            energy: 0,
            seed,
        };
        fake_gpu.partition(mig);
        fake_gpu
    }

    /// Partitions the GPU, or disables MIG mode. A GPU without MIG support is not changed.
    pub(super) fn partition(&mut self, layout: Option<&[Placement]>) {
        let Some(mode) = &mut self.info.mig else {
            return;
        };
        *mode = MigMode {
            enabled: layout.is_some(),
            pending: layout.is_some(),
        };
        self.info.slices =
            mig_devices::mig_devices(self.model, layout.unwrap_or_default(), &self.seed);
    }
}

/// Returns the newest driver that supports all of the GPUs, with its CUDA version.
fn newest_common_driver(models: &[&GpuModel]) -> DriverInfo {
    let drives = |release: &&CudaRelease| {
        models.iter().all(|model| {
            let last = model.max_driver_branch.unwrap_or(u16::MAX);
            (model.min_driver_branch..=last).contains(&release.driver.branch)
                && cuda::supports(release.major, model.architecture)
        })
    };
    let newest = cuda::RELEASES.first();
    let release = cuda::RELEASES.iter().find(drives).or(newest);
    release.map_or_else(
        || unreachable!("the table of CUDA releases has rows"),
        |release| DriverInfo {
            version: release.driver.to_string(),
            cuda: (release.major.into(), release.minor.into()),
        },
    )
}

/// Returns the driver's name of a GPU model, derived from the product: up to Ampere, the form factor follows a hyphen
/// (`Tesla V100-SXM2-16GB`, `NVIDIA A100-PCIE-40GB`); later names have only spaces (`NVIDIA H100 80GB HBM3`).
fn driver_name(model: &GpuModel) -> String {
    let product = model.products.first().copied().unwrap_or(model.key);
    let with_hyphens = model.architecture <= GpuArchitecture::Ampere
        && ["-SXM", "-PCIE-"].iter().any(|form| product.contains(form));
    if with_hyphens {
        product.replacen('-', " ", 1)
    } else {
        product.replace('-', " ")
    }
}

/// Derives a UUID from a string deterministically (FNV-1a, twice).
pub(super) fn derive_uuid(kind: &str, seed: &str) -> String {
    let hash = |start: u64| {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        kind.bytes().chain(seed.bytes()).fold(start, step)
    };
    let digits = format!(
        "{:016x}{:016x}",
        hash(0xcbf2_9ce4_8422_2325),
        hash(0x8422_2325_cbf2_9ce4)
    );
    let (one, two, three) = (&digits[..8], &digits[8..12], &digits[12..16]);
    format!(
        "{kind}-{one}-{two}-{three}-{}-{}",
        &digits[16..20],
        &digits[20..]
    )
}
