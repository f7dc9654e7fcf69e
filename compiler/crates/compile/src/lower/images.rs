//! The images in generated objects: their registries and digests.

use std::collections::BTreeSet;

use gpuc_schema::Spanned;
use gpuc_schema::config::{GpuCluster, Notebooks, TextMap};

use gpuc_model::Cluster;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Object, PulledImage, Release};
use gpuc_syntax::node::{Node, Origin, Scalar, Value};

use super::node_tags::{self, TagSuffix};
use crate::charts::images::{on_demand_images, running_images};

/// The reason of changed images.
const MIRROR_REASON: &str = "`mirror` and `digests` set the registry and the digest of images";

/// Replaces the registry of every image that the user did not set with the mirror, and appends digests.
pub(super) fn apply_mirror_and_digests(cluster: &Checked<'_>, objects: &mut [Object]) {
    let config = &cluster.config;
    if config.mirror.images.is_none() && config.digests.is_empty() {
        return;
    }
    let user_references = user_images(cluster);
    for object in objects {
        visit_images(&mut object.node, &mut |image| {
            let Some(reference) = image.text().map(str::to_owned) else {
                return;
            };
            if user_references.contains(&reference.as_str()) || !has_registry(&reference) {
                return;
            }
            if let Some((text, origin)) = mirrored_reference(&reference, config) {
                image.value = Value::Scalar(Scalar::Text(text));
                image.origin = origin;
            }
        });
        let identity = object.identity.clone();
        let suffixes = |reference: &str| node_tags::object_suffixes(cluster, &identity, reference);
        change_split_references(&mut object.node, &mut |image| {
            change_split_reference(image, config, &suffixes);
        });
    }
}

/// Visits the images that custom resources of NVIDIA's operators specify in parts.
fn change_split_references(node: &mut Node, change: &mut dyn FnMut(&mut Node)) {
    if split_reference(node).is_some() {
        change(node);
    }
    match &mut node.value {
        Value::Mapping(entries) => {
            for entry in entries {
                change_split_references(&mut entry.value, change);
            }
        }
        Value::Sequence(items) => {
            for item in items {
                change_split_references(item, change);
            }
        }
        Value::Scalar(_) => {}
    }
}

/// Replaces the registry of an image that is specified in parts, and its version if `digests` names the image with or
/// without the suffix of a node. The operators accept a digest as the version.
///
/// Source: Mellanox/network-operator@85afd6d9 `pkg/render/render.go` (`imagePath`), NVIDIA/gpu-operator@10ee5b36
/// `internal/image/image.go`, read 2026-11-26.
fn change_split_reference(
    image: &mut Node,
    config: &GpuCluster,
    suffixes: &dyn Fn(&str) -> BTreeSet<TagSuffix>,
) {
    let Some(reference) = split_reference(image) else {
        return;
    };
    let suffixes = suffixes(&reference);
    let digest = config.digests.iter().find(|(name, _)| {
        let mut complete = node_tags::completed(&reference, &suffixes);
        name.value == reference || complete.any(|(complete, _)| name.value == complete)
    });
    if let Some((name, digest)) = digest {
        let origin = Origin::rule([name.span, digest.span], MIRROR_REASON);
        set_text(image, "version", &digest.value, &origin);
    }
    if let (Some(registry), Some(repository)) = (
        &config.mirror.images,
        image.get("repository").and_then(Node::text),
    ) {
        let path = repository.split_once('/').map_or("", |(_, path)| path);
        let text = format!("{}/{path}", registry.trim_end_matches('/'));
        let origin = Origin::rule([registry.span], MIRROR_REASON);
        set_text(image, "repository", &text, &origin);
    }
}

fn set_text(node: &mut Node, key: &str, text: &str, origin: &Origin) {
    if let Value::Mapping(entries) = &mut node.value {
        for entry in entries.iter_mut().filter(|entry| entry.key == key) {
            entry.value.value = Value::Scalar(Scalar::Text(text.to_owned()));
            entry.value.origin = origin.clone();
        }
    }
}

/// The image references in an object.
pub(crate) fn image_references(object: &Object) -> Vec<String> {
    let mut found = Vec::new();
    let mut node = object.node.clone();
    visit_images(&mut node, &mut |image| {
        found.extend(image.text().filter(|it| !it.is_empty()).map(str::to_owned));
    });
    collect_split_references(&object.node, &mut found);
    found
}

/// Collects the images that custom resources of NVIDIA's operators specify in parts.
fn collect_split_references(node: &Node, found: &mut Vec<String>) {
    found.extend(split_reference(node));
    for entry in node.entries() {
        collect_split_references(&entry.value, found);
    }
}

/// The image that a mapping specifies by repository, image and version.
///
/// Source: `ImageSpec` of Mellanox/network-operator@85afd6d9 `api/v1alpha1/nicclusterpolicy_types.go` and
/// `NVIDIADriverSpec` of NVIDIA/gpu-operator@10ee5b36 `api/nvidia/v1alpha1/nvidiadriver_types.go`, read 2026-11-26.
fn split_reference(node: &Node) -> Option<String> {
    let text_of = |key: &str| node.get(key).and_then(Node::text);
    let (repository, image, version) = (
        text_of("repository")?,
        text_of("image")?,
        text_of("version")?,
    );
    let separator = if version.starts_with("sha256:") {
        '@'
    } else {
        ':'
    };
    Some(format!("{repository}/{image}{separator}{version}"))
}

