//! The health record of one GPU or MIG device: current fault, cause, time, and recurrences.

use serde::{Deserialize, Serialize};

use super::policy::{Policy, RECURRENCE_WINDOW};

/// Maximum interval between queries of an unhealthy GPU: ten minutes in milliseconds.
const MAX_RETRY_INTERVAL: u64 = 10 * 60 * 1000;

/// Interval between queries of a GPU that is not responding, if the policy sets none: one minute.
const DEFAULT_RETRY_INTERVAL: u64 = 60 * 1000;

/// The start of the cause of a fault that a failed query showed.
pub(super) const FAILED_QUERY: &str = "not responding";

/// The record of a GPU or MIG device with a current or past fault. Times are in milliseconds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeviceRecord {
    /// The UUID of the GPU, or of the GPU that the MIG device is on.
    pub(super) gpu: String,
    /// The GPU's index; `None` while the inventory does not contain the device.
    #[serde(skip)]
    pub(super) index: Option<u32>,
    /// The current fault.
    pub(super) fault: Option<Fault>,
    /// Number of recurrences within a day.
    recurrences: u32,
    /// Time of the last recovery.
    recovered_at: Option<u64>,
}

/// A fault of a device.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fault {
    /// The cause.
    cause: String,
    /// The recovery that the driver requests.
    pub(super) recovery_request: Option<String>,
    /// Why the device does not respond, while it does not.
    pub(super) no_response_reason: Option<String>,
    /// Whether recovery needs the confirmation of the driver.
    needs_confirmation: bool,
    /// Time of the last error.
    last_error_at: u64,
    /// Earliest time of the next query, after a query that did not clear the fault.
    retry_at: u64,
}

impl DeviceRecord {
    pub(super) fn new(gpu: &str, index: u32) -> Self {
        Self {
            gpu: gpu.to_owned(),
            index: Some(index),
            fault: None,
            recurrences: 0,
            recovered_at: None,
        }
    }

    /// Limits the times of a restored record to the present: a later time would delay the recovery without end.
    pub(super) fn limit_times(&mut self, now: u64) {
        if let Some(at) = &mut self.recovered_at {
            *at = now.min(*at);
        }
        if let Some(fault) = &mut self.fault {
            fault.last_error_at = now.min(fault.last_error_at);
            fault.retry_at = now.min(fault.retry_at);
        }
    }

    /// Records an error. Returns whether the device was healthy before. Of several causes, the most severe is kept.
    pub(super) fn record_error(&mut self, cause: &str, strict: bool, now: u64) -> bool {
        let was_healthy = self.fault.is_none();
        let fault = self.fault_mut(now);
        if was_healthy || strict >= fault.needs_confirmation {
            cause.clone_into(&mut fault.cause);
        }
        fault.needs_confirmation |= strict;
        fault.last_error_at = now;
        was_healthy
    }

    /// Records that the device does not respond. Returns whether the device was healthy before.
    pub(super) fn record_no_response(&mut self, reason: &str, now: u64) -> bool {
        let was_healthy = self.fault.is_none();
        let fault = self.fault_mut(now);
        if fault.no_response_reason.is_none() {
            fault.retry_at = now;
        }
        fault.no_response_reason = Some(reason.to_owned());
        was_healthy
    }

    /// Records that the device responds again, which does not clear its fault yet. Returns whether it was unresponsive.
    pub(super) fn record_response(&mut self, now: u64) -> bool {
        let Some(fault) = &mut self.fault else {
            return false;
        };
        let was_unresponsive = fault.no_response_reason.take().is_some();
        if was_unresponsive {
            fault.last_error_at = now;
            fault.retry_at = now;
        }
        was_unresponsive
    }

    /// Discards a fault that only a failed query has shown. Returns whether there was one.
    pub(super) fn discard_failed_query(&mut self) -> bool {
        let is_failed_query = |fault: &mut Fault| {
            !fault.needs_confirmation
                && fault.recovery_request.is_none()
                && fault.cause.starts_with(FAILED_QUERY)
        };
        self.fault.take_if(is_failed_query).is_some()
    }

    /// Records a good response. `is_confirmed` is whether the driver confirms that no action is pending. The response
    /// covers errors up to the time `queried_at`. Returns whether the device recovered now.
    pub(super) fn record_recovery(
        &mut self,
        policy: &Policy,
        is_confirmed: bool,
        queried_at: u64,
        now: u64,
    ) -> bool {
        let ready = self.recovery_allowed_at(policy);
        let Some(fault) = &mut self.fault else {
            return false;
        };
        if fault.no_response_reason.is_some() {
            return false;
        }
        fault.recovery_request = None;
        let Some(ready) = ready else {
            return false;
        };
        if fault.needs_confirmation && !is_confirmed {
            let message = "the driver has not confirmed the recovery";
            fault.recovery_request = Some(message.to_owned());
        } else if ready <= queried_at {
            self.fault = None;
            self.recovered_at = Some(now);
            return true;
        }
        self.postpone(policy, now);
        false
    }

    /// Postpones the next query after a response that did not clear the fault.
    pub(super) fn postpone(&mut self, policy: &Policy, now: u64) {
        let wait = policy
            .quiet_time(self.recurrences)
            .unwrap_or(DEFAULT_RETRY_INTERVAL);
        if let Some(fault) = &mut self.fault {
            fault.retry_at = now.saturating_add(wait.clamp(1_000, MAX_RETRY_INTERVAL));
        }
    }

    /// Returns when to query the device, if a query can clear its fault.
    pub(super) fn next_query(&self, policy: &Policy) -> Option<u64> {
        let fault = self.fault.as_ref()?;
        self.index?;
        if fault.no_response_reason.is_some() {
            return Some(fault.retry_at);
        }
        // After an early response, the quiet time decides; after a bad one, the retry time.
        Some(
            self.recovery_allowed_at(policy)?
                .max(if fault.recovery_request.is_some() {
                    fault.retry_at
                } else {
                    0
                }),
        )
    }

    /// Describes why the device must not be used.
    pub(super) fn unhealthy_reason(&self) -> Option<String> {
        let fault = self.fault.as_ref()?;
        let detail = fault
            .no_response_reason
            .as_ref()
            .or(fault.recovery_request.as_ref());
        Some(match detail {
            Some(reason) if fault.cause.is_empty() || *reason == fault.cause => reason.clone(),
            Some(reason) => format!("{}; {reason}", fault.cause),
            None if fault.cause.is_empty() => "it stopped responding recently".to_owned(),
            None => fault.cause.clone(),
        })
    }

    /// Returns the time from which a good response clears the fault.
    fn recovery_allowed_at(&self, policy: &Policy) -> Option<u64> {
        let wait = policy.quiet_time(self.recurrences)?;
        Some(self.fault.as_ref()?.last_error_at.saturating_add(wait))
    }

    fn fault_mut(&mut self, now: u64) -> &mut Fault {
        if self.fault.is_none() {
            let is_recurrence = self
                .recovered_at
                .is_some_and(|recovered| now.saturating_sub(recovered) < RECURRENCE_WINDOW);
            self.recurrences = if is_recurrence {
                self.recurrences.saturating_add(1)
            } else {
                0
            };
        }
        self.fault.get_or_insert(Fault {
            cause: String::new(),
            recovery_request: None,
            no_response_reason: None,
            needs_confirmation: false,
            last_error_at: now,
            retry_at: now,
        })
    }
}
