//! Operating systems of hosts, and their names in NVIDIA's package repositories.

use gpuc_schema::config::OsFamily;

use gpuc_model::SUPPORTED;
use gpuc_model::cloud::{Injection, NO_DRIVER_CONTAINER, OperatorSupport, OsFacts, RuntimeClass};
use gpuc_model::operator::RUNTIME_CLASS;

/// The supported operating systems of hosts. The first one is the default.
pub(super) static OS: &[OsFacts] = &[
    host_os(OsFamily::Ubuntu2404),
    host_os(OsFamily::Ubuntu2204),
    host_os(OsFamily::Debian12),
    host_os(OsFamily::Rhel9),
];

/// Name of an operating system in NVIDIA's package repositories.
///
/// Source: the directories of <https://developer.download.nvidia.com/compute/cuda/repos/>, as in NVIDIA's driver
/// installation guide (docs.nvidia.com/datacenter/tesla/driver-installation-guide, 2026-11).
pub(super) fn repository_name(family: OsFamily) -> Option<&'static str> {
    match family {
        OsFamily::Ubuntu2204 => Some("ubuntu2204"),
        OsFamily::Ubuntu2404 => Some("ubuntu2404"),
        OsFamily::Debian12 => Some("debian12"),
        OsFamily::Rhel9 => Some("rhel9"),
        _ => None,
    }
}

/// The software on a host depends on its owner. The NVIDIA container runtime is never the default runtime: as the
/// default, it would expose all GPUs to containers that request none.
const fn host_os(family: OsFamily) -> OsFacts {
    OsFacts {
        family,
        has_driver: false,
        has_device_plugin: false,
        injection: Injection::Cdi,
        visible_by_mount: false,
        driver_root: "/",
        runtime_class: Some(RuntimeClass {
            name: "nvidia",
            handler: "nvidia",
        }),
        // The driver owner of a host also installs the container toolkit: gpuc's script installs both, and hosts that
        // were prepared by hand require it for every device plugin.
        operator_support: OperatorSupport {
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
