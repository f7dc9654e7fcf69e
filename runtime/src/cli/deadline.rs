//! Time limits for the driver calls of commands. A call that does not return keeps its thread, which ends with the
//! process.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gpuc_runtime::nvml::guard::{CallGuard, GuardedDriver, Subject};
use gpuc_runtime::nvml::{Nvml, NvmlError};

/// Interval of the checks for overdue calls.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Runs a sequence of driver calls on another thread. Returns an error if it does not end within `limit`; `what` is its
/// subject in the message.
pub(super) fn run_within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    calls: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new()
        .spawn(move || sender.send(calls()))
        .context("cannot start a thread")?;
    match receiver.recv_timeout(limit) {
        Ok(result) => Ok(result),
        Err(RecvTimeoutError::Timeout) => {
            bail!("{what}: the driver has not answered within {limit:?}")
        }
        // The message of the panic is on standard error.
        Err(RecvTimeoutError::Disconnected) => bail!("{what}: a bug in gpuc-runtime"),
    }
}

/// Queries the driver about several GPUs. If a call about one of them does not return within `limit`, starts
/// again: in the next attempt, calls about that GPU fail at once.
pub(super) fn query<T: Send + 'static>(
    driver: &Arc<dyn Nvml>,
    limit: Duration,
    calls: impl Fn(&dyn Nvml) -> Result<T, NvmlError> + Clone + Send + 'static,
) -> Result<T> {
    let guard = CallGuard::new(limit, |_| {});
    loop {
        let driver = GuardedDriver::new(Arc::clone(driver), guard.start_job());
        let (sender, receiver) = mpsc::channel();
        let calls = calls.clone();
        thread::Builder::new()
            .spawn(move || sender.send(calls(&driver)))
            .context("cannot start a thread")?;
        loop {
            match receiver.recv_timeout(CHECK_INTERVAL) {
                Ok(result) => return Ok(result?),
                Err(RecvTimeoutError::Disconnected) => bail!("a bug in gpuc-runtime"),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let overdue = guard.take_overdue();
            if let Some(call) = overdue.iter().find(|call| call.subject == Subject::Driver) {
                bail!("{}", call.error);
            }
            if !overdue.is_empty() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuc_runtime::nvml::fake::Fake;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(200);

    #[test]
    fn call_that_hangs_ends_with_an_error() {
        assert_eq!(run_within(LIMIT, "GPU 3", || 7).unwrap(), 7);
        let (_sender, receiver) = mpsc::channel::<()>();
        let error = run_within(LIMIT, "GPU 3", move || receiver.recv()).unwrap_err();
        let message = "GPU 3: the driver has not answered within 200ms";
        assert_eq!(error.to_string(), message);
    }

    /// GPUs that hang do not prevent the answers of the others.
    #[test]
    fn gpus_that_hang_are_errors() {
        let fake = Fake::from_description("h100x4").expect("a machine");
        let control = fake.control();
        control.hang("gpu", Some(1));
        control.hang("condition", Some(2));
        let driver: Arc<dyn Nvml> = Arc::new(fake);
        let answers = query(&driver, LIMIT, |driver| {
            let answers =
                (0..4).map(|gpu| (driver.gpu(gpu).is_ok(), driver.condition(gpu).is_ok()));
            Ok(answers.collect::<Vec<_>>())
        });
        // A GPU with a call that hangs is not called again.
        let expected = [(true, true), (false, false), (false, false), (true, true)];
        assert_eq!(answers.unwrap(), expected);
        control.hang("driver", None);
        let error = query(&driver, LIMIT, |driver| driver.driver()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("driver: the driver has not answered"),
            "{error}"
        );
        control.release();
    }
}
