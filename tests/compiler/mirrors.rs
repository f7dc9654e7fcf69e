//! With `mirror`, no generated file pulls an image or a chart from another registry, and the lock lists where each
//! image comes from.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use gpuc_compile::charts::images::release_images;
use gpuc_syntax::load::{ReadError, World};
use regex::Regex;

use crate::support::examples::examples;
use crate::support::{Outcome, compile_files, compile_text, files_below, repository};

const IMAGES: &str = "registry.mirror.test/images";
const CHARTS: &str = "oci://registry.mirror.test/charts";

/// The repository, with a mirror in every cluster file that is not a base.
struct Mirrored;

impl World for Mirrored {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let text = fs::read_to_string(repository().join(path));
        let text = text.map_err(|error| ReadError::Other(error.to_string()))?;
        let documents = text.split("\n---\n").map(|document| {
            let lines = document.lines();
            let lines = lines.filter(|line| !line.starts_with("mirror:"));
            let document: Vec<_> = lines.collect();
            format!(
                "{}\nmirror: {{images: {IMAGES}, charts: \"{CHARTS}\"}}\n",
                document.join("\n")
            )
        });
        let documents: Vec<_> = documents.collect();
        Ok(documents.join("---\n").into_bytes())
    }
}

struct Case {
    name: String,
    /// The files as the user wrote them.
    input: String,
    outcome: Outcome,
}

/// Every example and every cluster of `rich/`.
fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let rich = files_below(&repository().join("tests/compiler/rich"));
        let rich = rich
            .into_keys()
            .map(|name| (name.clone(), vec![format!("tests/compiler/rich/{name}")]));
        let all = examples().into_iter().chain(rich);
        all.map(|(name, paths)| {
            let paths: Vec<_> = paths.iter().map(String::as_str).collect();
            let texts = paths
                .iter()
                .map(|path| fs::read_to_string(repository().join(path)).unwrap());
            Case {
                name,
                input: texts.collect(),
                outcome: compile_files(&Mirrored, &paths),
            }
        })
        .collect()
    });
    &CASES
}

/// References that no node pulls, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "registry.example.com/your-image:1.0.0",
    "a README shows how to use claims, and the user writes the image",
)];

/// Hosts of public registries. A path below another host is an image only with a tag or a digest.
const REGISTRIES: &str = r"([a-z0-9-]+\.)*(docker\.io|nvcr\.io|gcr\.io|ghcr\.io|quay\.io|registry\.k8s\.io|pkg\.dev|public\.ecr\.aws|azurecr\.io|mcr\.microsoft\.com|dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com)";

/// The references to images outside the mirror in a text.
fn foreign_images(text: &str) -> BTreeSet<String> {
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        let word = "[A-Za-z0-9_.-]+";
        let known = format!(r"{REGISTRIES}/{word}(/{word})*(:{word})?(@sha256:[0-9a-f]+)?");
        let tagged = format!(
            r"[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?/{word}(/{word})*(:v?[0-9]{word}|@sha256:[0-9a-f]+)"
        );
        Regex::new(&format!("(^|[^A-Za-z0-9._/-])(?<image>{known}|{tagged})")).unwrap()
    });
    let found = REFERENCE
        .captures_iter(text)
        .map(|found| found["image"].to_owned());
    found
        .filter(|image| {
            !image.starts_with(IMAGES) && EXCEPTIONS.iter().all(|(name, _)| name != image)
        })
        .collect()
}

