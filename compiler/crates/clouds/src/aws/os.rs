//! The GPU-related properties of the node images of EKS.

use gpuc_schema::config::OsFamily;

use gpuc_model::KubernetesVersion;
use gpuc_model::cloud::{Injection, NO_DRIVER_CONTAINER, OperatorSupport, OsFacts};
use gpuc_model::operator::{DRIVER_DIR, RUNTIME_CLASS};

/// An open end of a version range: the image is not limited to a maximum version yet.
const UNBOUNDED: KubernetesVersion = KubernetesVersion(u8::MAX);

/// The node images, the default first.
pub(super) static OS: &[OsFacts] = &[
    OsFacts {
        family: OsFamily::AmazonLinux2023,
        has_driver: true,
        has_device_plugin: false,
        // The image's NVIDIA container runtime is the default runtime of containerd on machines with GPUs.
        injection: Injection::EnvironmentVariable,
        visible_by_mount: false,
        driver_root: "/",
        runtime_class: None,
        operator_support: COMPLETE_IMAGE,
        kubernetes: KubernetesVersion(23)..=UNBOUNDED,
        source: EKS_IMAGES,
    },
    OsFacts {
        family: OsFamily::Bottlerocket,
        has_driver: true,
        has_device_plugin: true,
        injection: Injection::EnvironmentVariable,
        visible_by_mount: true,
        driver_root: "/",
        runtime_class: None,
        operator_support: COMPLETE_IMAGE,
        kubernetes: KubernetesVersion(23)..=UNBOUNDED,
        source: EKS_IMAGES,
    },
    ubuntu_image(
        OsFamily::Ubuntu2404,
        KubernetesVersion(31),
        UNBOUNDED,
        UBUNTU_IMAGES,
    ),
    ubuntu_image(
        OsFamily::Ubuntu2204,
        KubernetesVersion(29),
        UNBOUNDED,
        UBUNTU_IMAGES,
    ),
    ubuntu_image(
        OsFamily::Ubuntu2004,
        KubernetesVersion(21),
        KubernetesVersion(29),
        UBUNTU_IMAGES,
    ),
    OsFacts {
        family: OsFamily::AmazonLinux2,
        has_driver: true,
        has_device_plugin: false,
        injection: Injection::EnvironmentVariable,
        visible_by_mount: false,
        driver_root: "/",
        runtime_class: None,
        operator_support: COMPLETE_IMAGE,
        kubernetes: KubernetesVersion(21)..=KubernetesVersion(32),
        source: "eksctl-io/eksctl:pkg/apis/eksctl.io/v1alpha5/defaults.go (AmazonLinux2EOLVersion) @99984adb, 2026-08-21",
    },
];

/// An image with the driver, the toolkit and the runtime `nvidia`: the operator deploys the remaining components.
///
/// Source: awsdocs/amazon-eks-user-guide:latest/ug/ml/ml-eks-optimized-ami.adoc @07d09a00.
const COMPLETE_IMAGE: OperatorSupport = OperatorSupport {
    driver: Err("already contains the NVIDIA driver"),
    toolkit: true,
    runtime_class: RUNTIME_CLASS,
    driver_dir: None,
};

const EKS_IMAGES: &str = "awsdocs/amazon-eks-user-guide:latest/ug/ml/ml-eks-optimized-ami.adoc @07d09a00, read 2026-11-21";

const UBUNTU_IMAGES: &str = "eksctl-io/eksctl:pkg/ami/ssm_resolver.go, userdocs/src/usage/gpu-support.md @99984adb, 2026-08-21";

/// Canonical's images contain no driver and no container toolkit. The driver container of the operator or the user
/// has the driver below its own root, and containerd gets devices through CDI.
const fn ubuntu_image(
    family: OsFamily,
    from: KubernetesVersion,
    to: KubernetesVersion,
    source: &'static str,
) -> OsFacts {
    OsFacts {
        family,
        has_driver: false,
        has_device_plugin: false,
        injection: Injection::Cdi,
        visible_by_mount: false,
        driver_root: DRIVER_DIR,
        runtime_class: None,
        operator_support: OperatorSupport {
            driver: match family {
                OsFamily::Ubuntu2004 => Err(NO_DRIVER_CONTAINER),
                _ => Ok(()),
            },
            toolkit: false,
            runtime_class: RUNTIME_CLASS,
            driver_dir: None,
        },
        kubernetes: std::ops::RangeInclusive::new(from, to),
        source,
    }
}
