//! A libnvidia-ml.so.1 that a file tells what machine it is on, so that the daemon is tested through the same door as
//! on a real one.
//!
//! The file is named by `GPUC_FAKE_NVML`; without that it is the library's own path with `.state` behind it, so that
//! copies of the library in one process are machines of their own. It is read again whenever it changes. A line is
//! `key = value`; `#` begins a comment. What calls change (MIG layouts, events told) is kept beside it in a file with
//! `.changed` behind its name, which overrules it, so that a second process finds it; removing that file is a reboot.
//!
//! Keys of the machine:
//!
//! - `gpus`: how many there are, 0 to 16. Without it no driver is loaded.
//! - `driver`, `cuda`: versions; `570.86.15` and `12080`.
//! - `latency_us`, `latency_us.<function>`: how long each call takes; 0.
//! - `error.<function>`: the number that the function answers with.
//! - `calls`: a file that each call's name is written to, a line each.
//! - `poll_ms`: how often a wait for events looks at the file; 5.
//! - `event.<number>`: something that happens, told once and in the order of the numbers: `<gpu> xid 79` or
//!   `<gpu> xid 79 <gi> <ci>`, `<gpu> sbe`, `dbe`, `mig`, `unavailable`, `recovery`. The GPU `none` is one that nobody
//!   knows. `error 999` makes the wait fail.
//! - `level`, `level.<gpu>.<gpu>`: where two GPUs meet, as nvml.h numbers it; 50.
//!
//! Keys of GPUs are `gpu.<key>` for all of them and `gpu.<index>.<key>` for one:
//!
//! - `model`: a card of gpuc's catalog, for everything that it knows: `h100-sxm5-80gb`.
//! - `name`, `uuid`, `minor`, `bus`, `pci_id`, `memory_mib`, `cc`: as NVML says them. Memory is `shared` where it has
//!   none of its own.
//! - `lost`: 1 makes every call about it answer that it is lost.
//! - `error.<function>`: as above, for one GPU.
//! - `mig`, `mig_pending`: `on` or `off`, or `none` for cards without it; what the model says, and off.
//! - `mig_needs_reset`: 1 makes a change of mode wait for a reset.
//! - `layout`: GPU instances, `3g.40gb@4 1g.10gb@0`, or in full `1:3g.40gb@4/0=1,1=2`: number, profile, start, and
//!   the compute instances with their slices.
//! - `slice_name`: `none` where MIG devices do not say their profile.
//! - `engines`, `sm_per_slice`: of MIG devices: copy, decoder, encoder, jpeg, ofa; and multiprocessors.
//! - `processes`, `graphics_processes`, `mps_processes`: how many hold it; 0.
//! - `compute_mode`: who may open it, as nvml.h numbers it; only written, by nvmlDeviceSetComputeMode.
//! - `links`: the ends of its NVLinks: `0 0 3 switch off`. Without it, it has none.
//! - `fabric`: the cluster's UUID without hyphens, the clique, and the state, of which 3 is joined.
//! - `event_types`: a mask; all.
//! - `recovery_action`: field 230; 0, or `none` where the driver does not know it.
//! - `remapped`: rows of memory, correctable, uncorrectable, pending, failed; `0 0 0 0`, or `none`.
//! - `temperature`, `memory_temperature`, `power_mw`, `energy_mj`, `sm_clock`, `memory_clock`, `utilization`,
//!   `copy_utilization`, `encoder`, `decoder`, `memory_used_mib`, `memory_reserved_mib`, `replays`, `single_bit`,
//!   `double_bit`: numbers, or `none` where the card has no such thing.

#![allow(
    non_snake_case,
    clippy::missing_panics_doc,
    reason = "the functions are called as nvml.h calls them"
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
