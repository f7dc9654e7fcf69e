//! Which images a release runs, given its values.

use gpuc_syntax::node::{Node, Scalar};
use gpuc_syntax::yaml::core_schema::CoreValue;
use serde_json::{Map, Value, json};

use super::subcharts::{digest_key, subchart_images};
use super::{ChartImage, GLOBAL, ImageKeys, chart_images, set_path};
use crate::charts::jupyterhub::JUPYTERHUB;
use crate::charts::keys::{KeyLookup, Keys};

/// An image that a release runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningImage {
    /// The chart's default image that it replaces.
    pub chart_image: &'static ChartImage,
    /// Registry, path, tag, and the digest if the values set one.
    pub reference: String,
}

/// The images that a chart runs with these values.
pub fn running_images(chart: &str, values: &Node) -> Vec<RunningImage> {
    let global = GLOBAL.iter().find(|(name, _)| *name == chart);
    let registry = global.and_then(|(_, path)| text(values, path));
    let enabled = chart_images(chart)
        .iter()
        .chain(subchart_images(chart))
        .filter(|image| match image.switch {
            Some((path, by_default)) => boolean(values, path).unwrap_or(by_default),
            None => true,
        });
    enabled
        .map(|image| RunningImage {
            chart_image: image,
            reference: reference(image, values, registry.as_deref()),
        })
        .collect()
}

/// The images that a chart starts on demand, in addition to its own: those of the notebook profiles, without
/// duplicates.
pub fn on_demand_images(chart: &str, values: &Node) -> Vec<String> {
    let mut found = Vec::new();
    if chart == JUPYTERHUB.name {
        collect_overrides(values, &mut found);
    }
    found
}

/// Collects the images that profiles, or options of profiles, set through KubeSpawner overrides.
fn collect_overrides(values: &Node, found: &mut Vec<String>) {
    let image = text(values, "kubespawner_override/image");
    found.extend(image.filter(|image| !found.contains(image)));
    for entry in values.entries() {
        collect_overrides(&entry.value, found);
    }
    for item in values.items() {
        collect_overrides(item, found);
    }
}

fn reference(image: &ChartImage, values: &Node, registry: Option<&str>) -> String {
    let (host, path) = image
        .repository
        .split_once('/')
        .unwrap_or(("", image.repository));
    let (folder, name) = image
        .repository
        .rsplit_once('/')
        .unwrap_or(("", image.repository));
    let text_or =
        |path: &str, default: &str| text(values, path).unwrap_or_else(|| default.to_owned());
    let repository = match image.keys {
        ImageKeys::Whole(at) => text_or(at, image.repository),
        ImageKeys::Parts {
            registry: at,
            repository,
        } => {
            let host = registry.map_or_else(|| text_or(at, host), str::to_owned);
            format!("{host}/{}", text_or(repository, path))
        }
        ImageKeys::Named {
            repository,
            image: at,
        } => {
            format!("{}/{}", text_or(repository, folder), text_or(at, name))
        }
        ImageKeys::Reference(at) => return text_or(at, &image.reference()),
        ImageKeys::Fixed => image.repository.to_owned(),
    };
    let tag = image
        .tag_path
        .map_or_else(|| image.tag.to_owned(), |path| text_or(path, image.tag));
    let digest = image.tag_path.and_then(|path| {
        let sha = text(values, &sibling(path, "sha"));
        let sha = sha.map(|hex| format!("sha256:{}", hex.trim_start_matches("sha256:")));
        sha.or_else(|| text(values, &sibling(path, "digest")))
    });
    match digest.filter(|digest| !digest.is_empty()) {
        Some(digest) => format!("{repository}:{tag}@{digest}"),
        None => format!("{repository}:{tag}"),
    }
}

/// The values that pin a running image to a digest: in a separate key if the chart has one, otherwise after the tag.
pub fn pinned_values(running: &RunningImage, digest: &str) -> Value {
    let image = running.chart_image;
    let mut values = Value::Object(Map::new());
    let has_path = |path: &str| {
        let parts: Vec<_> = path.split('/').collect();
        let keys = Keys::for_chart(image.chart);
        keys.is_some_and(|keys| matches!(keys.find(&parts), KeyLookup::Known(_)))
    };
    if let Some((path, is_hex)) = digest_key(image) {
        let digest = if is_hex {
            digest.trim_start_matches("sha256:")
        } else {
            digest
        };
        set_path(&mut values, path, digest.to_owned());
        return values;
    }
    match (image.keys, image.tag_path) {
        (ImageKeys::Reference(at), _) => {
            set_path(&mut values, at, format!("{}@{digest}", running.reference));
        }
        (_, Some(tag)) if has_path(&sibling(tag, "sha")) => {
            let hex = digest.trim_start_matches("sha256:");
            set_path(&mut values, &sibling(tag, "sha"), hex.to_owned());
        }
        (_, Some(tag)) if has_path(&sibling(tag, "digest")) => {
            set_path(&mut values, &sibling(tag, "digest"), digest.to_owned());
        }
        (_, Some(tag)) => {
            let used = running.reference.split('@').next().unwrap_or_default();
            let used = used.rsplit(':').next().unwrap_or(image.tag);
            set_path(&mut values, tag, format!("{used}@{digest}"));
        }
        (_, None) => return json!({}),
    }
    values
}

/// The path of another key in the same mapping.
fn sibling(path: &str, name: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name.to_owned(),
    }
}

