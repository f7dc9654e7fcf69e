//! Codes of resolution: unknown names, and settings that contradict each other.

mod kubernetes;
mod machine;
mod mig;
mod nodes;
mod teams;

pub use kubernetes::*;
pub use machine::*;
pub use mig::*;
pub use nodes::*;
pub use teams::*;

use gpuc_syntax::diag::Code;

/// Every code of this phase, by id.
pub static CODES: &[&Code] = &[
    &KUBERNETES_VERSION_UNREADABLE,
    &KUBERNETES_VERSION_UNSUPPORTED,
    &MACHINE_MISSING,
    &MACHINE_UNKNOWN,
    &MACHINE_NAME_INVALID,
    &ACCELERATOR_NOT_NVIDIA,
    &GPU_MODEL_UNKNOWN,
    &GPU_MODEL_AMBIGUOUS,
    &GPU_CONTRADICTS_MACHINE,
    &GPU_CANNOT_BE_ATTACHED,
    &NO_MACHINE_HAS_GPUS,
    &NODE_COUNT_MISSING,
    &NODE_COUNT_REVERSED,
    &NODE_COUNT_ZERO,
    &MIG_UNSUPPORTED,
    &MIG_PROFILE_UNSUPPORTED,
    &MIG_LAYOUT_IMPOSSIBLE,
    &MIG_GPUS_INVALID,
    &MIG_GPU_TWICE,
    &MIG_LAYOUT_EMPTY,
    &QUOTA_POOL_UNKNOWN,
    &QUOTA_UNIT_WRONG,
    &QUOTA_AMOUNT_UNCLEAR,
    &QUOTA_NAMESPACE_UNKNOWN,
];
