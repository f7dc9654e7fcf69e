//! Output: data goes to standard output, messages go to standard error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::args::FindingsFormat;

/// Prints data. A closed pipe is not an error.
pub(crate) fn print_data(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

/// Prints lines about files: to standard output, unless that contains only findings in a format for programs.
pub(crate) fn print_listing(format: FindingsFormat, text: &str) -> Result<()> {
    if format == FindingsFormat::Text {
        return print_data(text);
    }
    print_message(text.trim_end());
    Ok(())
}

/// Prints a message. Write errors are ignored.
pub(crate) fn print_message(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{text}");
}

/// A progress line on a terminal.
pub(crate) struct ProgressLine {
    label: &'static str,
    count: AtomicUsize,
    start: Instant,
    is_visible: bool,
}

impl ProgressLine {
    /// Creates the line.
    pub(crate) fn new(label: &'static str) -> Self {
        Self {
            label,
            count: AtomicUsize::new(0),
            start: Instant::now(),
            is_visible: std::io::stderr().is_terminal(),
        }
    }

    /// Counts one more item. The line is shown only after 800 milliseconds.
    pub(crate) fn tick(&self) {
        const DELAY: Duration = Duration::from_millis(800);
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if self.is_visible && self.start.elapsed() >= DELAY {
            let mut stderr = anstream::stderr().lock();
            let _ = write!(stderr, "\r{}: {count}", self.label);
            let _ = stderr.flush();
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_visible {
            // Erases the line (ECMA-48, EL).
            let _ = write!(anstream::stderr().lock(), "\r\x1b[2K");
        }
    }
}
