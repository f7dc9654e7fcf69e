//! Common handling of calls: the log, the latency and the injected errors.

use std::ffi::{c_char, c_uint};
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST as LOST,
    nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE as TOO_SMALL,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID,
    nvmlReturn_enum_NVML_ERROR_UNINITIALIZED as UNINITIALISED,
    nvmlReturn_enum_NVML_SUCCESS as SUCCESS, nvmlReturn_t,
};

use crate::handle::DeviceHandle;
use crate::state::{Gpu, State, current};

/// The result of a call: nothing, or an NVML error code.
pub(crate) type Outcome = Result<(), nvmlReturn_t>;

/// Number of initialisations of the library without a shutdown.
pub(crate) static USERS: AtomicU32 = AtomicU32::new(0);

/// Handles a call about the system.
pub(crate) fn answer(name: &str, handler: impl FnOnce(&State) -> Outcome) -> nvmlReturn_t {
    let state = start_call(name);
    if USERS.load(Ordering::SeqCst) == 0 {
        return UNINITIALISED;
    }
    return_code(injected_error(&state, name).and_then(|()| handler(&state)))
}

/// Handles a call that is valid before the library is initialised.
pub(crate) fn answer_always(name: &str, handler: impl FnOnce(&State) -> Outcome) -> nvmlReturn_t {
    let state = start_call(name);
    return_code(injected_error(&state, name).and_then(|()| handler(&state)))
}

/// Handles a call about a GPU or one of its MIG devices.
pub(crate) fn answer_device(
    name: &str,
    device: nvmlDevice_t,
    handler: impl FnOnce(Gpu<'_>, DeviceHandle) -> Outcome,
) -> nvmlReturn_t {
    answer(name, |state| {
        let handle = DeviceHandle::from_handle(device).ok_or(INVALID)?;
        let gpu = responding_gpu(state, handle.gpu(), name)?;
        handler(gpu, handle)
    })
}

/// Returns the GPU, or the error that the state file sets for this call.
pub(crate) fn responding_gpu<'s>(
    state: &'s State,
    index: u32,
    name: &str,
) -> Result<Gpu<'s>, nvmlReturn_t> {
    let gpu = state.gpu(index).ok_or(INVALID)?;
    if gpu.number("lost").unwrap_or(0) != 0 {
        return Err(LOST);
    }
    match gpu.own_text(&format!("error.{name}")) {
        Some(error) => Err(error.parse().unwrap_or(INVALID)),
        None => Ok(gpu),
    }
}

/// Writes a result to the caller's pointer.
///
/// # Safety
///
/// `to` is null or valid for a write of a `T`.
pub(crate) unsafe fn write_out<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(INVALID);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a string with a terminating zero.
///
/// # Safety
///
/// `to` is null or points to `length` bytes.
pub(crate) unsafe fn write_text(to: *mut c_char, length: c_uint, text: &str) -> Outcome {
    if to.is_null() {
        return Err(INVALID);
    }
    if text.len() >= length as usize {
        return Err(TOO_SMALL);
    }
    for (index, byte) in text.bytes().chain([0]).enumerate() {
        // SAFETY: the string with its zero has at most `length` bytes, which the caller guarantees.
        unsafe { to.add(index).write(c_char::from_ne_bytes([byte])) };
    }
    Ok(())
}

/// Writes a string into a field of a structure.
pub(crate) fn fill_field(field: &mut [c_char], text: &str) {
    let bytes = text.bytes().chain(std::iter::repeat(0));
    for (target, byte) in field.iter_mut().zip(bytes) {
        *target = c_char::from_ne_bytes([byte]);
    }
}

fn start_call(name: &str) -> std::sync::Arc<State> {
    let state = current();
    if let Some(file) = state.text("calls") {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file);
        // A single write, so that lines of several processes do not interleave. If it fails, the test finds no calls.
        let _ = file.and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
    }
    let function_latency = state.number(&format!("latency_us.{name}"));
    let latency = function_latency
        .or_else(|| state.number("latency_us"))
        .unwrap_or(0);
    if latency > 0 {
        std::thread::sleep(Duration::from_micros(latency));
    }
    state
}

fn injected_error(state: &State, name: &str) -> Outcome {
    match state.number(&format!("error.{name}")) {
        Some(error) => Err(nvmlReturn_t::try_from(error).unwrap_or(INVALID)),
        None => Ok(()),
    }
}

fn return_code(outcome: Outcome) -> nvmlReturn_t {
    outcome.err().unwrap_or(SUCCESS)
}
