//! The properties of gpuc's container image that can be checked in `compiler/Containerfile` without building it.

use std::fs;
use std::process::Command;

use crate::support::repository;

/// The libraries in distroless/cc of Debian 12, the base of the smallest image, by the prefixes of their names.
const LIBRARIES: &[&str] = &[
    "linux-vdso.so.1",
    "ld-linux-",
    "libc.so.6",
    "libgcc_s.so.1",
    "libm.so.6",
];

fn lines() -> Vec<String> {
    let text = fs::read_to_string(repository().join("compiler/Containerfile")).unwrap();
    let text = text.replace("\\\n", " ");
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

#[test]
fn base_images_are_pinned_and_non_root() {
    let lines = lines();
    let mut stages: Vec<Vec<&str>> = Vec::new();
    for line in &lines {
        if line.starts_with("FROM ") {
            stages.push(Vec::new());
        }
        stages.last_mut().unwrap().push(line);
    }
    assert_eq!(stages.len(), 3);
    for stage in &stages {
        let base = stage[0].split_whitespace().nth(1).unwrap();
        let (_, tag) = base.rsplit_once(':').unwrap();
        assert!(
            base.split('/').next().unwrap().contains('.') && tag != "latest",
            "{base}"
        );
    }
    let (build, made) = stages.split_first().unwrap();
    assert!(build.contains(&"RUN cargo build --locked --profile dist -p gpuc"));
    for stage in made {
        assert!(
            stage.contains(&"USER 65532:65532") && stage.contains(&"WORKDIR /work"),
            "{stage:?}"
        );
        assert!(
            stage.contains(&"COPY --from=build /source/target/dist/gpuc /usr/bin/gpuc"),
            "{stage:?}"
        );
        assert_eq!(stage.last(), Some(&"ENTRYPOINT [\"/usr/bin/gpuc\"]"));
    }
    let runtime = fs::read_to_string(repository().join("runtime/Containerfile")).unwrap();
    let rust = lines[0].split_whitespace().nth(1).unwrap();
    assert!(
        runtime.contains(rust),
        "the images are built with different versions of Rust"
    );
    let version = env!("CARGO_PKG_RUST_VERSION");
    assert!(rust.contains(&format!(":{version}-")), "{rust}");
}

/// The image contains every program that the GitLab jobs run.
#[test]
fn image_has_the_tools_of_pipelines() {
    let install = lines()
        .into_iter()
        .find(|line| line.contains("apt-get install"))
        .unwrap();
    for program in ["ca-certificates", "curl", "git", "jq"] {
        assert!(
            install.split_whitespace().any(|word| word == program),
            "{program}"
        );
    }
}

#[test]
#[ignore = "needs ldd"]
fn binary_needs_only_libraries_of_its_base() {
    let output = Command::new("ldd")
        .arg(env!("CARGO_BIN_EXE_gpuc"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut count = 0;
    for line in text.lines() {
        let name = line.split_whitespace().next().unwrap();
        let name = name.rsplit('/').next().unwrap();
        count += 1;
        assert!(
            LIBRARIES.iter().any(|known| name.starts_with(known)),
            "{name} is not in the image"
        );
    }
    assert!(count >= 3, "{text}");
}
