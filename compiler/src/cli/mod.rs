//! The commands, and the only part of gpuc that reads and writes.

pub(crate) mod write;
