//! The node images of GKE.

use gpuc_schema::config::OsFamily;

use crate::cloud::{ForOperator, Injection, OsFacts};
use crate::model::operator::RUNTIME_CLASS;
use crate::model::{Pool, SUPPORTED};

/// The folder on a node that holds the driver, whoever installs it.
pub(super) const DRIVER_ROOT: &str = "/home/kubernetes/bin/nvidia";

/// Where containers see the driver, and the installer too.
pub(super) const DRIVER_IN_CONTAINER: &str = "/usr/local/nvidia";

const SOURCE: &str =
    "GoogleCloudPlatform/container-engine-accelerators@992db812 cmd/nvidia_gpu/nvidia_gpu.go";

/// Neither image has NVIDIA's container runtime: GKE's own plugin too passes device nodes and mounts the driver.
const INJECTION: Injection = Injection::DeviceNodes {
    host: DRIVER_ROOT,
    container: DRIVER_IN_CONTAINER,
};

/// The node images, the default first.
pub(super) static OS: &[OsFacts] = &[
    OsFacts {
        family: OsFamily::ContainerOptimized,
        has_driver: true,
        advertises: false,
        injection: INJECTION,
        visible_by_mount: false,
        driver_root: DRIVER_ROOT,
        runtime_class: None,
        operator: for_operator(Err("has no place that a driver container could install to")),
        kubernetes: SUPPORTED,
        source: SOURCE,
    },
    OsFacts {
        family: OsFamily::Ubuntu,
        has_driver: true,
        advertises: false,
        injection: INJECTION,
        visible_by_mount: false,
        driver_root: DRIVER_ROOT,
        runtime_class: None,
        operator: for_operator(Ok(())),
        kubernetes: SUPPORTED,
        source: SOURCE,
    },
];

/// Google's installers put the driver into a folder of their own, and the operator brings NVIDIA's container toolkit,
/// into the same folder: most others cannot be executed from.
///
/// Source: cloud-native-docs, gpu-operator/google-gke.rst, read 2026-11-21.
const fn for_operator(driver: Result<(), &'static str>) -> ForOperator {
    ForOperator {
        driver,
        toolkit: false,
        runtime_class: RUNTIME_CLASS,
        driver_dir: Some(DRIVER_ROOT),
    }
}

/// What `--image-type` takes for a pool's operating system, and what the API says.
pub(super) fn image_type(pool: &Pool) -> &'static str {
    match pool.os.value {
        OsFamily::Ubuntu => "UBUNTU_CONTAINERD",
        _ => "COS_CONTAINERD",
    }
}
