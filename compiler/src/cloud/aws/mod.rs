//! Amazon EKS: its machines and its names.

pub mod cpu;
pub mod machines;
pub mod names;
