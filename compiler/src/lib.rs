//! The compiler: one cluster file in, a tree of scripts, values and manifests out.

pub mod cloud;
