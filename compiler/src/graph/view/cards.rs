//! The GPUs of a node, and into what each is cut.

use crate::model::{Pool, PoolGpus, Sharing};

/// The GPUs of a node.
#[derive(Clone, Debug, Default)]
pub struct Cards {
    /// How many there are.
    pub per_node: u32,
    /// The card's name.
    pub model: String,
    /// The memory of a whole card, in GB.
    pub memory_gb: u32,
    /// The part of a card that each is, from 0 to 1.
    pub part: f64,
    /// Runs of GPUs that are alike.
    pub runs: Vec<Card>,
}

/// GPUs that are cut alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The index of the first on the node.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Into what each is cut.
    pub cut: Cut,
}

/// Into what a GPU is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It is whole.
    Whole,
    /// So many containers take turns.
    Turns(u32),
    /// So many containers run beside each other.
    Shares(u32),
    /// Slices of its memory.
    Slices {
        /// How many slices of memory the card has.
        of: u8,
        /// The slices.
        slices: Vec<Slice>,
    },
}

/// A slice of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The profile's name.
    pub profile: String,
    /// The first slice of memory.
    pub start: u8,
    /// How many slices of memory.
    pub size: u8,
    /// What it is of the card, in words.
    pub words: String,
}

impl Cards {
    /// The GPUs of a pool's node.
    pub(super) fn of(pool: &Pool, gpus: &PoolGpus) -> Self {
        let part = gpus.fraction.map_or(1.0, |part| match part.denominator {
            // The cloud has not said how much.
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
                "{}: {} of {} parts of the card's memory, {compute} of {} of its compute",
                at.profile, at.size, mig.memory_slices, mig.compute_slices
            ),
        }
    };
    let alike = cut.chunk_by(|one, other| one.slices == other.slices);
    let run = |run: &[crate::model::MigGpu]| Card {
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
