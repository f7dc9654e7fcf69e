//! What the image that `runtime/Containerfile` builds has to hold: the program, and no more than the libraries of its
//! base, which is distroless/cc of Debian 12.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_gpuc-runtime");

/// The version of the C library in Debian 12 (<https://packages.debian.org/bookworm/libc6>, read 2026-11-21).
const GLIBC: (u32, u32) = (2, 36);

/// Libraries of the base by the beginning of their names; the loader is called after the processor.
const LIBRARIES: &[&str] = &["ld-linux-", "libc.so.6", "libgcc_s.so.1", "libm.so.6"];

#[test]
#[ignore = "changes its root folder: needs root, chroot and ldd"]
fn needs_root_runs_with_nothing_but_the_libraries_of_its_base() {
    let libraries = libraries();
    for library in &libraries {
        let name = library.file_name().unwrap().to_str().unwrap();
        assert!(
            LIBRARIES.iter().any(|known| name.starts_with(known)),
            "{name} is not in the image"
        );
    }
    let image = tempfile::tempdir().unwrap();
    let put = |from: &Path, to: &Path| {
        let to = image.path().join(to.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    for library in &libraries {
        put(library, library);
    }
    put(Path::new(PROGRAM), Path::new("/usr/bin/gpuc-runtime"));
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

    let run = |words: &[&str]| -> Output {
        let mut command = Command::new("chroot");
        command.arg(image.path()).arg("/usr/bin/gpuc-runtime");
        command.args(words).output().unwrap()
    };
    let said = run(&["--version"]);
    let version = format!("gpuc-runtime {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&said.stdout), version, "{said:?}");
    let shown = run(&["inspect", "--fake", "h100x8"]);
    assert!(shown.status.success(), "{shown:?}");
    // Without a driver it says so, in words and not in a loader's error.
    let refused = run(&["inspect"]);
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(
        words.contains("check that the driver is installed there"),
        "{words}"
    );
}

#[test]
#[ignore = "holds for what is built on Debian 12, as the image is: needs root's CI machine"]
fn needs_root_asks_for_no_later_c_library_than_its_base_has() {
    let program = fs::read(PROGRAM).unwrap();
    let versions = program
        .windows(b"GLIBC_".len())
        .enumerate()
        .filter(|(_, window)| *window == b"GLIBC_")
        .filter_map(|(at, window)| version(&program[at + window.len()..]));
    let latest = versions.max().expect("it is linked with glibc");
    assert!(latest <= GLIBC, "glibc {}.{}", latest.0, latest.1);
}

/// The version at the beginning of a text that ends with a zero: `2.34`.
fn version(bytes: &[u8]) -> Option<(u32, u32)> {
    let end = bytes.iter().take(16).position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The libraries that the loader loads with the program, and the loader.
fn libraries() -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(PROGRAM).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let paths = text
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    paths.map(PathBuf::from).collect()
}
