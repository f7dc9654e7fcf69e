//! The installed files of the driver: libraries, programs, firmware, and the hooks of the container toolkit.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Library directories in search order: those of the Red Hat and Debian families
/// (NVIDIA/nvidia-container-toolkit `internal/lookup`, read 2026-11). Below GKE's driver root it is `/lib64`.
const LIBRARY_FOLDERS: &[&str] = &[
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
];

/// Program directories.
const PROGRAM_FOLDERS: &[&str] = &[
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// The driver's programs.
const PROGRAMS: &[&str] = &[
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
];

/// Firmware directories of the kernel. `/lib` is a link to `/usr/lib` on most hosts, of which only `/usr` is mounted.
const FIRMWARE_FOLDERS: &[&str] = &[
    "/lib/firmware/updates",
    "/lib/firmware",
    "/usr/lib/firmware/updates",
    "/usr/lib/firmware",
];

/// Settings of the driver's graphics, `OpenCL` and ray tracing parts.
const SETTINGS_FILES: &[&str] = &[
    "/etc/OpenCL/vendors/nvidia.icd",
    "/etc/vulkan/icd.d/nvidia_icd.json",
    "/etc/vulkan/implicit_layer.d/nvidia_layers.json",
    "/usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",
    "/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
    "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
    "/usr/share/nvidia/nvoptix.bin",
    "/usr/share/vulkan/icd.d/nvidia_icd.json",
    "/usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
];

/// Sockets of the driver's daemons.
const SOCKET_FILES: &[&str] = &[
    "/run/nvidia-persistenced/socket",
    "/run/nvidia-fabricmanager/socket",
];

/// Files of GPUDirect Storage.
const STORAGE_FILES: &[&str] = &["/etc/cufile.json", "/run/udev"];

/// Locations of the container toolkit's hook program, in order of preference.
const HOOK_PROGRAMS: &[&str] = &[
    "/usr/bin/nvidia-cdi-hook",
    "/usr/local/nvidia/toolkit/nvidia-cdi-hook",
    "/usr/bin/nvidia-ctk",
    "/usr/local/nvidia/toolkit/nvidia-ctk",
];

/// The hooks that gpuc uses.
const USED_HOOKS: &[&str] = &[
    "create-symlinks",
    "enable-cuda-compat",
    "update-ldcache",
    "disable-device-node-modification",
    "update-application-profile",
];

/// The files of the driver. Paths are relative to the driver root, as in containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverFiles {
    /// The driver's libraries.
    pub libraries: Vec<Library>,
    /// Its programs.
    pub programs: Vec<String>,
    /// Its firmware.
    pub firmware: Vec<String>,
    /// Settings of its graphics parts.
    pub settings: Vec<String>,
    /// Sockets of its daemons.
    pub sockets: Vec<String>,
    /// Files of GPUDirect Storage.
    pub storage: Vec<String>,
    /// The hook program of the container toolkit.
    pub hook: Option<HookProgram>,
}

/// A library of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The file: `/usr/lib64/libcuda.so.570.86.15`.
    pub path: String,
    /// The links to it: `/usr/lib64/libcuda.so.1`.
    pub links: Vec<String>,
}

/// A hook program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProgram {
    /// Its path.
    pub path: String,
    /// The hooks that it supports.
    pub hooks: Vec<String>,
}

impl DriverFiles {
    /// Finds the files of this driver version below the driver root, as seen by the daemon's container.
    pub fn read(root: &Path, version: &str) -> Self {
        let existing = |paths: &[&str]| -> Vec<String> {
            let found = paths.iter().filter(|path| join_root(root, path).exists());
            found.map(|path| (*path).to_owned()).collect()
        };
        Self {
            libraries: find_libraries(root, version),
            programs: find_programs(root),
            firmware: find_firmware(root, version),
            settings: existing(SETTINGS_FILES),
            sockets: existing(SOCKET_FILES),
            storage: existing(STORAGE_FILES),
            hook: find_hook_program(root),
        }
    }

    /// The folders and files below the driver root that are searched for files to inject into containers.
    pub fn injected_paths() -> impl Iterator<Item = &'static str> {
        let lists = [
            LIBRARY_FOLDERS,
            PROGRAM_FOLDERS,
            FIRMWARE_FOLDERS,
            SETTINGS_FILES,
            SOCKET_FILES,
            STORAGE_FILES,
            HOOK_PROGRAMS,
        ];
        lists.into_iter().flatten().copied()
    }

    /// The folders in which the libraries of the driver are searched, below its root.
    pub fn library_folders() -> &'static [&'static str] {
        LIBRARY_FOLDERS
    }

    /// Returns the missing file without which no container can compute, if any.
    pub fn missing_file(&self, version: &str) -> Option<String> {
        let name = format!("libcuda.so.{version}");
        let is_library = |library: &Library| library.path.ends_with(&format!("/{name}"));
        (!self.libraries.iter().any(is_library)).then_some(name)
    }
}

