//! Node images of GKE.

use gpuc_schema::config::OsFamily;

use gpuc_model::cloud::{Injection, OperatorSupport, OsFacts};
use gpuc_model::operator::RUNTIME_CLASS;
use gpuc_model::{Pool, SUPPORTED};

/// Directory of the driver on a node, for every driver owner.
pub(super) const DRIVER_ROOT: &str = "/home/kubernetes/bin/nvidia";

/// Directory of the driver in containers, including the installer.
pub(super) const DRIVER_IN_CONTAINER: &str = "/usr/local/nvidia";

const SOURCE: &str =
    "GoogleCloudPlatform/container-engine-accelerators@992db812 cmd/nvidia_gpu/nvidia_gpu.go";

/// Neither image has the NVIDIA container runtime. GKE's device plugin also passes device nodes and mounts the driver.
const INJECTION: Injection = Injection::DeviceNodes {
    host: DRIVER_ROOT,
    container: DRIVER_IN_CONTAINER,
};

/// The node images. The first one is the default.
pub(super) static OS: &[OsFacts] = &[
    OsFacts {
        family: OsFamily::ContainerOptimized,
        has_driver: true,
        has_device_plugin: false,
        injection: INJECTION,
        visible_by_mount: false,
        driver_root: DRIVER_ROOT,
        runtime_class: None,
        operator_support: operator_facts(Err(
            "has no directory to which a driver container could install",
        )),
        kubernetes: SUPPORTED,
        source: SOURCE,
    },
    OsFacts {
        family: OsFamily::Ubuntu,
        has_driver: true,
        has_device_plugin: false,
        injection: INJECTION,
        visible_by_mount: false,
        driver_root: DRIVER_ROOT,
        runtime_class: None,
        operator_support: operator_facts(Ok(())),
        kubernetes: SUPPORTED,
        source: SOURCE,
    },
];

/// Google's installers write the driver to their own directory. The operator installs the NVIDIA container toolkit to
/// the same directory, because most others do not allow execution.
///
/// Source: cloud-native-docs, gpu-operator/google-gke.rst, read 2026-11-21.
const fn operator_facts(driver: Result<(), &'static str>) -> OperatorSupport {
    OperatorSupport {
        driver,
        toolkit: false,
        runtime_class: RUNTIME_CLASS,
        driver_dir: Some(DRIVER_ROOT),
    }
}

/// Value of `--image-type` for a pool's operating system, which the API also returns.
pub(super) fn image_type(pool: &Pool) -> &'static str {
    match pool.os.value {
        OsFamily::Ubuntu => "UBUNTU_CONTAINERD",
        _ => "COS_CONTAINERD",
    }
}
