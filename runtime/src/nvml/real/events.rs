//! One subscription to the events of all GPUs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError as WrapperError;
use nvml_wrapper_sys::bindings::{
    nvmlEventMigConfigChange as MIG_CHANGED, nvmlEventTypeDoubleBitEccError as DOUBLE_BIT_ECC,
    nvmlEventTypeGpuRecoveryAction as RECOVERY_ACTION,
    nvmlEventTypeGpuUnavailableError as UNAVAILABLE,
    nvmlEventTypeSingleBitEccError as SINGLE_BIT_ECC, nvmlEventTypeXidCriticalError as XID,
};

use super::error::call_error;
use super::raw::{self, EventSet, RawEvent};
use crate::nvml::{NvmlError, NvmlEvent, NvmlEventKind, Watch};

/// The event types to subscribe to, if a GPU supports them.
const EVENT_TYPES: u64 =
    (XID | SINGLE_BIT_ECC | DOUBLE_BIT_ECC | MIG_CHANGED | UNAVAILABLE | RECOVERY_ACTION) as u64;

/// A subscription.
pub(super) struct Subscription {
    set: EventSet,
    /// The GPUs' indexes by the handle in an event, so that no GPU must be queried, which may be gone.
    gpus: BTreeMap<usize, u32>,
    watched: Vec<(u32, String)>,
    unwatched: Vec<(u32, NvmlError)>,
}

impl Subscription {
    pub(super) fn new(nvml: &Arc<Nvml>) -> Result<Self, NvmlError> {
        let refused = |error: WrapperError| call_error("watching the GPUs", &error);
        let count = nvml.device_count().map_err(refused)?;
        let mut subscription = Self {
            set: EventSet::new(Arc::clone(nvml)).map_err(refused)?,
            gpus: BTreeMap::new(),
            watched: Vec::new(),
            unwatched: Vec::new(),
        };
        for index in 0..count {
            match subscription.register(nvml, index) {
                Ok(uuid) => subscription.watched.push((index, uuid)),
                Err(nvml_error) => {
                    let error = call_error(&format!("watching GPU {index}"), &nvml_error);
                    subscription.unwatched.push((index, error));
                }
            }
        }
        Ok(subscription)
    }

    /// Registers the GPU with this index. Returns its UUID: the index can refer to another GPU later.
    fn register(&mut self, nvml: &Nvml, index: u32) -> Result<String, WrapperError> {
        let device = nvml.device_by_index(index)?;
        let uuid = device.uuid()?;
        // Recorded before the registration: events of other GPUs may refer to it.
        self.gpus.insert(raw::identity(&device), index);
        let types = EventSet::supported_events(&device)? & EVENT_TYPES;
        // Without any supported event type, monitoring is useless.
        if types & u64::from(XID) == 0 {
            return Err(WrapperError::NotSupported);
        }
        self.set.register(&device, types)?;
        Ok(uuid)
    }

    /// Converts an event; `None` for a type that was not subscribed to.
    fn translate(&self, event: &RawEvent) -> Option<NvmlEvent> {
        let kind = u32::try_from(event.kind).ok()?;
        Some(NvmlEvent {
            gpu: self.gpus.get(&event.gpu).copied(),
            kind: match kind {
                XID => NvmlEventKind::Xid {
                    xid: event.data,
                    instance: instance(event.gi, event.ci),
                },
                SINGLE_BIT_ECC => NvmlEventKind::SingleBitEcc,
                DOUBLE_BIT_ECC => NvmlEventKind::DoubleBitEcc,
                MIG_CHANGED => NvmlEventKind::MigChanged,
                UNAVAILABLE => NvmlEventKind::Unavailable,
                RECOVERY_ACTION => NvmlEventKind::RecoveryAction,
                _ => return None,
            },
        })
    }
}

impl Watch for Subscription {
    fn watched(&self) -> &[(u32, String)] {
        &self.watched
    }

    fn unwatched(&self) -> &[(u32, NvmlError)] {
        &self.unwatched
    }

    fn next(&mut self, timeout: Duration) -> Result<Option<NvmlEvent>, NvmlError> {
        let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let event = self.set.wait(milliseconds);
        let event = event.map_err(|error| call_error("waiting for events", &error))?;
        Ok(event.and_then(|event| self.translate(&event)))
    }
}

/// Returns the instances of an event. NVML reports `0xFFFFFFFF` for none; an error of a whole GPU instance, with
/// one number only, counts for the GPU until such an event has been observed.
fn instance(gi: u32, ci: u32) -> Option<(u32, u32)> {
    (gi != u32::MAX && ci != u32::MAX).then_some((gi, ci))
}
