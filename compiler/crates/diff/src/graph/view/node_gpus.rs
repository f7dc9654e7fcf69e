//! The GPUs of a node and their partitions.

use gpuc_model::{Pool, PoolGpus, Sharing};

/// The GPUs of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeGpus {
    /// The number of GPUs.
    pub per_node: u32,
    /// The GPU model.
    pub model: String,
    /// The memory of a full GPU, in GB.
    pub memory_gb: u32,
    /// The fraction of a full GPU, from 0 to 1.
    pub fraction: f64,
    /// Runs of equally partitioned GPUs.
    pub runs: Vec<GpuRun>,
}

/// A run of equally partitioned GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuRun {
    /// The index of the first GPU on the node.
    pub first: u32,
    /// The number of GPUs.
    pub count: u32,
    /// The partitions of each GPU.
    pub partitioning: Partitioning,
}

/// The partitions of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitioning {
    /// Not partitioned.
    Unpartitioned,
    /// Time-slicing with this number of replicas.
    TimeSlicing(u32),
    /// MPS with this number of replicas.
    Mps(u32),
    /// MIG devices.
    Mig {
        /// The number of memory slices of the GPU.
        memory_slices: u8,
        /// The MIG devices.
        devices: Vec<MigDevice>,
    },
}

/// A MIG device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigDevice {
    /// The profile's name.
    pub profile: String,
    /// The first memory slice.
    pub start: u8,
    /// The number of memory slices.
    pub size: u8,
    /// A description of its size.
    pub description: String,
}

impl NodeGpus {
    /// The GPUs of a pool's node.
    pub(super) fn for_pool(pool: &Pool, gpus: &PoolGpus) -> Self {
        let fraction = gpus
            .fraction
            .map_or(1.0, |fraction| match fraction.denominator {
                // The cloud does not document the fraction.
                0 => 0.5,
                all => f64::from(fraction.numerator) / f64::from(all),
            });
        Self {
            per_node: gpus.per_node,
            model: gpus.model.key.to_owned(),
            memory_gb: gpus.model.memory_gb,
            fraction,
            runs: gpu_runs(pool, gpus),
        }
    }
}

fn gpu_runs(pool: &Pool, gpus: &PoolGpus) -> Vec<GpuRun> {
    let all = |partitioning| {
        vec![GpuRun {
            first: 0,
            count: gpus.per_node,
            partitioning,
        }]
    };
    let (mig_gpus, mig) = match (pool.sharing.get(), gpus.model.mig) {
        (Some(Sharing::TimeSlicing { replicas, .. }), _) => {
            return all(Partitioning::TimeSlicing(replicas.value));
        }
        (Some(Sharing::Mps { replicas, .. }), _) => return all(Partitioning::Mps(replicas.value)),
        (Some(Sharing::Mig { gpus, .. }), Some(mig)) => (gpus, mig),
        _ => return all(Partitioning::Unpartitioned),
    };
    let mig_device = |at: &gpuc_schema::gpu::placement::Placement| {
        let compute = mig.profile(at.profile).map_or(0, |it| it.compute_slices);
        MigDevice {
            profile: at.profile.to_owned(),
            start: at.start,
            size: at.size,
            description: format!(
                "{}: {} of {} memory slices, {compute} of {} compute slices",
                at.profile, at.size, mig.memory_slices, mig.compute_slices
            ),
        }
    };
    let runs = mig_gpus.chunk_by(|one, other| one.placements == other.placements);
    let run = |run: &[gpuc_model::MigGpu]| GpuRun {
        first: run[0].index,
        count: u32::try_from(run.len()).unwrap_or(u32::MAX),
        partitioning: match run[0].placements.as_slice() {
            [] => Partitioning::Unpartitioned,
            slices => Partitioning::Mig {
                memory_slices: mig.memory_slices,
                devices: slices.iter().map(mig_device).collect(),
            },
        },
    };
    runs.map(run).collect()
}
