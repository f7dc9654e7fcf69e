//! The components that advertise GPUs to the kubelet.

use crate::objects::{Metadata, PodSpec};

/// A component that advertises GPUs to the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Advertiser {
    /// gpuc-runtime.
    Runtime,
    /// NVIDIA's device plugin.
    Nvidia,
    /// GKE's device plugin.
    Gke,
    /// NVIDIA's DRA driver.
    Dra,
}

impl Advertiser {
    /// The name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Runtime => "gpuc-runtime",
            Self::Nvidia => "NVIDIA's device plugin",
            Self::Gke => "GKE's device plugin",
            Self::Dra => "NVIDIA's DRA driver",
        }
    }
}

/// The component that a pod or a template of pods runs, from its images.
///
/// Source of the names: NVIDIA/k8s-device-plugin `deployments/helm/nvidia-device-plugin/values.yaml`; GKE
/// GoogleCloudPlatform/container-engine-accelerators `cmd/nvidia_gpu/device-plugin.yaml`; kubernetes-sigs
/// dra-driver-nvidia-gpu `deployments/helm/dra-driver-nvidia-gpu/values.yaml`, 2026-11-28.
pub fn advertiser_of(metadata: &Metadata, spec: &PodSpec) -> Option<Advertiser> {
    let has_image = |name: &str| {
        let mut containers = spec.containers.iter();
        containers.any(|container| image_name(&container.image) == name)
    };
    // The same image contains the control daemon of MPS and GPU Feature Discovery.
    let is_helper = ["mps-control-daemon", "gpu-feature-discovery"]
        .iter()
        .any(|part| metadata.name.contains(part));
    let runs_helper = spec.containers.iter().any(|container| {
        matches!(
            container.name.as_str(),
            "mps-control-daemon-ctr" | "gfd" | "gpu-feature-discovery"
        )
    });
    if has_image("gpuc-runtime") {
        return Some(Advertiser::Runtime);
    }
    if has_image("nvidia-gpu-device-plugin")
        || metadata.name.starts_with("nvidia-gpu-device-plugin")
    {
        return Some(Advertiser::Gke);
    }
    if has_image("k8s-device-plugin") && !is_helper && !runs_helper {
        return Some(Advertiser::Nvidia);
    }
    let is_dra = has_image("k8s-dra-driver-gpu") || has_image("dra-driver-nvidia-gpu");
    // The controller of ComputeDomains has the same image and runs on no GPU node.
    let is_plugin = spec
        .containers
        .iter()
        .any(|container| container.name.contains("gpu"));
    (is_dra && is_plugin).then_some(Advertiser::Dra)
}

/// The last part of an image's path, without tag and digest.
fn image_name(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_names_have_no_registry_and_no_tag() {
        assert_eq!(
            image_name("r.io:5000/a/gpuc-runtime:0.1@sha256:ab"),
            "gpuc-runtime"
        );
        assert_eq!(image_name("gpuc-runtime"), "gpuc-runtime");
    }
}