#[test]
fn no_file_pulls_from_another_registry() {
    let mut problems = BTreeSet::new();
    for case in cases() {
        for (path, text) in case.outcome.files() {
            for image in foreign_images(&text) {
                if !case.input.contains(&image) {
                    problems.insert(format!("{}: {path}: {image}", case.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn charts_run_images_of_the_mirror() {
    let mut problems = BTreeSet::new();
    for case in cases() {
        for compilation in &case.outcome.compilations {
            let plan = compilation.plan.as_ref();
            let Some(plan) = plan else {
                assert!(
                    compilation.loaded.is_base,
                    "{}:\n{}",
                    case.name,
                    case.outcome.text()
                );
                continue;
            };
            for release in &plan.releases {
                assert_eq!(
                    release.repository, CHARTS,
                    "{}: {}",
                    case.name, release.name
                );
                for image in release_images(release) {
                    if !image.starts_with(IMAGES) && !case.input.contains(&image) {
                        problems.insert(format!("{}: {}: {image}", case.name, release.name));
                    }
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// The lock of a cluster on hosts whose driver the GPU Operator installs.
fn lock(os: &str, more: &str) -> gpuc_compile::lock::Lock {
    let outcome = compile_text(&format!(
        "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: '1.36'}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{driver: operator, devicePlugin: operator}}
nodePools:
  - name: gpu
    hosts: [a]
    nodes: {{count: 1}}
    gpu: {{model: h100-sxm5-80gb, perNode: 8}}
    os: {{family: {os}}}
    network: {{rdma: {{infiniband: {{driver: operator}}}}}}
{more}
"
    ));
    let output = outcome.compilations[0].output.as_ref();
    output
        .unwrap_or_else(|| panic!("{}", outcome.text()))
        .1
        .clone()
}

const DRIVER: &str = "nvidia/driver:595.91.07-ubuntu24.04";
const DOCA: &str = "nvidia/mellanox/doca-driver:doca3.4.1-26.04-1.1.0.0-1";

#[test]
fn lock_has_the_tags_that_operators_complete() {
    let lock = lock("Ubuntu2404", "");
    let images = &lock.pins.images;
    assert!(images.contains(&format!("nvcr.io/{DRIVER}")), "{images:#?}");
    assert!(
        images.contains(&format!("nvcr.io/{DOCA}-ubuntu24.04-amd64")),
        "{images:#?}"
    );
    let incomplete = &lock.pins.incomplete_images;
    let keys: Vec<_> = incomplete.keys().collect();
    assert_eq!(
        keys,
        [&format!("nvcr.io/{DOCA}-<kernel>-ubuntu24.04-amd64")]
    );
    assert!(lock.pins.mirrored_images.is_empty());
}

#[test]
fn lock_says_what_only_a_node_determines() {
    let lock = lock("Rhel9", "");
    let driver = &lock.pins.incomplete_images["nvcr.io/nvidia/driver:595.91.07-<os>"];
    assert!(driver.unknown.contains("`rocky9`"), "{driver:?}");
    assert!(
        !lock
            .pins
            .images
            .iter()
            .any(|image| image.contains("driver:595"))
    );
    let doca = &lock.pins.incomplete_images[&format!("nvcr.io/{DOCA}-<os>-amd64")];
    assert!(doca.unknown.contains("/etc/os-release"), "{doca:?}");
}

#[test]
fn lock_maps_public_images_to_the_mirror() {
    let lock = lock("Ubuntu2404", &format!("mirror: {{images: {IMAGES}}}"));
    let mirrored = &lock.pins.mirrored_images;
    assert_eq!(
        mirrored[&format!("nvcr.io/{DRIVER}")],
        format!("{IMAGES}/{DRIVER}")
    );
    let missing: Vec<_> = lock
        .pins
        .images
        .iter()
        .filter(|image| !mirrored.values().any(|it| it == *image))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let incomplete = lock.pins.incomplete_images.values();
    assert!(incomplete.clone().count() == 1);
    assert!(
        incomplete
            .clone()
            .all(|image| image.mirror.as_ref().unwrap().starts_with(IMAGES))
    );
}

#[test]
fn drivers_that_differ_by_pool_have_the_tags_of_their_pools() {
    let other = "  - {name: old, hosts: [b], nodes: {count: 1}, gpu: {model: v100-sxm2-16gb, perNode: 4}, os: {family: Ubuntu2204}}";
    let lock = lock("Ubuntu2404", other);
    let drivers = lock
        .pins
        .images
        .iter()
        .filter(|image| image.contains("nvidia/driver:"));
    let drivers: Vec<_> = drivers.collect();
    assert_eq!(
        drivers,
        [
            "nvcr.io/nvidia/driver:580.178.04-ubuntu22.04",
            "nvcr.io/nvidia/driver:595.91.07-ubuntu24.04"
        ]
    );
}

#[test]
fn digests_pin_images_under_the_names_in_the_lock() {
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let names = [
        format!("nvcr.io/{DRIVER}"),
        format!("nvcr.io/{DOCA}-ubuntu24.04-amd64"),
    ];
    let digests = names.map(|name| format!("\"{name}\": {digest}")).join(", ");
    let lock = lock(
        "Ubuntu2404",
        &format!("mirror: {{images: {IMAGES}}}\ndigests: {{{digests}}}"),
    );
    let pinned: Vec<_> = lock
        .pins
        .images
        .iter()
        .filter(|image| image.ends_with(digest))
        .collect();
    assert_eq!(
        pinned,
        [
            &format!("{IMAGES}/nvidia/driver:595.91.07@{digest}"),
            &format!("{IMAGES}/nvidia/mellanox/doca-driver@{digest}"),
        ]
    );
    assert!(lock.pins.incomplete_images.is_empty());
}

#[test]
fn locks_name_every_image_of_the_mirror() {
    for case in cases() {
        for compilation in &case.outcome.compilations {
            let Some((_, lock)) = &compilation.output else {
                continue;
            };
            let mirrored: BTreeSet<_> = lock.pins.mirrored_images.values().collect();
            for image in &lock.pins.images {
                let is_listed = mirrored.contains(image) || case.input.contains(image);
                assert!(is_listed, "{}: {image}", case.name);
            }
        }
    }
}

#[test]
fn images_of_subcharts_are_in_the_lock_and_can_be_pinned() {
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let names = [
        "quay.io/prometheus/node-exporter:v1.12.1",
        "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.20.0",
        "docker.io/grafana/grafana:13.2.0",
        "quay.io/kiwigrid/k8s-sidecar:2.10.1",
    ];
    let install = "monitoring: {prometheus: {install: {grafana: {adminSecret: grafana-admin}}}}";
    let plain = lock("Ubuntu2404", install).pins.images;
    let digests = names.map(|name| format!("\"{name}\": {digest}")).join(", ");
    let pinned = lock("Ubuntu2404", &format!("{install}\ndigests: {{{digests}}}"))
        .pins
        .images;
    for name in names {
        assert!(plain.contains(name), "{plain:#?}");
        assert!(pinned.contains(&format!("{name}@{digest}")), "{pinned:#?}");
    }
}
