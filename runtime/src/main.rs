//! The program `gpuc-runtime`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use gpuc_runtime::config;

/// Reads the configuration named by `--config=FILE`, says what is wrong with it, and ends: the daemon is not there yet.
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.find_map(|word| word.strip_prefix("--config=").map(str::to_owned));
    let message = match file.map(|file| (config::load(Path::new(&file)), file)) {
        None => "usage: gpuc-runtime serve --config=FILE".to_owned(),
        Some((Err(error), file)) => format!("{file} {error}"),
        Some((Ok(config), _)) => format!(
            "the configuration of pool {} is in order; this version does not serve it yet",
            config.pool
        ),
    };
    // Nobody listening is no reason to fail in another way.
    let _ = writeln!(std::io::stderr(), "gpuc-runtime: {message}");
    ExitCode::FAILURE
}
