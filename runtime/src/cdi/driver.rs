//! The driver's files in a container: mounts and hooks.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Hook, Mount};
use crate::driver_files::{DriverFiles, Library};

/// Mount options of libraries, programs, firmware and settings.
const FILE_MOUNT_OPTIONS: &[&str] = &["ro", "nosuid", "nodev", "rbind", "rprivate"];

/// Mount options of sockets, which are not executable.
const SOCKET_MOUNT_OPTIONS: &[&str] = &["ro", "nosuid", "nodev", "rbind", "rprivate", "noexec"];

/// The hook that creates the links of the sonames of libraries.
const LOADER_HOOK: &str = "update-ldcache";

/// Links that programs load and that ldconfig does not create, since they are not sonames.
const EXTRA_LINKS: &[(&str, &str, &str)] = &[
    ("libcuda.so.", "libcuda.so.1", "libcuda.so"),
    (
        "libnvidia-opticalflow.so.",
        "libnvidia-opticalflow.so.1",
        "libnvidia-opticalflow.so",
    ),
];

/// Returns the mounts of the driver's files, under their paths relative to the driver root.
///
/// The loader searches `libcuda.so.1`, but the file is `libcuda.so.570.86.15`. NVIDIA's hooks create the links;
/// if the hooks are not installed, the file is mounted under each of its names.
pub(super) fn driver_mounts(host_root: &Path, driver: &DriverFiles) -> Vec<Mount> {
    let mut mounts = Vec::new();
    let hook = driver.hook.as_ref();
    let named_by_hook = hook.is_some_and(|hook| hook.hooks.iter().any(|hook| hook == LOADER_HOOK));
    for library in &driver.libraries {
        mounts.push(bind_mount(
            host_root,
            &library.path,
            &library.path,
            FILE_MOUNT_OPTIONS,
        ));
        if !named_by_hook {
            for link in &library.links {
                mounts.push(bind_mount(
                    host_root,
                    &library.path,
                    link,
                    FILE_MOUNT_OPTIONS,
                ));
            }
        }
    }
    for path in &driver.programs {
        mounts.push(bind_mount(host_root, path, path, FILE_MOUNT_OPTIONS));
    }
    for path in &driver.firmware {
        // Containers have it where the kernel searches, as with NVIDIA's toolkit.
        let to = path.strip_prefix("/usr").unwrap_or(path);
        mounts.push(bind_mount(host_root, path, to, FILE_MOUNT_OPTIONS));
    }
    for path in &driver.settings {
        mounts.push(bind_mount(host_root, path, path, FILE_MOUNT_OPTIONS));
    }
    for path in &driver.sockets {
        mounts.push(bind_mount(host_root, path, path, SOCKET_MOUNT_OPTIONS));
    }
    mounts
}

/// Returns the mounts of GPUDirect Storage.
pub(super) fn storage_mounts(host_root: &Path, driver: &DriverFiles) -> Vec<Mount> {
    let paths = driver.storage.iter();
    paths
        .map(|path| bind_mount(host_root, path, path, FILE_MOUNT_OPTIONS))
        .collect()
}

/// Returns the hooks of NVIDIA's container toolkit that the installed version supports.
pub(super) fn driver_hooks(host_root: &Path, driver: &DriverFiles, version: &str) -> Vec<Hook> {
    let Some(program) = &driver.hook else {
        return Vec::new();
    };
    let links = link_arguments(&driver.libraries);
    let links = links
        .into_iter()
        .flat_map(|link| ["--link".to_owned(), link]);
    let folders: BTreeSet<_> = driver
        .libraries
        .iter()
        .filter_map(|library| library.path.rsplit_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    let folders = folders
        .into_iter()
        .flat_map(|folder| ["--folder".to_owned(), folder.to_owned()]);
    let newer = format!("--host-driver-version={version}");
    let hooks = [
        ("create-symlinks", links.collect::<Vec<_>>()),
        ("enable-cuda-compat", vec![newer]),
        (LOADER_HOOK, folders.collect()),
        ("disable-device-node-modification", Vec::new()),
        ("update-application-profile", Vec::new()),
    ];
    let path = to_host_path(host_root, &program.path);
    let name = program.path.rsplit('/').next().unwrap_or_default();
    let hook = |(hook, words): (&str, Vec<String>)| {
        let useless = hook == "create-symlinks" && words.is_empty();
        if useless || !program.hooks.iter().any(|known| known == hook) {
            return None;
        }
        let mut args = vec![name.to_owned()];
        if name == "nvidia-ctk" {
            args.push("hook".to_owned());
        }
        args.push(hook.to_owned());
        args.extend(words);
        Some(Hook {
            hook_name: "createContainer",
            path: path.clone(),
            args,
        })
    };
    hooks.into_iter().filter_map(hook).collect()
}

/// Formats links for the hook: `target::link`.
fn link_arguments(libraries: &[Library]) -> Vec<String> {
    let mut links = BTreeSet::new();
    for library in libraries {
        let Some((folder, file)) = library.path.rsplit_once('/') else {
            continue;
        };
        for (start, target, link) in EXTRA_LINKS {
            if file.starts_with(start) {
                links.insert(format!("{target}::{folder}/{link}"));
            }
        }
        if file.starts_with("libGLX_nvidia.so.") {
            links.insert(format!("{file}::{folder}/libGLX_indirect.so.0"));
        }
    }
    links.into_iter().collect()
}

fn bind_mount(host_root: &Path, from: &str, to: &str, options: &[&'static str]) -> Mount {
    Mount {
        host_path: to_host_path(host_root, from),
        container_path: to.to_owned(),
        options: options.to_vec(),
    }
}

/// Returns the host path of a path below the driver root.
fn to_host_path(host_root: &Path, path: &str) -> String {
    let below = path.trim_start_matches('/');
    host_root.join(below).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel searches firmware below `/lib`, which is a link on most hosts.
    #[test]
    fn firmware_is_mounted_where_the_kernel_searches() {
        let file = "/lib/firmware/nvidia/570.86.15/gsp_tu10x.bin";
        for (root, found) in [
            ("/", format!("/usr{file}")),
            ("/run/nvidia/driver", file.to_owned()),
        ] {
            let driver = DriverFiles {
                firmware: vec![found.clone()],
                ..DriverFiles::default()
            };
            let mounts = driver_mounts(Path::new(root), &driver);
            assert_eq!(mounts.len(), 1);
            assert_eq!(mounts[0].container_path, file);
            assert_eq!(
                mounts[0].host_path,
                format!("{}{found}", root.trim_end_matches('/'))
            );
        }
    }
}
