//! The health of GPUs, tested without a clock and without a driver.

mod faults;
mod node;
mod recovery;
mod sequences;
