//! The kubelet as the daemon meets it: its APIs, its socket, its folder.

pub mod api;
