//! The runtime as a whole, held against a simulated driver and a simulated kubelet.

#[path = "../support/fake_driver.rs"]
mod fake_driver;
mod nvml;
