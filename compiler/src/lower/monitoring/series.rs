//! What rules record: one series for each thing that alerts and dashboards look at, in base units and with the same
//! labels whatever measures it.

/// A recorded series.
#[derive(Debug, PartialEq, Eq)]
pub struct Series {
    /// Its name. What is before the first colon says who records it.
    pub name: &'static str,
    /// What it says, and in which unit.
    pub help: &'static str,
    /// Its labels beside `pool`.
    pub labels: &'static [&'static str],
}

/// Labels of what is told of a whole GPU.
const GPU: &[&str] = &["node", "gpu", "UUID", "modelName"];

/// Labels of what is told of each MIG slice, and of a whole GPU without.
const SLICE: &[&str] = &[
    "node",
    "gpu",
    "UUID",
    "modelName",
    "GPU_I_ID",
    "GPU_I_PROFILE",
];

/// Which pool a node is in, for what only knows the node.
pub static NODE_POOL: Series = Series {
    name: "gpuc:node_pool",
    help: "1 for each node of the pool that has a target of an exporter or of gpuc-runtime.",
    labels: &["node"],
};

/// How hot a GPU is.
pub static TEMPERATURE_CELSIUS: Series = Series {
    name: "gpuc:gpu_temperature_celsius",
    help: "The temperature of a GPU, in degrees Celsius.",
    labels: GPU,
};

/// What a GPU draws.
pub static POWER_WATTS: Series = Series {
    name: "gpuc:gpu_power_watts",
    help: "What a GPU draws, in watts.",
    labels: GPU,
};

/// What a GPU has drawn.
pub static ENERGY_JOULES: Series = Series {
    name: "gpuc:gpu_energy_joules:total",
    help: "What a GPU has drawn since its node started, in joules; a counter.",
    labels: GPU,
};

/// How fast a GPU's processors run.
pub static CLOCK_HERTZ: Series = Series {
    name: "gpuc:gpu_sm_clock_hertz",
    help: "The clock of a GPU's processors, in hertz.",
    labels: GPU,
};

/// How much of the time a GPU or slice is busy.
pub static UTILIZATION_RATIO: Series = Series {
    name: "gpuc:gpu_utilization_ratio",
    help: "The part of the time that a GPU or slice is busy, from 0 to 1.",
    labels: SLICE,
};

/// Memory in use.
pub static MEMORY_USED_BYTES: Series = Series {
    name: "gpuc:gpu_memory_used_bytes",
    help: "The memory of a GPU or slice that is in use, in bytes.",
    labels: SLICE,
};

/// Memory in use or free.
pub static MEMORY_BYTES: Series = Series {
    name: "gpuc:gpu_memory_bytes",
    help: "The memory of a GPU or slice that programs can have, used and free, in bytes.",
    labels: SLICE,
};

/// Who holds a GPU or slice.
pub static HOLDER: Series = Series {
    name: "gpuc:gpu_holder",
    help: "1 for each pod that holds a GPU, a share of it or a slice.",
    labels: &["node", "UUID", "GPU_I_ID", "namespace", "pod"],
};

/// What a node has of GPU resources.
pub static NODE_CAPACITY: Series = Series {
    name: "gpuc:node_gpus_capacity",
    help: "How many of a GPU resource a node has, well or not.",
    labels: &["node", "resource"],
};

/// What a node offers of GPU resources.
pub static NODE_ALLOCATABLE: Series = Series {
    name: "gpuc:node_gpus_allocatable",
    help: "How many of a GPU resource a node offers to pods.",
    labels: &["node", "resource"],
};

/// What pods ask for on a node.
pub static NODE_REQUESTED: Series = Series {
    name: "gpuc:node_gpus_requested",
    help: "How many of a GPU resource the pods of a namespace on a node ask for.",
    labels: &["node", "resource", "namespace"],
};

/// Those of resources that Kubernetes counts.
pub static COUNTED: &[&Series] = &[&NODE_CAPACITY, &NODE_ALLOCATABLE, &NODE_REQUESTED];

/// Every recorded series, in the order that they are recorded in: later ones read earlier ones.
pub static SERIES: &[&Series] = &[
    &NODE_POOL,
    &TEMPERATURE_CELSIUS,
    &POWER_WATTS,
    &ENERGY_JOULES,
    &CLOCK_HERTZ,
    &UTILIZATION_RATIO,
    &MEMORY_USED_BYTES,
    &MEMORY_BYTES,
    &HOLDER,
    &NODE_CAPACITY,
    &NODE_ALLOCATABLE,
    &NODE_REQUESTED,
];
