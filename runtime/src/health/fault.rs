//! The health record of one GPU or MIG device: current fault, cause, time, and recurrences.

use super::policy::{DAY, Policy};

/// Maximum interval between queries of an unhealthy GPU: ten minutes in milliseconds.
const LONGEST_RETRY: u64 = 10 * 60 * 1000;

/// Interval between queries of a GPU that is not responding, if the policy sets none: one minute.
const RETRY: u64 = 60 * 1000;

/// The record of a GPU or MIG device with a current or past fault. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    /// The UUID of the GPU, or of the GPU that the MIG device is on.
    pub(super) gpu: String,
    /// The GPU's index; `None` while the inventory does not contain the device.
    pub(super) index: Option<u32>,
    /// The current fault.
    pub(super) fault: Option<Fault>,
    /// Number of recurrences within a day.
    recurrences: u32,
    /// Time of the last recovery.
    recovered: Option<u64>,
}

/// A fault of a device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    /// The cause.
    cause: String,
    /// The recovery that the driver requests.
    pub(super) word: Option<String>,
    /// Why the device does not respond, while it does not.
    pub(super) silence: Option<String>,
    /// Whether recovery needs the confirmation of the driver.
    strict: bool,
    /// Time of the last error.
    last: u64,
    /// Earliest time of the next query, after a query that did not clear the fault.
    retry: u64,
}

impl Record {
    pub(super) fn new(gpu: &str, index: u32) -> Self {
        Self {
            gpu: gpu.to_owned(),
            index: Some(index),
            fault: None,
            recurrences: 0,
            recovered: None,
        }
    }

    /// Records an error. Returns whether the device was healthy before. Of several causes, the most severe is kept.
    pub(super) fn record_error(&mut self, cause: &str, strict: bool, now: u64) -> bool {
        let fell = self.fault.is_none();
        let fault = self.fall(now);
        if fell || strict >= fault.strict {
            cause.clone_into(&mut fault.cause);
        }
        fault.strict |= strict;
        fault.last = now;
        fell
    }

    /// Records that the device does not respond. Returns whether the device was healthy before.
    pub(super) fn silence(&mut self, why: &str, now: u64) -> bool {
        let fell = self.fault.is_none();
        let fault = self.fall(now);
        if fault.silence.is_none() {
            fault.retry = now;
        }
        fault.silence = Some(why.to_owned());
        fell
    }

    /// Records that the device responds again, which does not clear its fault yet. Returns whether it was unresponsive.
    pub(super) fn record_response(&mut self, now: u64) -> bool {
        let Some(fault) = &mut self.fault else {
            return false;
        };
        let silent = fault.silence.take().is_some();
        if silent {
            fault.last = now;
            fault.retry = now;
        }
        silent
    }

    /// Records a good response. `word` is whether the driver confirms that no action is pending. Errors up to the time
    /// `asked` are covered by the response. Returns whether the device recovered now.
    pub(super) fn record_recovery(
        &mut self,
        policy: &Policy,
        word: bool,
        asked: u64,
        now: u64,
    ) -> bool {
        let ready = self.ready(policy);
        let Some(fault) = &mut self.fault else {
            return false;
        };
        if fault.silence.is_some() {
            return false;
        }
        fault.word = None;
        let Some(ready) = ready else {
            return false;
        };
        if fault.strict && !word {
            let unsaid = "the driver has not confirmed the recovery";
            fault.word = Some(unsaid.to_owned());
        } else if ready <= asked {
            self.fault = None;
            self.recovered = Some(now);
            return true;
        }
        self.postpone(policy, now);
        false
    }

    /// Postpones the next query after a response that did not clear the fault.
    pub(super) fn postpone(&mut self, policy: &Policy, now: u64) {
        let wait = policy.wait(self.recurrences).unwrap_or(RETRY);
        if let Some(fault) = &mut self.fault {
            fault.retry = now.saturating_add(wait.clamp(1_000, LONGEST_RETRY));
        }
    }

    /// Returns when to query the device, if a query can clear its fault.
    pub(super) fn question(&self, policy: &Policy) -> Option<u64> {
        let fault = self.fault.as_ref()?;
        self.index?;
        if fault.silence.is_some() {
            return Some(fault.retry);
        }
        // After an early response, the quiet time decides; after a bad one, the retry time.
        Some(
            self.ready(policy)?
                .max(if fault.word.is_some() { fault.retry } else { 0 }),
        )
    }

    /// Describes why the device must not be used.
    pub(super) fn trouble(&self) -> Option<String> {
        let fault = self.fault.as_ref()?;
        let said = fault.silence.as_ref().or(fault.word.as_ref());
        Some(match said {
            Some(said) if fault.cause.is_empty() || *said == fault.cause => said.clone(),
            Some(said) => format!("{}; {said}", fault.cause),
            None if fault.cause.is_empty() => "it stopped responding recently".to_owned(),
            None => fault.cause.clone(),
        })
    }

    /// Returns the time from which a good response clears the fault.
    fn ready(&self, policy: &Policy) -> Option<u64> {
        let wait = policy.wait(self.recurrences)?;
        Some(self.fault.as_ref()?.last.saturating_add(wait))
    }

    fn fall(&mut self, now: u64) -> &mut Fault {
        if self.fault.is_none() {
            let again = self
                .recovered
                .is_some_and(|recovered| now.saturating_sub(recovered) < DAY);
            self.recurrences = if again {
                self.recurrences.saturating_add(1)
            } else {
                0
            };
        }
        self.fault.get_or_insert(Fault {
            cause: String::new(),
            word: None,
            silence: None,
            strict: false,
            last: now,
            retry: now,
        })
    }
}
