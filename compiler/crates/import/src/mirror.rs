//! The keys `mirror` and `digests`: where the images of the generated objects are from.
//!
//! The file is built without them, and the images of its objects are compared with those that run.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_live::state::Kind;
use serde_json::Value;

use crate::context::Context;
use crate::json::{items, source, text};
use crate::tree::{Entries, Item};
use crate::workloads::Builder;

/// The images of an object of the cluster and of the same object of the file.
struct Image {
    built: String,
    found: String,
    /// The notation of the object.
    source: String,
}

/// The keys, from the objects that the file without them builds.
pub(crate) fn mirror(
    cx: &Context<'_>,
    file: &str,
    builder: Option<&Builder<'_>>,
) -> (Option<Item>, Option<Item>) {
    let charts = chart_registry(cx);
    let objects = builder
        .and_then(|build| build(file).ok())
        .unwrap_or_default();
    let pairs: Vec<Image> = objects.iter().flat_map(|it| images(cx, it)).collect();
    let mut registries: BTreeMap<&str, &str> = BTreeMap::new();
    let mut digests: BTreeMap<String, Item> = BTreeMap::new();
    for image in &pairs {
        let (built, own) = split_digest(&image.built);
        let (found, digest) = split_digest(&image.found);
        // The user sets the image of gpuc-runtime.
        let Some((_, path)) = built
            .split_once('/')
            .filter(|(_, path)| !path.contains("gpuc-runtime"))
        else {
            continue;
        };
        let registry = found.strip_suffix(path).and_then(|it| it.strip_suffix('/'));
        let Some(registry) = registry.filter(|_| found != built || digest != own) else {
            continue;
        };
        if found != built {
            registries.entry(registry).or_insert(&image.source);
        }
        if let Some(digest) = digest.filter(|_| own.is_none()) {
            let item = Item::text(digest).sure(image.source.clone());
            digests.insert(built.to_owned(), item);
        }
    }
    let mut entries = Entries::default();
    // All images have one mirror.
    let names: BTreeSet<&str> = registries.keys().copied().collect();
    if let (1, Some((registry, at))) = (names.len(), registries.first_key_value()) {
        let reason = "the registry of the images that run, instead of those of their publishers";
        entries.push("images", Item::text(*registry).guess(*at, reason));
    }
    entries.push_some("charts", charts);
    let digests = (!digests.is_empty()).then(|| Item::map(digests));
    (entries.into_some(), digests)
}

/// The registry of charts that need credentials: those of their publishers need none.
fn chart_registry(cx: &Context<'_>) -> Option<Item> {
    let mut charts = cx.state.objects(Kind::OciRepository).iter();
    charts.find_map(|it| {
        text(&it.body, "/spec/secretRef/name")?;
        let url = it.text("/spec/url");
        let (registry, _) = url.rsplit_once('/')?;
        let at = source(
            format!("OCIRepository {}", it.metadata.name),
            "spec.url",
            url,
        );
        Some(Item::text(registry).guess(at, "the registry of the charts with credentials"))
    })
}

/// A reference without its digest, and the digest.
fn split_digest(reference: &str) -> (&str, Option<&str>) {
    match reference.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (reference, None),
    }
}

/// The images of an object that gpuc generates.
fn images(cx: &Context<'_>, built: &Value) -> Vec<Image> {
    match text(built, "/kind") {
        Some("DaemonSet") => images_of_set(cx, built),
        Some("NicNodePolicy") => image_of_policy(cx, built).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The image of the device plugin, whose parts are separate fields.
fn image_of_policy(cx: &Context<'_>, built: &Value) -> Option<Image> {
    let found = cx
        .state
        .object(Kind::NicNodePolicy, "", text(built, "/metadata/name")?)?;
    let reference = |object: &Value| {
        let plugin = object.pointer("/spec/rdmaSharedDevicePlugin")?;
        let parts = ["/repository", "/image", "/version"].map(|part| text(plugin, part));
        let [Some(repository), Some(image), Some(version)] = parts else {
            return None;
        };
        Some(format!("{repository}/{image}:{version}"))
    };
    Some(Image {
        built: reference(built)?,
        found: reference(&found.body)?,
        source: format!(
            "NicNodePolicy {}#spec.rdmaSharedDevicePlugin.repository",
            found.metadata.name
        ),
    })
}

/// The images of a DaemonSet.
fn images_of_set(cx: &Context<'_>, built: &Value) -> Vec<Image> {
    let (Some("DaemonSet"), Some(name), Some(namespace)) = (
        text(built, "/kind"),
        text(built, "/metadata/name"),
        text(built, "/metadata/namespace"),
    ) else {
        return Vec::new();
    };
    let mut sets = cx.state.daemon_sets.items.iter();
    let set = sets.find(|it| it.metadata.name == name && it.metadata.namespace == namespace);
    let Some(set) = set else {
        return Vec::new();
    };
    let spec = &set.spec.template.spec;
    let mut images = Vec::new();
    for (pointer, found) in [
        ("/spec/template/spec/containers", &spec.containers),
        ("/spec/template/spec/initContainers", &spec.init_containers),
    ] {
        for container in items(built, pointer) {
            let name = text(container, "/name").unwrap_or_default();
            let own = found.iter().find(|it| it.name == name);
            if let (Some(built), Some(own)) = (text(container, "/image"), own) {
                images.push(Image {
                    built: built.to_owned(),
                    found: own.image.clone(),
                    source: format!(
                        "DaemonSet {namespace}/{}#spec.template.spec.containers[{name}].image",
                        set.metadata.name
                    ),
                });
            }
        }
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_follow_the_name() {
        assert_eq!(split_digest("a/b:1@sha256:0"), ("a/b:1", Some("sha256:0")));
        assert_eq!(split_digest("a/b:1"), ("a/b:1", None));
    }
}
