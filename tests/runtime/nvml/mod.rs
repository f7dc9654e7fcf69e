//! The daemon's calls of the driver through dlopen, with a fake libnvidia-ml whose machine a file describes.

mod events;
mod gpus;
mod links;
mod mig;
mod open;
mod samples;

/// The machine of most tests.
const H100: &str = "gpus = 8\ngpu.model = h100-sxm5-80gb\n";
