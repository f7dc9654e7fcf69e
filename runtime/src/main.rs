//! The program `gpuc-runtime`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
