//! The names of components, namespaces and APIs that several parts of the output refer to.

/// The component whose DaemonSets install the drivers of pools.
pub const DRIVER_INSTALLER: &str = "nvidia-driver-installer";

/// The component of the DeviceClasses: the folder of their manifests.
pub const DEVICE_CLASSES: &str = "allocation";

/// The namespace of NVIDIA's driver for Dynamic Resource Allocation.
pub const DRA_DRIVER_NAMESPACE: &str = "dra-driver-nvidia-gpu";

/// The environment variable with which NVIDIA's container runtime selects the GPUs of a container.
pub const VISIBLE_DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";
