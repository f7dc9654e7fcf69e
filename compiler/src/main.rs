//! The program `gpuc`: arguments in, an exit code out.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the program, not the library, accesses files, clocks and the environment"
)]

mod cli;

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Generating a tree allocates many short strings: this allocator saves a quarter of the CPU time of a build.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
