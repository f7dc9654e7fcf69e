//! The GPUs of a node and their partitions.

use gpuc_model::{Pool, PoolGpus, Sharing};

/// The GPUs of a node.
#[derive(Clone, Debug, Default)]
pub struct Cards {
    /// The number of GPUs.
    pub per_node: u32,
    /// The GPU model.
    pub model: String,
    /// The memory of a full GPU, in GB.
    pub memory_gb: u32,
    /// The fraction of a full GPU, from 0 to 1.
    pub part: f64,
    /// Runs of equally partitioned GPUs.
    pub runs: Vec<Card>,
}

/// A run of equally partitioned GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The index of the first GPU on the node.
    pub first: u32,
    /// The number of GPUs.
    pub count: u32,
    /// The partitions of each GPU.
    pub cut: Cut,
}

/// The partitions of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Not partitioned.
    Whole,
    /// Time-slicing with this number of replicas.
    Turns(u32),
    /// MPS with this number of replicas.
    Shares(u32),
    /// MIG devices.
    Slices {
        /// The number of memory slices of the GPU.
        of: u8,
        /// The MIG devices.
        slices: Vec<Slice>,
    },
}

/// A MIG device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The profile's name.
    pub profile: String,
    /// The first memory slice.
    pub start: u8,
    /// The number of memory slices.
    pub size: u8,
    /// A description of its size.
    pub words: String,
}

impl Cards {
    /// The GPUs of a pool's node.
    pub(super) fn of(pool: &Pool, gpus: &PoolGpus) -> Self {
        let part = gpus.fraction.map_or(1.0, |part| match part.denominator {
            // The cloud does not document the fraction.
            0 => 0.5,
            all => f64::from(part.numerator) / f64::from(all),
        });
        Self {
            per_node: gpus.per_node,
            model: gpus.model.key.to_owned(),
            memory_gb: gpus.model.memory_gb,
            part,
            runs: runs(pool, gpus),
        }
    }
}

fn runs(pool: &Pool, gpus: &PoolGpus) -> Vec<Card> {
    let all = |cut| {
        vec![Card {
            first: 0,
            count: gpus.per_node,
            cut,
        }]
    };
    let (cut, mig) = match (pool.sharing.get(), gpus.model.mig) {
        (Some(Sharing::TimeSlicing { replicas, .. }), _) => return all(Cut::Turns(replicas.value)),
        (Some(Sharing::Mps { replicas, .. }), _) => return all(Cut::Shares(replicas.value)),
        (Some(Sharing::Mig { gpus, .. }), Some(mig)) => (gpus, mig),
        _ => return all(Cut::Whole),
    };
    let slice = |at: &gpuc_schema::gpu::placement::Placement| {
        let compute = mig.profile(at.profile).map_or(0, |it| it.compute_slices);
        Slice {
            profile: at.profile.to_owned(),
            start: at.start,
            size: at.size,
            words: format!(
                "{}: {} of {} memory slices, {compute} of {} compute slices",
                at.profile, at.size, mig.memory_slices, mig.compute_slices
            ),
        }
    };
    let alike = cut.chunk_by(|one, other| one.slices == other.slices);
    let run = |run: &[gpuc_model::MigGpu]| Card {
        first: run[0].index,
        count: u32::try_from(run.len()).unwrap_or(u32::MAX),
        cut: match run[0].slices.as_slice() {
            [] => Cut::Whole,
            slices => Cut::Slices {
                of: mig.memory_slices,
                slices: slices.iter().map(slice).collect(),
            },
        },
    };
    alike.map(run).collect()
}
