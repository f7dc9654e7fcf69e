//! What the daemon writes where others read it.

pub mod cdi_file;