/// Finds the driver's libraries by the version in their names. A directory that links to another is read once.
fn find_libraries(root: &Path, version: &str) -> Vec<Library> {
    let mut libraries = Vec::new();
    let mut seen = Vec::new();
    for folder in LIBRARY_FOLDERS {
        let Ok(real) = fs::canonicalize(join_root(root, folder)) else {
            continue;
        };
        if seen.contains(&real) {
            continue;
        }
        libraries.extend(find_libraries_in(root, folder, version));
        libraries.extend(find_libraries_in(root, &format!("{folder}/vdpau"), version));
        seen.push(real);
    }
    libraries
}

fn find_libraries_in(root: &Path, folder: &str, version: &str) -> Vec<Library> {
    let suffix = format!(".so.{version}");
    let mut files = Vec::new();
    let mut targets: BTreeMap<String, String> = BTreeMap::new();
    for entry in sorted_entries(root, folder) {
        let Ok(kind) = fs::symlink_metadata(join_root(root, &format!("{folder}/{entry}"))) else {
            continue;
        };
        if kind.is_symlink() {
            let target = fs::read_link(join_root(root, &format!("{folder}/{entry}")));
            let target = target.ok().and_then(|path| {
                let name = path.file_name()?.to_str()?;
                Some(name.to_owned())
            });
            targets.extend(target.map(|target| (entry, target)));
        } else if entry.starts_with("lib") && entry.ends_with(&suffix) {
            files.push(entry);
        }
    }
    let library = |file: String| Library {
        links: targets
            .keys()
            .filter(|link| resolves_to(&targets, link, &file))
            .map(|link| format!("{folder}/{link}"))
            .collect(),
        path: format!("{folder}/{file}"),
    };
    files.into_iter().map(library).collect()
}

/// Whether a link resolves to a file in its directory, possibly through other links.
fn resolves_to(targets: &BTreeMap<String, String>, link: &str, file: &str) -> bool {
    let mut at = link;
    // The number of steps is limited because links can be a cycle.
    for _ in 0..targets.len() {
        let Some(target) = targets.get(at) else {
            return false;
        };
        if target == file {
            return true;
        }
        at = target;
    }
    false
}

fn find_programs(root: &Path) -> Vec<String> {
    let find = |program: &&str| {
        let mut paths = PROGRAM_FOLDERS
            .iter()
            .map(|folder| format!("{folder}/{program}"));
        paths.find(|path| join_root(root, path).is_file())
    };
    PROGRAMS.iter().filter_map(find).collect()
}

fn find_firmware(root: &Path, version: &str) -> Vec<String> {
    let files = |folder: &&str| {
        let folder = format!("{folder}/nvidia/{version}");
        let names = sorted_entries(root, &folder).into_iter();
        let is_gsp = |name: &String| {
            name.starts_with("gsp") && name.rsplit_once('.').is_some_and(|(_, end)| end == "bin")
        };
        let paths: Vec<_> = names
            .filter(is_gsp)
            .map(|name| format!("{folder}/{name}"))
            .collect();
        (!paths.is_empty()).then_some(paths)
    };
    FIRMWARE_FOLDERS.iter().find_map(files).unwrap_or_default()
}

/// Finds the hook program and its hooks. An unknown hook prevents the start of a container (before toolkit 1.17.7), and
/// the daemon cannot run programs of the host, so it searches the file for the names. If the toolkit's installer
/// replaced the program with a script, the program is next to it.
fn find_hook_program(root: &Path) -> Option<HookProgram> {
    HOOK_PROGRAMS.iter().find_map(|path| {
        let found = join_root(root, path).is_file();
        if !found {
            return None;
        }
        let named =
            |file: &str| find_names_in_file(&join_root(root, file), USED_HOOKS).unwrap_or_default();
        let mut hooks = named(path);
        if hooks.is_empty() {
            hooks = named(&format!("{path}.real"));
        }
        (!hooks.is_empty()).then(|| HookProgram {
            path: (*path).to_owned(),
            hooks,
        })
    })
}

