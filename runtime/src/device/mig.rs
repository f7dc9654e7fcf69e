//! How slices are called.

use super::share::GPU;
use crate::nvml::SliceInfo;

/// The resource that a slice is offered as. Where all slices of a node are alike (`single`) they are GPUs to their
/// users; otherwise each profile has its name (`mixed`). A compute instance that has only a part of its GPU instance
/// shares memory with its neighbours and is not offered, as with NVIDIA's plugin.
pub fn resource_of(slice: &SliceInfo, strategy: &str) -> Option<String> {
    if slice.ci_slices != slice.gi_slices {
        return None;
    }
    if strategy == "single" {
        return Some(GPU.to_owned());
    }
    Some(format!(
        "nvidia.com/mig-{}",
        slice.profile.replace('+', ".")
    ))
}
