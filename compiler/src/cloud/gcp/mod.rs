//! Google Kubernetes Engine: its machines, the GPUs that can be attached to them, and its names.

pub mod attach;
pub mod cpu;
pub mod machines;
pub mod names;
pub mod partitions;
pub mod zones;
