//! The words that gpuc's compiler and runtime share: facts about GPUs, and values that know where they were written.

pub mod gpu;
pub mod spanned;
