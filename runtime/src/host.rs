//! What the daemon finds in the node's files: device nodes, MIG's capabilities, sockets of helpers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the daemon looks. In a container the host's folders are mounted; in a test they are made up.
#[derive(Clone, Debug)]
pub struct Roots {
    /// Device nodes: `/dev`.
    pub dev: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// The driver as the daemon's container sees it: `/driver-root`.
    pub driver: PathBuf,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFiles {
    /// Device nodes that every container with a GPU needs, by path on the host: `/dev/nvidiactl`, `/dev/nvidia-uvm`.
    pub control_nodes: Vec<String>,
    /// The minor numbers of MIG's capabilities, by their path in `/proc/driver/nvidia-caps/mig-minors`:
    /// `gpu0/gi1/access` and `gpu0/gi1/ci0/access`.
    pub mig_minors: BTreeMap<String, u32>,
    /// The IMEX channels in `/dev/nvidia-caps-imex-channels`.
    pub imex_channels: Vec<u32>,
    /// Device nodes of GDRCopy, GPUDirect Storage and Mellanox, by path on the host.
    pub gdrcopy_nodes: Vec<String>,
    /// `/dev/nvidia-fs*`.
    pub gds_nodes: Vec<String>,
    /// `/dev/infiniband/*`.
    pub mofed_nodes: Vec<String>,
    /// What the machine is called (`/sys/class/dmi/id/product_name`), as it stands there.
    pub machine: Option<String>,
}

impl HostFiles {
    /// Looks for all of it. What is not there, or cannot be read, is not there for the daemon either.
    pub fn read(roots: &Roots) -> Self {
        let control = [
            "nvidiactl",
            "nvidia-uvm",
            "nvidia-uvm-tools",
            "nvidia-modeset",
        ];
        let mig_minors = roots.proc.join("driver/nvidia-caps/mig-minors");
        let machine = fs::read_to_string(roots.sys.join("class/dmi/id/product_name"));
        Self {
            control_nodes: control
                .iter()
                .filter(|name| roots.dev.join(name).exists())
                .map(|name| format!("/dev/{name}"))
                .collect(),
            mig_minors: fs::read_to_string(mig_minors)
                .map(|text| parse_minors(&text))
                .unwrap_or_default(),
            imex_channels: numbered(&roots.dev.join("nvidia-caps-imex-channels"), "channel"),
            gdrcopy_nodes: nodes(roots, "", |name| name == "gdrdrv"),
            gds_nodes: nodes(roots, "", |name| name.starts_with("nvidia-fs")),
            mofed_nodes: nodes(roots, "infiniband/", |_| true),
            machine: machine
                .ok()
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty()),
        }
    }
}

/// The lines of the driver's table, `gpu0/gi1/ci0/access 12`. Two of its lines, `config` and `monitor`, belong to no
/// GPU; containers do not get them.
fn parse_minors(text: &str) -> BTreeMap<String, u32> {
    let line = |line: &str| {
        let (path, minor) = line.trim().split_once(' ')?;
        let minor = minor.trim().parse().ok()?;
        path.starts_with("gpu").then(|| (path.to_owned(), minor))
    };
    text.lines().filter_map(line).collect()
}

/// The numbers of the files in a folder that are called by a word and a number, in order.
fn numbered(folder: &Path, word: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = names(folder)
        .iter()
        .filter_map(|name| name.strip_prefix(word)?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The nodes below `/dev/<folder>` whose names are wanted, by path on the host; `nvidia-fs2` before `nvidia-fs10`.
fn nodes(roots: &Roots, folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names = names(&roots.dev.join(folder));
    names.retain(|name| wanted(name));
    let word = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    names.sort_unstable_by(|one, other| {
        let key = |name: &str| (name[..word(name)].to_owned(), name.len(), name.to_owned());
        key(one).cmp(&key(other))
    });
    let path = |name: String| format!("/dev/{folder}{name}");
    names.into_iter().map(path).collect()
}

/// The names of all that is in a folder and is no folder.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvml::fake::Fake;

    fn empty(folder: &Path) -> Roots {
        Roots {
            dev: folder.join("dev"),
            proc: folder.join("proc"),
            sys: folder.join("sys"),
            driver: folder.join("driver"),
        }
    }

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    #[test]
    fn a_node_without_anything_has_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(HostFiles::read(&empty(folder.path())), HostFiles::default());
    }

    #[test]
    fn what_is_there_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let roots = empty(folder.path());
        for name in [
            "nvidia-uvm",
            "nvidiactl",
            "nvidia0",
            "nvidia-fs10",
            "nvidia-fs2",
            "gdrdrv",
            "infiniband/uverbs1",
            "infiniband/uverbs0",
            "infiniband/rdma_cm",
            "nvidia-caps-imex-channels/channel10",
            "nvidia-caps-imex-channels/channel0",
            "nvidia-caps-imex-channels/channelx",
        ] {
            write(&roots.dev, name, "");
        }
        fs::create_dir_all(roots.dev.join("infiniband/by-path")).expect("a folder");
        write(
            &roots.proc,
            "driver/nvidia-caps/mig-minors",
            "config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\nnonsense\ngpu0/gi2/access many\n",
        );
        write(
            &roots.sys,
            "class/dmi/id/product_name",
            "PowerEdge XE9680 \n",
        );
        let files = HostFiles::read(&roots);
        assert_eq!(files.control_nodes, ["/dev/nvidiactl", "/dev/nvidia-uvm"]);
        assert_eq!(files.gds_nodes, ["/dev/nvidia-fs2", "/dev/nvidia-fs10"]);
        assert_eq!(files.gdrcopy_nodes, ["/dev/gdrdrv"]);
        assert_eq!(
            files.mofed_nodes,
            [
                "/dev/infiniband/rdma_cm",
                "/dev/infiniband/uverbs0",
                "/dev/infiniband/uverbs1"
            ]
        );
        assert_eq!(files.imex_channels, [0, 10]);
        let minors: Vec<_> = files.mig_minors.into_iter().collect();
        assert_eq!(
            minors,
            [
                ("gpu0/gi1/access".to_owned(), 12),
                ("gpu0/gi1/ci0/access".to_owned(), 13)
            ]
        );
        assert_eq!(files.machine.as_deref(), Some("PowerEdge XE9680"));
    }

    #[test]
    fn the_files_of_a_fake_machine_name_all_of_its_slices() {
        let folder = tempfile::tempdir().expect("a folder");
        let fake = Fake::machine("h100x2:mig=1g.10gb*7").expect("a machine");
        let roots = fake.write_roots(folder.path()).expect("files");
        let files = HostFiles::read(&roots);
        assert_eq!(files.control_nodes.len(), 3);
        for name in ["gpu0/gi7/access", "gpu1/gi13/ci0/access"] {
            assert!(files.mig_minors.contains_key(name), "{name}");
        }
        let mut minors: Vec<_> = files.mig_minors.values().collect();
        minors.sort_unstable();
        minors.dedup();
        assert_eq!(minors.len(), files.mig_minors.len());
    }
}
