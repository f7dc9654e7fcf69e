//! Operating systems of hosts, and what NVIDIA calls them.

use gpuc_schema::config::OsFamily;

use crate::cloud::{ForOperator, Injection, NO_DRIVER_CONTAINER, OsFacts, RuntimeClass};
use crate::model::SUPPORTED;
use crate::model::operator::RUNTIME_CLASS;

/// The operating systems that hosts may run; the first is the default.
pub(super) static OS: &[OsFacts] = &[
    host(OsFamily::Ubuntu2404),
    host(OsFamily::Ubuntu2204),
    host(OsFamily::Debian12),
    host(OsFamily::Rhel9),
];

/// What NVIDIA's package repositories call an operating system.
///
/// Source: the folders of <https://developer.download.nvidia.com/compute/cuda/repos/>, as NVIDIA's driver installation
/// guide names them (docs.nvidia.com/datacenter/tesla/driver-installation-guide, 2026-11).
pub(super) fn distribution(family: OsFamily) -> Option<&'static str> {
    match family {
        OsFamily::Ubuntu2204 => Some("ubuntu2204"),
        OsFamily::Ubuntu2404 => Some("ubuntu2404"),
        OsFamily::Debian12 => Some("debian12"),
        OsFamily::Rhel9 => Some("rhel9"),
        _ => None,
    }
}

/// A host has what its owner put there. NVIDIA's runtime is never the default one: with it every container that asks
/// for no GPU would see all of them.
const fn host(family: OsFamily) -> OsFacts {
    OsFacts {
        family,
        has_driver: false,
        advertises: false,
        injection: Injection::Cdi,
        visible_by_mount: false,
        driver_root: "/",
        runtime_class: Some(RuntimeClass {
            name: "nvidia",
            handler: "nvidia",
        }),
        // Whoever puts the driver on a host puts the toolkit there too: gpuc's script does, and hosts that were
        // prepared by hand need it for any plugin.
        operator: ForOperator {
            driver: match family {
                OsFamily::Debian12 => Err(NO_DRIVER_CONTAINER),
                _ => Ok(()),
            },
            toolkit: true,
            runtime_class: RUNTIME_CLASS,
            driver_dir: None,
        },
        kubernetes: SUPPORTED,
        source: "NVIDIA/k8s-device-plugin README.md@1b826acc: without --set-as-default a RuntimeClass nvidia with handler nvidia is required",
    }
}
