//! The images that objects of ours name: where they are pulled from, and what they must be.

use gpuc_schema::Spanned;
use gpuc_schema::config::{GpuCluster, Notebooks, TextMap};

use crate::check::Checked;
use crate::node::{Node, Origin, Scalar, Value};
use crate::plan::Object;

/// Puts the user's registry in front of every image that the user did not name, and digests behind.
pub(super) fn move_images(cluster: &Checked<'_>, objects: &mut [Object]) {
    let config = &cluster.written;
    if config.mirror.images.is_none() && config.digests.is_empty() {
        return;
    }
    let own = own_images(config);
    for object in objects {
        visit(&mut object.node, &mut |image| {
            let Some(reference) = image.text().map(str::to_owned) else {
                return;
            };
            if own.contains(&reference.as_str()) || !has_host(&reference) {
                return;
            }
            if let Some((text, origin)) = moved(&reference, config) {
                image.value = Value::Scalar(Scalar::Text(text));
                image.origin = origin;
            }
        });
    }
}

/// The images that objects name, as they are pulled.
pub(crate) fn images(object: &Object) -> Vec<String> {
    let mut found = Vec::new();
    let mut node = object.node.clone();
    visit(&mut node, &mut |image| {
        found.extend(image.text().filter(|it| !it.is_empty()).map(str::to_owned));
    });
    in_parts(&object.node, &mut found);
    found
}

/// The images that objects of NVIDIA's GPU Operator name by their parts.
fn in_parts(node: &Node, found: &mut Vec<String>) {
    let part = |key: &str| node.get(key).and_then(Node::text);
    if let (Some(repository), Some(image), Some(version)) =
        (part("repository"), part("image"), part("version"))
    {
        found.push(format!("{repository}/{image}:{version}"));
    }
    for entry in node.entries() {
        in_parts(&entry.value, found);
    }
}

/// What the user wrote as an image.
pub(crate) fn own_images(config: &GpuCluster) -> Vec<&str> {
    let pools = config.node_pools.iter().map(|pool| &pool.value.stack);
    let stacks = std::iter::once(&config.stack).chain(pools);
    let images = stacks.flat_map(|stack| stack.runtime_image.iter().chain(&stack.driver_image));
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

/// Whether an image's name begins with a registry; what does not is on the node already.
fn has_host(reference: &str) -> bool {
    let first = reference.split_once('/').map_or("", |(first, _)| first);
    first.contains(['.', ':']) || first == "localhost"
}

fn moved(reference: &str, config: &GpuCluster) -> Option<(String, Origin)> {
    let digest = digest_of(&config.digests, reference);
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
    let why = "the file says where images come from and what they are";
    (text != reference).then(|| (text, Origin::rule(spans, why)))
}

fn digest_of<'d>(
    digests: &'d TextMap,
    reference: &str,
) -> Option<(&'d Spanned<String>, &'d Spanned<String>)> {
    let mut found = digests.iter().filter(|(name, _)| name.value == reference);
    found.next()
}

/// Every image of a container in an object, wherever its pods are described.
fn visit(node: &mut Node, look: &mut dyn FnMut(&mut Node)) {
    match &mut node.value {
        Value::Mapping(entries) => {
            for entry in entries {
                let holds = matches!(
                    entry.key.as_str(),
                    "containers" | "initContainers" | "ephemeralContainers"
                );
                if let (true, Value::Sequence(items)) = (holds, &mut entry.value.value) {
                    for item in items {
                        of_container(item, look);
                    }
                } else {
                    visit(&mut entry.value, look);
                }
            }
        }
        Value::Sequence(items) => {
            for item in items {
                visit(item, look);
            }
        }
        Value::Scalar(_) => {}
    }
}

fn of_container(container: &mut Node, look: &mut dyn FnMut(&mut Node)) {
    if let Value::Mapping(entries) = &mut container.value {
        for entry in entries.iter_mut().filter(|entry| entry.key == "image") {
            look(&mut entry.value);
        }
    }
}
