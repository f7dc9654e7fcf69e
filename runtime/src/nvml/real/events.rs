//! One subscription to what happens to all GPUs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError as Refusal;
use nvml_wrapper_sys::bindings::{
    nvmlEventMigConfigChange as MIG_CHANGED, nvmlEventTypeDoubleBitEccError as DOUBLE_BIT_ECC,
    nvmlEventTypeGpuRecoveryAction as RECOVERY_ACTION,
    nvmlEventTypeGpuUnavailableError as UNAVAILABLE,
    nvmlEventTypeSingleBitEccError as SINGLE_BIT_ECC, nvmlEventTypeXidCriticalError as XID,
};

use super::error::trouble;
use super::raw::{self, EventSet, RawEvent};
use crate::nvml::{NvmlError, NvmlEvent, NvmlEventKind, Watch};

/// The types that are subscribed to, as far as a GPU has them.
const TYPES: u64 =
    (XID | SINGLE_BIT_ECC | DOUBLE_BIT_ECC | MIG_CHANGED | UNAVAILABLE | RECOVERY_ACTION) as u64;

/// A subscription.
pub(super) struct Subscription {
    set: EventSet,
    /// The GPUs' indexes by what an event calls them, so that nothing has to be asked of a GPU that is gone.
    gpus: BTreeMap<usize, u32>,
    unwatched: Vec<(u32, NvmlError)>,
}

impl Subscription {
    pub(super) fn new(nvml: &Arc<Nvml>) -> Result<Self, NvmlError> {
        let refused = |refusal: Refusal| trouble("watching the GPUs", &refusal);
        let count = nvml.device_count().map_err(refused)?;
        let mut subscription = Self {
            set: EventSet::new(Arc::clone(nvml)).map_err(refused)?,
            gpus: BTreeMap::new(),
            unwatched: Vec::new(),
        };
        for index in 0..count {
            if let Err(refusal) = subscription.register(nvml, index) {
                let error = trouble(&format!("watching GPU {index}"), &refusal);
                subscription.unwatched.push((index, error));
            }
        }
        Ok(subscription)
    }

    fn register(&mut self, nvml: &Nvml, index: u32) -> Result<(), Refusal> {
        let device = nvml.device_by_index(index)?;
        // Known before it is registered: other GPUs' events may name it.
        self.gpus.insert(raw::identity(&device), index);
        let types = EventSet::supported(&device)? & TYPES;
        // A GPU that tells nothing would be watched in vain.
        if types & u64::from(XID) == 0 {
            return Err(Refusal::NotSupported);
        }
        self.set.register(&device, types)
    }

    /// The event in the daemon's words; nothing for one that was not asked for.
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
    fn unwatched(&self) -> &[(u32, NvmlError)] {
        &self.unwatched
    }

    fn next(&mut self, timeout: Duration) -> Result<Option<NvmlEvent>, NvmlError> {
        let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let event = self.set.wait(milliseconds);
        let event = event.map_err(|refusal| trouble("waiting for events", &refusal))?;
        Ok(event.and_then(|event| self.translate(&event)))
    }
}

/// The instances that an event was in. NVML says `0xFFFFFFFF` for none; an error of a whole GPU instance, which would
/// come with one number only, concerns the GPU until somebody has seen one.
fn instance(gi: u32, ci: u32) -> Option<(u32, u32)> {
    (gi != u32::MAX && ci != u32::MAX).then_some((gi, ci))
}