/// Returns the names that a file contains. The file is large and read in chunks, to limit memory.
fn find_names_in_file(path: &Path, names: &[&str]) -> io::Result<Vec<String>> {
    const CHUNK_SIZE: usize = 64 * 1024;
    let overlap = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut file = fs::File::open(path)?;
    let mut found: Vec<String> = Vec::new();
    let mut window: Vec<u8> = Vec::with_capacity(CHUNK_SIZE + overlap);
    let mut piece = vec![0; CHUNK_SIZE];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        window.extend_from_slice(&piece[..read]);
        for name in names {
            let known = found.iter().any(|known| known == name);
            if !known && contains_bytes(&window, name.as_bytes()) {
                found.push((*name).to_owned());
            }
        }
        window.drain(..window.len().saturating_sub(overlap));
    }
    Ok(found)
}

fn contains_bytes(text: &[u8], name: &[u8]) -> bool {
    text.windows(name.len()).any(|part| part == name)
}

/// Lists the names in a directory, sorted; empty if it does not exist.
fn sorted_entries(root: &Path, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(join_root(root, folder)).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

fn join_root(root: &Path, path: &str) -> std::path::PathBuf {
    root.join(path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write_file(root: &Path, path: &str, text: &str) {
        let path = join_root(root, path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn libraries_of_the_version_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write_file(root, "/usr/lib64/libcuda.so.570.86.15", "");
        write_file(root, "/usr/lib64/libcuda.so.565.57.01", "");
        write_file(root, "/usr/lib64/libc.so.6", "");
        write_file(root, "/usr/lib64/vdpau/libvdpau_nvidia.so.570.86.15", "");
        let lib = root.join("usr/lib64");
        symlink("libcuda.so.570.86.15", lib.join("libcuda.so.1")).unwrap();
        symlink("libcuda.so.1", lib.join("libcuda.so")).unwrap();
        symlink("circle", lib.join("circle")).unwrap();
        symlink("usr/lib64", root.join("lib64")).unwrap();
        let files = DriverFiles::read(root, "570.86.15");
        let links = ["/usr/lib64/libcuda.so", "/usr/lib64/libcuda.so.1"].map(str::to_owned);
        assert_eq!(
            files.libraries,
            [
                Library {
                    path: "/usr/lib64/libcuda.so.570.86.15".to_owned(),
                    links: links.to_vec(),
                },
                Library {
                    path: "/usr/lib64/vdpau/libvdpau_nvidia.so.570.86.15".to_owned(),
                    links: Vec::new(),
                },
            ]
        );
        assert_eq!(files.missing_file("570.86.15"), None);
        let other = DriverFiles::read(root, "570.1");
        assert_eq!(other.missing_file("570.1").unwrap(), "libcuda.so.570.1");
    }

    #[test]
    fn other_files_are_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            "/usr/bin/nvidia-smi",
            "/bin/nvidia-smi",
            "/lib/firmware/nvidia/570.86.15/gsp_tu10x.bin",
            "/lib/firmware/nvidia/570.86.15/other.bin",
            "/lib/firmware/nvidia/1.0/gsp_tu10x.bin",
            "/usr/share/nvidia/nvoptix.bin",
        ] {
            write_file(root, path, "");
        }
        let files = DriverFiles::read(root, "570.86.15");
        assert_eq!(files.programs, ["/usr/bin/nvidia-smi"]);
        assert_eq!(
            files.firmware,
            ["/lib/firmware/nvidia/570.86.15/gsp_tu10x.bin"]
        );
        assert_eq!(files.settings, ["/usr/share/nvidia/nvoptix.bin"]);
        assert_eq!(files.hook, None);
    }

    /// A host whose `/lib` is a link to `/usr/lib`, and of whose root only `/usr` is mounted.
    #[test]
    fn firmware_is_found_without_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let file = "/usr/lib/firmware/nvidia/570.86.15/gsp_tu10x.bin";
        write_file(folder.path(), file, "");
        assert_eq!(
            DriverFiles::read(folder.path(), "570.86.15").firmware,
            [file]
        );
    }

    #[test]
    fn hooks_are_found_without_running_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        // The second name crosses the boundary of two chunks.
        let mut program = "create-symlinks".to_owned();
        program.push_str(&"-".repeat(64 * 1024 - program.len() - 5));
        program.push_str("update-ldcache");
        write_file(root, "/usr/bin/nvidia-ctk", &program);
        let hook = DriverFiles::read(root, "1").hook.unwrap();
        assert_eq!(hook.path, "/usr/bin/nvidia-ctk");
        assert_eq!(hook.hooks, ["create-symlinks", "update-ldcache"]);
        // A script of the toolkit's installer, which runs the program next to it.
        let script = "/usr/local/nvidia/toolkit/nvidia-cdi-hook";
        write_file(root, script, "#!/bin/sh");
        write_file(root, &format!("{script}.real"), "update-ldcache");
        let hook = DriverFiles::read(root, "1").hook.unwrap();
        assert_eq!((hook.path.as_str(), hook.hooks.len()), (script, 1));
    }
}
