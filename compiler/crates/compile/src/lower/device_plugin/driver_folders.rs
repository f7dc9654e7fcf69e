//! The folders of the driver on the host that gpuc-runtime's containers mount.
//!
//! If the driver has a folder of its own, that folder is mounted. A driver of the host itself is spread over the host's
//! root, which also has passwords, keys of the kubelet, and the socket of the container runtime. A mount of `/` would
//! expose them to everyone who finds a defect of the daemon, so only the folders with driver files are mounted. Drivers
//! are below `/usr` on every operating system of the catalog, and `/lib` and `/lib64` are links to `/usr` there.
//! `runtime/src/driver_files.rs` has the paths that are searched.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::cloud::Injection;
use gpuc_schema::config::Extra;
use k8s_openapi::api::core::v1::{HostPathVolumeSource, Volume, VolumeMount};

use crate::lower::node_config::{DRIVER_ROOT, driver_access};

/// A folder of the host, mounted read-only below [`DRIVER_ROOT`].
struct DriverFolder {
    /// The name of the volume.
    name: &'static str,
    /// The path on the host.
    host_path: &'static str,
    /// The path below the driver root in the container.
    path: &'static str,
    /// The volume's type: `DirectoryOrCreate` for folders that a host may lack.
    kind: &'static str,
}

const fn folder(name: &'static str, path: &'static str, kind: &'static str) -> DriverFolder {
    DriverFolder {
        name,
        host_path: path,
        path,
        kind,
    }
}

/// Libraries, programs, firmware, and the hooks of the container toolkit.
const PROGRAMS: DriverFolder = folder("driver-usr", "/usr", "Directory");

/// Device nodes, including those that appear after the start of the container.
const DEVICES: DriverFolder = folder("driver-dev", "/dev", "Directory");

/// Folders whose files a CDI spec injects into containers if they exist: settings of `OpenCL` and Vulkan, and sockets
/// of nvidia-persistenced and the Fabric Manager. nvidia-persistenced accepts an existing folder
/// (NVIDIA/nvidia-persistenced@410f354 `nvidia-persistenced.c`).
const INJECTED: [DriverFolder; 4] = [
    folder("driver-opencl", "/etc/OpenCL", "DirectoryOrCreate"),
    folder("driver-vulkan", "/etc/vulkan", "DirectoryOrCreate"),
    folder(
        "driver-persistenced",
        "/run/nvidia-persistenced",
        "DirectoryOrCreate",
    ),
    folder(
        "driver-fabricmanager",
        "/run/nvidia-fabricmanager",
        "DirectoryOrCreate",
    ),
];

/// The database of udev, in which GPUDirect Storage finds disks.
const UDEV: DriverFolder = folder("driver-udev", "/run/udev", "Directory");

fn driver_folders(cluster: &Checked<'_>, pool: &Pool) -> Vec<DriverFolder> {
    let access = driver_access(cluster, pool);
    if access.driver_root != "/" {
        return vec![DriverFolder {
            name: "driver",
            host_path: access.driver_root,
            path: "",
            kind: "Directory",
        }];
    }
    let mut folders = vec![PROGRAMS, DEVICES];
    if access.injection == Injection::Cdi {
        folders.extend(INJECTED);
        if pool.extras.iter().any(|extra| extra.value == Extra::Gds) {
            folders.push(UDEV);
        }
    }
    folders
}

/// The volumes.
pub(super) fn volumes(cluster: &Checked<'_>, pool: &Pool) -> impl Iterator<Item = Volume> {
    let folders = driver_folders(cluster, pool).into_iter();
    folders.map(|folder| Volume {
        name: folder.name.to_owned(),
        host_path: Some(HostPathVolumeSource {
            path: folder.host_path.to_owned(),
            type_: Some(folder.kind.to_owned()),
        }),
        ..Volume::default()
    })
}

/// The mounts of a container. What is installed or mounted on the host later becomes visible.
pub(super) fn mounts(cluster: &Checked<'_>, pool: &Pool) -> impl Iterator<Item = VolumeMount> {
    let folders = driver_folders(cluster, pool).into_iter();
    folders.map(|folder| VolumeMount {
        name: folder.name.to_owned(),
        mount_path: format!("{DRIVER_ROOT}{}", folder.path),
        mount_propagation: Some("HostToContainer".to_owned()),
        read_only: Some(true),
        ..VolumeMount::default()
    })
}
