//! The clouds: what each one offers, and by what names.

pub mod aws;
pub mod azure;
pub mod cpu;
pub mod gcp;
pub mod machine;
