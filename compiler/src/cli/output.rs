//! Data goes to standard output, talk to standard error.

use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};

/// Prints data. A reader that has seen enough and closed the pipe is not an error.
pub(crate) fn data(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("writing to standard output"),
    }
}

/// Says something. Nobody listening is not an error.
pub(crate) fn say(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{text}");
}