fn find<'n>(values: &'n Node, path: &str) -> Option<&'n Node> {
    path.split('/').try_fold(values, |node, key| node.get(key))
}

fn scalar<'n>(values: &'n Node, path: &str) -> Option<CoreValue<'n>> {
    match &find(values, path)?.value {
        gpuc_syntax::node::Value::Scalar(scalar) => Some(Scalar::core_value(scalar)),
        _ => None,
    }
}

/// A text that is not empty: charts treat an empty one as not set.
fn text(values: &Node, path: &str) -> Option<String> {
    match scalar(values, path)? {
        CoreValue::Text(text) if !text.is_empty() => Some(text.to_owned()),
        CoreValue::Integer(number) => Some(number.to_string()),
        CoreValue::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A value that is true or false.
pub fn boolean(values: &Node, path: &str) -> Option<bool> {
    match scalar(values, path)? {
        CoreValue::Bool(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::keys;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn references(chart: &str, values: Value) -> Vec<String> {
        let images = running_images(chart, &Node::from_json(values));
        images.into_iter().map(|image| image.reference).collect()
    }

    #[test]
    fn values_determine_running_images() {
        assert_eq!(
            references("kueue", json!({})),
            ["registry.k8s.io/kueue/kueue:v0.19.2"]
        );
        let two = json!({"enableKueueViz": true, "controllerManager": {"manager": {"image": {"tag": "v1"}}}});
        let found = references("kueue", two);
        assert_eq!(found[0], "registry.k8s.io/kueue/kueue:v1");
        assert_eq!(found.len(), 3);
        let found = references("gpu-operator", json!({"driver": {"enabled": false}}));
        let has_driver = found.iter().any(|image| image.contains("/driver:"));
        assert!(!has_driver, "{found:?}");
    }

    #[test]
    fn notebook_profiles_start_images() {
        let values = json!({"singleuser": {"profileList": [
            {"display_name": "a", "kubespawner_override": {"image": "r.example.com/a:1"}},
            {"display_name": "b", "kubespawner_override": {"image": "r.example.com/a:1", "cpu_limit": 1}},
            {"display_name": "c", "profile_options": {"image": {"choices": {
                "d": {"kubespawner_override": {"image": "r.example.com/d:1"}}}}}},
        ]}});
        let values = Node::from_json(values);
        let found = on_demand_images("jupyterhub", &values);
        assert_eq!(found, ["r.example.com/a:1", "r.example.com/d:1"]);
        assert!(on_demand_images("kueue", &values).is_empty());
    }

    /// The image with the chart's default values.
    fn by_default(of: &'static ChartImage) -> RunningImage {
        let reference = of.reference();
        RunningImage {
            chart_image: of,
            reference,
        }
    }

    #[test]
    fn pinned_image_stays_in_its_mirror() {
        for chart in Keys::charts() {
            let mirrored = super::super::mirror_values(chart, chart_images(chart), "m.io/hub");
            let mut images = chart_images(chart).iter();
            let image = images.find(|image| matches!(image.keys, ImageKeys::Reference(_)));
            let mut all = Node::from_json(mirrored);
            if let Some((switch, _)) = image.and_then(|image| image.switch) {
                let mut values = Value::Object(Map::new());
                set_path(&mut values, switch, String::new());
                *values.pointer_mut(&format!("/{switch}")).unwrap() = json!(true);
                all = keys::merge(all, &Node::from_json(values));
            }
            for image in running_images(chart, &all) {
                let values = Node::from_json(pinned_values(&image, DIGEST));
                let after = running_images(chart, &keys::merge(all.clone(), &values));
                let pinned = after
                    .iter()
                    .find(|it| it.chart_image == image.chart_image)
                    .unwrap();
                assert!(
                    pinned.reference.starts_with(&image.reference),
                    "{chart}: {pinned:?}"
                );
            }
        }
    }

    #[test]
    fn pinned_or_mirrored_images_run() {
        for chart in Keys::charts() {
            let runs = |it: &&ChartImage| it.switch.is_none_or(|(_, by_default)| by_default);
            for image in chart_images(chart).iter().filter(runs) {
                let found = references(chart, pinned_values(&by_default(image), DIGEST));
                if image.tag_path.is_some() {
                    let expected = format!("{}@{DIGEST}", image.reference());
                    assert!(found.contains(&expected), "{chart}: {expected}: {found:?}");
                }
            }
            let registry = "m.io/hub";
            let mirrored = super::super::mirror_values(chart, chart_images(chart), registry);
            for image in running_images(chart, &Node::from_json(mirrored)) {
                let is_fixed = image.chart_image.keys == ImageKeys::Fixed;
                assert_eq!(
                    image.reference.starts_with(registry),
                    !is_fixed,
                    "{chart}: {image:?}"
                );
                let (_, path) = image.chart_image.repository.split_once('/').unwrap();
                assert!(image.reference.contains(path), "{chart}: {image:?}");
            }
        }
    }

    #[test]
    fn pins_are_keys_of_their_charts() {
        for chart in Keys::charts() {
            for image in chart_images(chart) {
                let values = Node::from_json(pinned_values(&by_default(image), DIGEST));
                let misfits = keys::unknown_keys(Keys::for_chart(chart).unwrap(), &values);
                assert!(misfits.is_empty(), "{misfits:?}");
            }
        }
    }
}
