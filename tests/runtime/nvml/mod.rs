//! The daemon's way to the driver, dlopen and all: through a libnvidia-ml that is a file's word for a machine.

mod events;
mod gpus;
mod links;
mod mig;
mod open;
mod samples;

/// A machine that most tests are content with.
const H100: &str = "gpus = 8\ngpu.model = h100-sxm5-80gb\n";