/// Every image that the nodes pull. gpuc's own images without a registry are already on the node. `public` has the
/// references of each object before [`apply_mirror_and_digests`].
pub(super) fn pulled_images(
    cluster: &Checked<'_>,
    objects: &[Object],
    public: &[Vec<String>],
    releases: &[Release],
) -> Vec<PulledImage> {
    let mut found = BTreeSet::new();
    let mut add = |public: &str, reference: &str, suffixes: &BTreeSet<TagSuffix>| {
        for (complete, unknown) in node_tags::completed(reference, suffixes) {
            found.insert(PulledImage {
                source: public_reference(public, &complete, cluster),
                reference: complete,
                unknown,
            });
        }
    };
    let user_references = user_images(cluster);
    for (object, public) in objects.iter().zip(public) {
        let references = image_references(object);
        let pulled = public.iter().zip(&references).filter(|(_, reference)| {
            has_registry(reference) || user_references.contains(&reference.as_str())
        });
        for (public, reference) in pulled {
            let suffixes = node_tags::object_suffixes(cluster, &object.identity, public);
            add(public, reference, &suffixes);
        }
    }
    for release in releases {
        for image in running_images(release.chart.name, &release.values) {
            let suffixes = node_tags::release_suffixes(cluster, &image, &release.values);
            add(image.chart_image.repository, &image.reference, &suffixes);
        }
        for reference in on_demand_images(release.chart.name, &release.values) {
            add(
                &reference,
                &reference,
                &BTreeSet::from([TagSuffix::default()]),
            );
        }
    }
    found.into_iter().collect()
}

/// The reference in its public registry, which is that of the name `public`, if `reference` names the mirror.
fn public_reference(public: &str, reference: &str, cluster: &Checked<'_>) -> Option<String> {
    let registry = cluster.config.mirror.images.as_ref()?;
    let path = reference.strip_prefix(registry.trim_end_matches('/'))?;
    let path = path.strip_prefix('/')?;
    let (host, public_path) = public.split_once('/')?;
    let name = public_path.split(['@', ':']).next()?;
    let is_same = path.strip_prefix(name)?.starts_with(['@', ':']);
    let source = format!("{host}/{path}");
    (is_same && source != reference).then_some(source)
}

/// The images that the user sets in the file.
pub(crate) fn user_images(cluster: &Cluster) -> Vec<&str> {
    let config = &cluster.config;
    // The images of the cluster's `stack` count even if every pool overrides them.
    let defaults = &config.stack;
    let of_pools = cluster.pools.iter();
    let images = of_pools
        .flat_map(|pool| pool.runtime_image.iter().chain(&pool.driver_image))
        .chain(defaults.runtime_image.iter().chain(&defaults.driver_image));
    let of_workloads = config.workloads.iter();
    let of_workloads = of_workloads.filter_map(|workload| workload.task()?.image());
    let images = images.chain(of_workloads);
    let hub = config.notebooks.iter().map(|it| &it.value);
    let of_notebooks = hub.flat_map(|Notebooks::JupyterHub(hub)| {
        let profiles = hub.profiles.iter();
        hub.image.iter().chain(profiles.flat_map(|it| &it.image))
    });
    let images = images.chain(of_notebooks);
    images.map(|image| image.value.as_str()).collect()
}

/// Whether an image's name starts with a registry; one without exists on the node.
fn has_registry(reference: &str) -> bool {
    let first = reference.split_once('/').map_or("", |(first, _)| first);
    first.contains(['.', ':']) || first == "localhost"
}

/// The reference of an image of gpuc with the mirror and the digest of the cluster's file.
pub fn mirrored_image(reference: &str, config: &GpuCluster) -> String {
    let mirrored = mirrored_reference(reference, config);
    mirrored.map_or_else(|| reference.to_owned(), |(text, _)| text)
}

fn mirrored_reference(reference: &str, config: &GpuCluster) -> Option<(String, Origin)> {
    let digest = pinned_digest(&config.digests, reference);
    let registry = config.mirror.images.as_ref();
    let path = reference
        .split_once('/')
        .map_or(reference, |(_, path)| path);
    let mut text = match registry {
        Some(registry) => format!("{}/{path}", registry.trim_end_matches('/')),
        None => reference.to_owned(),
    };
    if let Some((_, digest)) = digest {
        text = format!("{text}@{}", digest.value);
    }
    let spans = registry.map(|registry| registry.span).into_iter();
    let spans = spans.chain(
        digest
            .into_iter()
            .flat_map(|(name, it)| [name.span, it.span]),
    );
    (text != reference).then(|| (text, Origin::rule(spans, MIRROR_REASON)))
}

fn pinned_digest<'d>(
    digests: &'d TextMap,
    reference: &str,
) -> Option<(&'d Spanned<String>, &'d Spanned<String>)> {
    let mut found = digests.iter().filter(|(name, _)| name.value == reference);
    found.next()
}

/// Visits every container image in an object, at any depth.
fn visit_images(node: &mut Node, callback: &mut dyn FnMut(&mut Node)) {
    match &mut node.value {
        Value::Mapping(entries) => {
            for entry in entries {
                let holds = matches!(
                    entry.key.as_str(),
                    "containers" | "initContainers" | "ephemeralContainers"
                );
                if let (true, Value::Sequence(items)) = (holds, &mut entry.value.value) {
                    for item in items {
                        visit_container(item, callback);
                    }
                } else {
                    visit_images(&mut entry.value, callback);
                }
            }
        }
        Value::Sequence(items) => {
            for item in items {
                visit_images(item, callback);
            }
        }
        Value::Scalar(_) => {}
    }
}

fn visit_container(container: &mut Node, callback: &mut dyn FnMut(&mut Node)) {
    if let Value::Mapping(entries) = &mut container.value {
        for entry in entries.iter_mut().filter(|entry| entry.key == "image") {
            callback(&mut entry.value);
        }
    }
}
