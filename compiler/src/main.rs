//! The program `gpuc`: arguments in, an exit code out.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "files, clocks and the environment are the program's business, not the library's"
)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
