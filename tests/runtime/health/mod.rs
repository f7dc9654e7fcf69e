//! Which GPUs are well: everything that can happen to them, without a clock and without a driver.

mod faults;
mod node;
mod recovery;
mod sequences;
