//! The program `gpuc`: arguments in, an exit code out.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "files, clocks and the environment are the program's business, not the library's"
)]

mod cli;

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Printing a tree is mostly making short texts: this takes a quarter off the processor time of a build.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
