//! Node images of AKS.
//!
//! On sizes with NVIDIA GPUs AKS installs the driver and makes `nvidia-container-runtime` containerd's default runtime
//! (Azure/AgentBaker, its containerd template for GPU nodes, and MicrosoftDocs/azure-aks-docs
//! `articles/aks/use-nvidia-gpu.md`, both read 2026-11-21). The RuntimeClass below refers to the same handler, for
//! charts that require a RuntimeClass.

use gpuc_schema::config::OsFamily;

use gpuc_model::KubernetesVersion;
use gpuc_model::cloud::{Injection, NO_DRIVER_CONTAINER, OperatorSupport, OsFacts};

/// The node images. The first one is the default.
pub(super) static OS: &[OsFacts] = &[
    os_image(OsFamily::Ubuntu, 33, 37),
    os_image(OsFamily::Ubuntu2204, 33, 33),
    os_image(OsFamily::Ubuntu2404, 33, 37),
    os_image(OsFamily::AzureLinux, 33, 37),
];

/// Value of `--os-sku` for an operating system.
///
/// Source: azure-cli 2.91.0, choices of `az aks nodepool add --os-sku`.
pub(super) fn sku(family: OsFamily) -> Option<&'static str> {
    match family {
        OsFamily::Ubuntu => Some("Ubuntu"),
        OsFamily::Ubuntu2204 => Some("Ubuntu2204"),
        OsFamily::Ubuntu2404 => Some("Ubuntu2404"),
        OsFamily::AzureLinux => Some("AzureLinux"),
        _ => None,
    }
}

/// The release of Ubuntu, as Node Feature Discovery labels it.
///
/// Source: MicrosoftDocs/azure-aks-docs articles/aks/upgrade-os-version.md@024a50aa, the default of the OS SKU
/// `Ubuntu`, read 2026-11-26.
pub(super) fn ubuntu_release(family: OsFamily, version: KubernetesVersion) -> Option<&'static str> {
    match family {
        OsFamily::Ubuntu if version < KubernetesVersion(35) => Some("ubuntu22.04"),
        OsFamily::Ubuntu if version <= KubernetesVersion(37) => Some("ubuntu24.04"),
        OsFamily::Ubuntu2204 => Some("ubuntu22.04"),
        OsFamily::Ubuntu2404 => Some("ubuntu24.04"),
        _ => None,
    }
}

const fn os_image(family: OsFamily, oldest: u8, newest: u8) -> OsFacts {
    OsFacts {
        family,
        has_driver: true,
        has_device_plugin: false,
        injection: Injection::EnvironmentVariable,
        visible_by_mount: false,
        driver_root: "/",
        // The NVIDIA container runtime is the default runtime on GPU nodes of AKS.
        runtime_class: None,
        // Without the driver of AKS there is no container toolkit either; the operator installs both. With the driver,
        // AKS's handler is named after its binary (cloud-native-docs, gpu-operator/microsoft-aks.rst, read 2026-11-21).
        operator_support: OperatorSupport {
            driver: match family {
                OsFamily::AzureLinux => Err(NO_DRIVER_CONTAINER),
                _ => Ok(()),
            },
            toolkit: true,
            runtime_class: "nvidia-container-runtime",
            driver_dir: None,
        },
        kubernetes: KubernetesVersion(oldest)..=KubernetesVersion(newest),
        source: "MicrosoftDocs/azure-aks-docs articles/aks/upgrade-os-version.md@024a50aa and use-nvidia-gpu.md, 2026-11-21; Azure/AgentBaker, containerd template for GPU nodes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_version_determines_the_release_of_ubuntu() {
        let release = |minor| ubuntu_release(OsFamily::Ubuntu, KubernetesVersion(minor));
        assert_eq!(release(34), Some("ubuntu22.04"));
        assert_eq!(release(35), Some("ubuntu24.04"));
        assert_eq!(release(38), None);
    }

    #[test]
    fn every_image_has_a_sku() {
        for os in OS {
            assert!(sku(os.family).is_some(), "{:?}", os.family);
        }
        assert_eq!(sku(OsFamily::Bottlerocket), None);
        assert_eq!(OS[0].family, OsFamily::Ubuntu);
    }
}
