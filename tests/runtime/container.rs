//! The requirements of the program on the image that `runtime/Containerfile` builds: only the libraries of its base,
//! which is distroless/cc of Debian 12.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_gpuc-runtime");

/// The version of the C library in Debian 12 (<https://packages.debian.org/bookworm/libc6>, read 2026-11-21).
const GLIBC: (u32, u32) = (2, 36);

/// The prefixes of the names of the base's libraries. The loader's name contains the processor architecture.
const LIBRARIES: &[&str] = &["ld-linux-", "libc.so.6", "libgcc_s.so.1", "libm.so.6"];

#[test]
#[ignore = "changes its root folder: needs root, chroot and ldd"]
fn needs_root_program_runs_with_base_libraries_only() {
    let libraries = libraries();
    for library in &libraries {
        let name = library.file_name().unwrap().to_str().unwrap();
        assert!(
            LIBRARIES.iter().any(|known| name.starts_with(known)),
            "{name} is not in the image"
        );
    }
    let image = tempfile::tempdir().unwrap();
    let copy = |from: &Path, to: &Path| {
        let to = image.path().join(to.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    for library in &libraries {
        copy(library, library);
    }
    copy(Path::new(PROGRAM), Path::new("/usr/bin/gpuc-runtime"));
    let config = json!({
        "apiVersion": "node.gpuc.dev/v1alpha1",
        "kind": "NodeConfig",
        "cluster": "demo",
        "pool": "train",
        "expected": {"model": "h100-sxm5-80gb", "count": 8},
        "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
        "devices": "environmentVariable",
        "sharing": "exclusive",
        "resources": {"nvidia.com/gpu": 8},
    });
    fs::create_dir_all(image.path().join("etc/gpuc")).unwrap();
    fs::write(image.path().join("etc/gpuc/node.json"), config.to_string()).unwrap();

    let run = |args: &[&str]| -> Output {
        let mut command = Command::new("chroot");
        command.arg(image.path()).arg("/usr/bin/gpuc-runtime");
        command.args(args).output().unwrap()
    };
    let output = run(&["--version"]);
    let version = format!("gpuc-runtime {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        version,
        "{output:?}"
    );
    let output = run(&["inspect", "--fake", "h100x8"]);
    assert!(output.status.success(), "{output:?}");
    // A missing driver is the program's error, not the loader's.
    let output = run(&["inspect"]);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(
        log.contains("check that the driver is installed there"),
        "{log}"
    );
}

#[test]
#[ignore = "the program must be built on Debian 12, like the image: needs a CI machine with root"]
fn needs_root_base_has_the_required_glibc() {
    let program = fs::read(PROGRAM).unwrap();
    let versions = program
        .windows(b"GLIBC_".len())
        .enumerate()
        .filter(|(_, window)| *window == b"GLIBC_")
        .filter_map(|(at, window)| version(&program[at + window.len()..]));
    let latest = versions.max().expect("the program is linked with glibc");
    assert!(latest <= GLIBC, "glibc {}.{}", latest.0, latest.1);
}

/// The version at the beginning of a text that ends with a zero byte, such as `2.34`.
fn version(bytes: &[u8]) -> Option<(u32, u32)> {
    let end = bytes.iter().take(16).position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The program's libraries, and the loader.
fn libraries() -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(PROGRAM).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let paths = text
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    paths.map(PathBuf::from).collect()
}
