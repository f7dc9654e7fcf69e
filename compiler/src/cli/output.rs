//! Data goes to standard output, talk to standard error.

use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};

use super::args::FindingsFormat;

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

/// Prints lines about files: as data, unless findings in a format for programs have standard output for themselves.
pub(crate) fn listing(format: FindingsFormat, text: &str) -> Result<()> {
    if format == FindingsFormat::Text {
        return data(text);
    }
    say(text.trim_end());
    Ok(())
}

/// Says something. Nobody listening is not an error.
pub(crate) fn say(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{text}");
}
