//! Calls about events. Each event of the state file is delivered once to every set that is registered for it. A new set
//! receives the events that no set has received.

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_ulonglong};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEventData_t, nvmlEventMigConfigChange, nvmlEventSet_t, nvmlEventTypeAll,
    nvmlEventTypeDoubleBitEccError, nvmlEventTypeGpuRecoveryAction,
    nvmlEventTypeGpuUnavailableError, nvmlEventTypeSingleBitEccError,
    nvmlEventTypeXidCriticalError, nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED,
    nvmlReturn_enum_NVML_ERROR_TIMEOUT as TIMEOUT, nvmlReturn_t,
};

use crate::answer::{answer, answer_device, write_out};
use crate::handle::{DeviceHandle, event_set, event_set_from};
use crate::state::{Gpu, State, current, number, store_change};

/// An event set.
struct EventSet {
    /// The event types that each GPU is registered for.
    registered: BTreeMap<u32, u64>,
    /// The number of the last event that the set has received.
    delivered: u64,
}

static SETS: Mutex<BTreeMap<usize, EventSet>> = Mutex::new(BTreeMap::new());

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetCreate(set: *mut nvmlEventSet_t) -> nvmlReturn_t {
    answer("nvmlEventSetCreate", |state| {
        let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
        let number = sets.last_key_value().map_or(1, |(last, _)| last + 1);
        let new = EventSet {
            registered: BTreeMap::new(),
            delivered: state.number("delivered").unwrap_or(0),
        };
        sets.insert(number, new);
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(set, event_set(number)) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlEventSetFree(set: nvmlEventSet_t) -> nvmlReturn_t {
    answer("nvmlEventSetFree", |_| {
        let number = event_set_from(set).ok_or(INVALID)?;
        let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
        sets.remove(&number).map(|_| ()).ok_or(INVALID)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSupportedEventTypes(
    device: nvmlDevice_t,
    types: *mut c_ulonglong,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceGetSupportedEventTypes", device, |gpu, _| {
        // SAFETY: nvml.h requires a pointer for the result.
        unsafe { write_out(types, supported_types(gpu)) }
    })
}

fn supported_types(gpu: Gpu<'_>) -> u64 {
    gpu.number("event_types").unwrap_or(nvmlEventTypeAll.into())
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceRegisterEvents(
    device: nvmlDevice_t,
    types: c_ulonglong,
    set: nvmlEventSet_t,
) -> nvmlReturn_t {
    answer_device("nvmlDeviceRegisterEvents", device, |gpu, _| {
        // A real GPU registers nothing if one type is not supported.
        if types & !supported_types(gpu) != 0 {
            return Err(NOT_SUPPORTED);
        }
        let number = event_set_from(set).ok_or(INVALID)?;
        let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
        let set = sets.get_mut(&number).ok_or(INVALID)?;
        *set.registered.entry(gpu.index).or_default() |= types;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait_v2(
    set: nvmlEventSet_t,
    data: *mut nvmlEventData_t,
    timeout_ms: c_uint,
) -> nvmlReturn_t {
    let deadline = Instant::now() + Duration::from_millis(timeout_ms.into());
    answer("nvmlEventSetWait_v2", |_| {
        let number = event_set_from(set).ok_or(INVALID)?;
        loop {
            let state = current();
            if let Some(event) = next(&state, number)? {
                // SAFETY: nvml.h requires a pointer for the result.
                return unsafe { write_out(data, event) };
            }
            if let Some(event) = next_of_storm(&state, number)? {
                // SAFETY: nvml.h requires a pointer for the result.
                return unsafe { write_out(data, event) };
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(TIMEOUT);
            }
            let pause = Duration::from_millis(state.number("poll_ms").unwrap_or(5));
            std::thread::sleep(pause.min(deadline - now));
        }
    })
}

/// Returns the next event for this set, or the error that the state file sets for a wait.
fn next(state: &State, set: usize) -> Result<Option<nvmlEventData_t>, nvmlReturn_t> {
    let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    let set = sets.get_mut(&set).ok_or(INVALID)?;
    for (number, text) in state.events().split_off(&(set.delivered + 1)) {
        set.delivered = number;
        if state.number("delivered").unwrap_or(0) < number {
            store_change("delivered", &number.to_string());
        }
        if let Some(event) = parse_event(text, &set.registered)? {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

/// Returns the event of a storm, if its rate allows another one now.
fn next_of_storm(state: &State, set: usize) -> Result<Option<nvmlEventData_t>, nvmlReturn_t> {
    /// The start of the storm, and the number of its events.
    static STORM: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let mut storm = STORM.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((text, rate)) = state.text("storm").zip(state.number("storm_per_second")) else {
        *storm = None;
        return Ok(None);
    };
    let (start, count) = storm.get_or_insert((Instant::now(), 0));
    let allowed = start.elapsed().as_micros() * u128::from(rate) / 1_000_000;
    if u128::from(*count) >= allowed {
        return Ok(None);
    }
    *count += 1;
    let sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    parse_event(text, &sets.get(&set).ok_or(INVALID)?.registered)
}

/// Parses an event of the state file. Returns `None` if its type is not registered.
fn parse_event(
    text: &str,
    registered: &BTreeMap<u32, u64>,
) -> Result<Option<nvmlEventData_t>, nvmlReturn_t> {
    let words: Vec<_> = text.split_whitespace().collect();
    let numbers: Vec<_> = words.iter().skip(2).map(|word| number(word)).collect();
    let at = |index: usize| numbers.get(index).copied().flatten();
    if words.first() == Some(&"error") {
        let error = words.get(1).and_then(|word| word.parse().ok());
        return Err(error.unwrap_or(INVALID));
    }
    let [gpu, kind, ..] = words.as_slice() else {
        panic!("`{text}` is not an event");
    };
    let kind = match *kind {
        "xid" => nvmlEventTypeXidCriticalError,
        "sbe" => nvmlEventTypeSingleBitEccError,
        "dbe" => nvmlEventTypeDoubleBitEccError,
        "mig" => nvmlEventMigConfigChange,
        "unavailable" => nvmlEventTypeGpuUnavailableError,
        "recovery" => nvmlEventTypeGpuRecoveryAction,
        _ => panic!("`{text}` is not an event"),
    };
    let gpu: Option<u32> = gpu.parse().ok();
    let is_registered = gpu.is_none_or(|gpu| {
        registered
            .get(&gpu)
            .is_some_and(|types| types & u64::from(kind) != 0)
    });
    let instance = |index| at(index).and_then(|id| u32::try_from(id).ok());
    Ok(is_registered.then(|| nvmlEventData_t {
        device: gpu.map_or(ptr::null_mut(), |gpu| DeviceHandle::FullGpu(gpu).handle()),
        eventType: kind.into(),
        eventData: at(0).unwrap_or(0),
        gpuInstanceId: instance(1).unwrap_or(u32::MAX),
        computeInstanceId: instance(2).unwrap_or(u32::MAX),
    }))
}
