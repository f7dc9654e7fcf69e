//! The recorded series: one for each quantity that alerts and dashboards query, in base units and with the same labels
//! for every exporter.

/// A recorded series.
#[derive(Debug, PartialEq, Eq)]
pub struct Series {
    /// The name. The part before the first colon names the program that records it.
    pub name: &'static str,
    /// The meaning and the unit.
    pub help: &'static str,
    /// The labels in addition to `pool`.
    pub labels: &'static [&'static str],
}

/// Labels of series about full GPUs.
const GPU: &[&str] = &["node", "gpu", "UUID", "modelName"];

/// Labels of series about MIG devices, and about full GPUs without MIG.
const DEVICE: &[&str] = &[
    "node",
    "gpu",
    "UUID",
    "modelName",
    "GPU_I_ID",
    "GPU_I_PROFILE",
];

/// The pool of a node, to join with series that only have the node.
pub static NODE_POOL: Series = Series {
    name: "gpuc:node_pool",
    help: "1 for each node of the pool that has a scrape target of an exporter or of gpuc-runtime.",
    labels: &["node"],
};

/// GPU temperature.
pub static TEMPERATURE_CELSIUS: Series = Series {
    name: "gpuc:gpu_temperature_celsius",
    help: "The temperature of a GPU, in degrees Celsius.",
    labels: GPU,
};

/// GPU power draw.
pub static POWER_WATTS: Series = Series {
    name: "gpuc:gpu_power_watts",
    help: "The power draw of a GPU, in watts.",
    labels: GPU,
};

/// Energy consumption of a GPU.
pub static ENERGY_JOULES: Series = Series {
    name: "gpuc:gpu_energy_joules:total",
    help: "The energy consumption of a GPU since its node started, in joules; a counter.",
    labels: GPU,
};

/// SM clock of a GPU.
pub static CLOCK_HERTZ: Series = Series {
    name: "gpuc:gpu_sm_clock_hertz",
    help: "The SM clock frequency of a GPU, in hertz.",
    labels: GPU,
};

/// Utilization of a GPU or MIG device.
pub static UTILIZATION_RATIO: Series = Series {
    name: "gpuc:gpu_utilization_ratio",
    help: "The fraction of time that a GPU or MIG device is busy, from 0 to 1.",
    labels: DEVICE,
};

/// Used memory.
pub static MEMORY_USED_BYTES: Series = Series {
    name: "gpuc:gpu_memory_used_bytes",
    help: "The used memory of a GPU or MIG device, in bytes.",
    labels: DEVICE,
};

/// Used and free memory.
pub static MEMORY_BYTES: Series = Series {
    name: "gpuc:gpu_memory_bytes",
    help: "The memory of a GPU or MIG device that is available to programs, used and free, in bytes.",
    labels: DEVICE,
};

/// The holders of a GPU or MIG device.
pub static HOLDER: Series = Series {
    name: "gpuc:gpu_holder",
    help: "1 for each pod that holds a GPU, a replica of it or a MIG device.",
    labels: &["node", "UUID", "GPU_I_ID", "namespace", "pod"],
};

/// Capacity of a node for GPU resources.
pub static NODE_CAPACITY: Series = Series {
    name: "gpuc:node_gpus_capacity",
    help: "The capacity of a node for a GPU resource, healthy or not.",
    labels: &["node", "resource"],
};

/// Allocatable GPU resources of a node.
pub static NODE_ALLOCATABLE: Series = Series {
    name: "gpuc:node_gpus_allocatable",
    help: "The allocatable amount of a GPU resource on a node.",
    labels: &["node", "resource"],
};

/// GPU requests on a node.
pub static NODE_REQUESTED: Series = Series {
    name: "gpuc:node_gpus_requested",
    help: "The amount of a GPU resource that the pods of a namespace on a node request.",
    labels: &["node", "resource", "namespace"],
};

/// The series about resources that the kubelet counts.
pub static KUBELET_COUNTED: &[&Series] = &[&NODE_CAPACITY, &NODE_ALLOCATABLE, &NODE_REQUESTED];

/// Every recorded series, in recording order: later ones query earlier ones.
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
