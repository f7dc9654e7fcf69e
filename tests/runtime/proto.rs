//! The committed code of the kubelet's APIs matches `runtime/proto`.

use std::fs;
use std::path::{Path, PathBuf};

/// Each API: its file in `runtime/proto`, its package, and the first line of the generated module.
const APIS: [(&str, &str, &str); 2] = [
    (
        "deviceplugin.proto",
        "v1beta1",
        "//! The kubelet's device plugin API, generated from `runtime/proto/deviceplugin.proto`.",
    ),
    (
        "podresources.proto",
        "v1",
        "//! The kubelet's PodResources API, generated from `runtime/proto/podresources.proto`.",
    ),
];

#[test]
fn generated_code_is_up_to_date() {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (proto, package, first_line) in APIS {
        let committed = runtime.join(format!("src/kubelet/api/{package}.rs"));
        let expected = format!("{first_line}\n\n{}", generate(runtime, proto, package));
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            fs::write(&committed, &expected).unwrap();
        }
        let found = fs::read_to_string(&committed).unwrap_or_default();
        assert!(
            found == expected,
            "{} is stale: run UPDATE_EXPECT=1 cargo test -p gpuc-runtime, then read the diff",
            committed.display()
        );
    }
}

/// Generates the code of an API with prost and tonic. protox replaces protoc.
fn generate(runtime: &Path, proto: &str, package: &str) -> String {
    let folder: PathBuf = runtime.join("proto");
    let descriptors = protox::compile([proto], [&folder]).unwrap();
    let out = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .build_transport(false)
        .btree_map(".")
        .emit_rerun_if_changed(false)
        .out_dir(out.path())
        .compile_fds(descriptors)
        .unwrap();
    fs::read_to_string(out.path().join(format!("{package}.rs"))).unwrap()
}
