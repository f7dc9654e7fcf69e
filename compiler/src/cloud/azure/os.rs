//! The node images of AKS.
//!
//! On sizes with NVIDIA GPUs AKS installs the driver and makes `nvidia-container-runtime` containerd's default runtime
//! (Azure/AgentBaker, its containerd template for GPU nodes, and MicrosoftDocs/azure-aks-docs
//! `articles/aks/use-nvidia-gpu.md`, both read 2026-11-21). The runtime class below names that same handler, for charts
//! that have to ask for it.

use gpuc_schema::config::OsFamily;

use crate::cloud::{ForOperator, Injection, NO_DRIVER_CONTAINER, OsFacts};
use crate::model::KubernetesVersion;

/// The node images, the default first.
pub(super) static OS: &[OsFacts] = &[
    image(OsFamily::Ubuntu, 33, 37),
    image(OsFamily::Ubuntu2204, 33, 33),
    image(OsFamily::Ubuntu2404, 33, 37),
    image(OsFamily::AzureLinux, 33, 37),
];

/// What `--os-sku` calls a family.
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

const fn image(family: OsFamily, oldest: u8, newest: u8) -> OsFacts {
    OsFacts {
        family,
        has_driver: true,
        advertises: false,
        injection: Injection::EnvironmentVariable,
        visible_by_mount: false,
        driver_root: "/",
        // NVIDIA's runtime is the default one on AKS' GPU nodes.
        runtime_class: None,
        // Without AKS's driver there is no toolkit either, and the operator brings both. With it, the handler of AKS's
        // own is called after its program (cloud-native-docs, gpu-operator/microsoft-aks.rst, read 2026-11-21).
        operator: ForOperator {
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
    fn every_image_has_a_sku() {
        for os in OS {
            assert!(sku(os.family).is_some(), "{:?}", os.family);
        }
        assert_eq!(sku(OsFamily::Bottlerocket), None);
        assert_eq!(OS[0].family, OsFamily::Ubuntu);
    }
}
