//! A fake libnvidia-ml.so.1. A state file describes the machine, so that tests use the daemon through the same
//! interface as on a real machine.
//!
//! `GPUC_FAKE_NVML` is the path of the state file. The default is the library's path with the suffix `.state`, so that
//! copies of the library in one process are separate machines. The library reads the file again when it changes. A
//! line is `key = value`; `#` begins a comment. Changes by calls (MIG layouts, delivered events) are stored in a file
//! with the additional suffix `.changed`, which takes precedence, so that other processes see them. Its deletion is a
//! reboot.
//!
//! Keys of the machine:
//!
//! - `gpus`: number of GPUs, 0 to 16. If unset, no driver is loaded.
//! - `driver`, `cuda`: versions; `570.86.15` and `12080`.
//! - `latency_us`, `latency_us.<function>`: duration of each call; 0.
//! - `error.<function>`: the error code that the function returns.
//! - `calls`: a file to which each call's name is appended, one per line.
//! - `poll_ms`: polling interval of a wait for events; 5.
//! - `event.<number>`: an event, delivered once and in the order of the numbers: `<gpu> xid 79` or
//!   `<gpu> xid 79 <gi> <ci>`, `<gpu> sbe`, `dbe`, `mig`, `unavailable`, `recovery`. The GPU `none` is an unknown GPU.
//!   `error 999` makes the wait fail.
//! - `storm`, `storm_per_second`: an event that is delivered again and again, and how often.
//! - `level`, `level.<gpu>.<gpu>`: the common PCI ancestor of two GPUs, as nvml.h numbers it; 50.
//!
//! Keys of GPUs are `gpu.<key>` for all of them and `gpu.<index>.<key>` for one:
//!
//! - `model`: a GPU model of gpuc's catalog, which sets all properties in the catalog: `h100-sxm5-80gb`.
//! - `name`, `uuid`, `minor`, `bus`, `pci_id`, `memory_mib`, `cc`: as NVML reports them. Memory is `shared` if the GPU
//!   uses the memory of the processor.
//! - `lost`: 1 makes every call about the GPU return that it is lost.
//! - `error.<function>`: as above, for one GPU.
//! - `mig`, `mig_pending`: `on` or `off`, or `none` for GPU models without MIG. The default depends on the model.
//! - `mig_needs_reset`: 1 makes a change of the mode wait for a reset.
//! - `layout`: GPU instances, `3g.40gb@4 1g.10gb@0`, or in full `1:3g.40gb@4/0=1,1=2`: ID, profile, start, and
//!   the compute instances with their slices.
//! - `slice_name`: `none` if MIG devices do not report their profile.
//! - `engines`, `sm_per_slice`: of MIG devices: copy, decoder, encoder, jpeg, ofa; and multiprocessors.
//! - `processes`, `graphics_processes`, `mps_processes`: number of processes that use the GPU; 0.
//! - `compute_mode`: the compute mode, as nvml.h numbers it; only written, by nvmlDeviceSetComputeMode.
//! - `links`: the remote ends of the NVLinks: `0 0 3 switch off`. If unset, the GPU has no NVLinks.
//! - `fabric`: the cluster's UUID without hyphens, the clique, and the state (3: joined).
//! - `event_types`: a mask of the supported types; all.
//! - `recovery_action`: field 230; 0, or `none` if the driver does not support it.
//! - `remapped`: rows of memory, correctable, uncorrectable, pending, failed; `0 0 0 0`, or `none`.
//! - `temperature`, `memory_temperature`, `power_mw`, `energy_mj`, `sm_clock`, `memory_clock`, `utilization`,
//!   `copy_utilization`, `encoder`, `decoder`, `memory_used_mib`, `memory_reserved_mib`, `replays`, `single_bit`,
//!   `double_bit`: numbers, or `none` if the GPU model does not support the value.

#![allow(
    non_snake_case,
    clippy::missing_panics_doc,
    reason = "the names are those of nvml.h"
)]

mod answer;
mod device;
mod events;
mod handle;
mod instances;
mod layout;
mod links;
mod sample;
mod state;
mod system;
