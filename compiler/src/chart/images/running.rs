//! Which images a release runs, given its values.

use serde_json::{Map, Value, json};

use super::{ChartImage, GLOBAL, Place, images, set};
use crate::chart::jupyterhub::JUPYTERHUB;
use crate::chart::keys::{Found, Keys};
use crate::node::{Node, Scalar};
use crate::yaml::core_schema::Core;

/// An image that a release runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What the chart runs by default in its place.
    pub of: &'static ChartImage,
    /// Registry, path, tag, and the digest where the values have one.
    pub reference: String,
}

/// The images that a chart runs with these values.
pub fn running(chart: &str, values: &Node) -> Vec<Image> {
    let global = GLOBAL.iter().find(|(name, _)| *name == chart);
    let registry = global.and_then(|(_, path)| text(values, path));
    let images = images(chart).iter();
    let on = images.filter(|image| match image.switch {
        Some((path, by_default)) => flag(values, path).unwrap_or(by_default),
        None => true,
    });
    on.map(|image| Image {
        of: image,
        reference: reference(image, values, registry.as_deref()),
    })
    .collect()
}

/// The images that a chart is told by its values to start beside its own: those of the notebooks that people choose
/// from, each once.
pub fn started(chart: &str, values: &Node) -> Vec<String> {
    let mut found = Vec::new();
    if chart == JUPYTERHUB.name {
        overridden(values, &mut found);
    }
    found
}

/// What KubeSpawner is told to start in place of the hub's image, by a profile or by an option of one.
fn overridden(values: &Node, found: &mut Vec<String>) {
    let told = text(values, "kubespawner_override/image");
    found.extend(told.filter(|image| !found.contains(image)));
    for entry in values.entries() {
        overridden(&entry.value, found);
    }
    for item in values.items() {
        overridden(item, found);
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
    let at = |path: &str, default: &str| text(values, path).unwrap_or_else(|| default.to_owned());
    let repository = match image.place {
        Place::Whole(place) => at(place, image.repository),
        Place::Parts {
            registry: place,
            repository,
        } => {
            let host = registry.map_or_else(|| at(place, host), str::to_owned);
            format!("{host}/{}", at(repository, path))
        }
        Place::Named {
            repository,
            image: place,
        } => {
            format!("{}/{}", at(repository, folder), at(place, name))
        }
        Place::Reference(place) => return at(place, &image.reference()),
        Place::Fixed => image.repository.to_owned(),
    };
    let tag = image
        .tag_path
        .map_or_else(|| image.tag.to_owned(), |path| at(path, image.tag));
    let digest = image.tag_path.and_then(|path| {
        let sha = text(values, &beside(path, "sha")).map(|hex| format!("sha256:{hex}"));
        sha.or_else(|| text(values, &beside(path, "digest")))
    });
    match digest.filter(|digest| !digest.is_empty()) {
        Some(digest) => format!("{repository}:{tag}@{digest}"),
        None => format!("{repository}:{tag}"),
    }
}

/// The values that pin an image that runs to a digest: a key of its own where the chart has one, else behind the tag.
pub fn pinned(running: &Image, digest: &str) -> Value {
    let image = running.of;
    let mut values = Value::Object(Map::new());
    let has = |path: &str| {
        let parts: Vec<_> = path.split('/').collect();
        let keys = Keys::of(image.chart);
        keys.is_some_and(|keys| matches!(keys.find(&parts), Found::Known(_)))
    };
    match (image.place, image.tag_path) {
        (Place::Reference(place), _) => {
            set(
                &mut values,
                place,
                format!("{}@{digest}", running.reference),
            );
        }
        (_, Some(tag)) if has(&beside(tag, "sha")) => {
            let hex = digest.trim_start_matches("sha256:");
            set(&mut values, &beside(tag, "sha"), hex.to_owned());
        }
        (_, Some(tag)) if has(&beside(tag, "digest")) => {
            set(&mut values, &beside(tag, "digest"), digest.to_owned());
        }
        (_, Some(tag)) => set(&mut values, tag, format!("{}@{digest}", image.tag)),
        (_, None) => return json!({}),
    }
    values
}

/// The path of another key in the same mapping.
fn beside(path: &str, name: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name.to_owned(),
    }
}

fn find<'n>(values: &'n Node, path: &str) -> Option<&'n Node> {
    path.split('/').try_fold(values, |node, key| node.get(key))
}

fn scalar<'n>(values: &'n Node, path: &str) -> Option<Core<'n>> {
    match &find(values, path)?.value {
        crate::node::Value::Scalar(scalar) => Some(Scalar::core(scalar)),
        _ => None,
    }
}

/// A text that is not empty: charts take an empty one for none.
fn text(values: &Node, path: &str) -> Option<String> {
    match scalar(values, path)? {
        Core::Text(text) if !text.is_empty() => Some(text.to_owned()),
        Core::Integer(number) => Some(number.to_string()),
        Core::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

fn flag(values: &Node, path: &str) -> Option<bool> {
    match scalar(values, path)? {
        Core::Bool(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::keys;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn shown(chart: &str, values: Value) -> Vec<String> {
        let images = running(chart, &Node::from_json(values));
        images.into_iter().map(|image| image.reference).collect()
    }

    #[test]
    fn values_say_what_runs() {
        assert_eq!(
            shown("kueue", json!({})),
            ["registry.k8s.io/kueue/kueue:v0.19.2"]
        );
        let two = json!({"enableKueueViz": true, "controllerManager": {"manager": {"image": {"tag": "v1"}}}});
        let found = shown("kueue", two);
        assert_eq!(found[0], "registry.k8s.io/kueue/kueue:v1");
        assert_eq!(found.len(), 3);
        let off = shown("gpu-operator", json!({"driver": {"enabled": false}}));
        assert!(!off.iter().any(|it| it.contains("/driver:")), "{off:?}");
    }

    #[test]
    fn notebooks_are_started_from_the_images_of_their_profiles() {
        let values = json!({"singleuser": {"profileList": [
            {"display_name": "a", "kubespawner_override": {"image": "r.example.com/a:1"}},
            {"display_name": "b", "kubespawner_override": {"image": "r.example.com/a:1", "cpu_limit": 1}},
            {"display_name": "c", "profile_options": {"image": {"choices": {
                "d": {"kubespawner_override": {"image": "r.example.com/d:1"}}}}}},
        ]}});
        let values = Node::from_json(values);
        let found = started("jupyterhub", &values);
        assert_eq!(found, ["r.example.com/a:1", "r.example.com/d:1"]);
        assert!(started("kueue", &values).is_empty());
    }

    /// An image as it runs where nothing is said of it.
    fn plain(of: &'static ChartImage) -> Image {
        let reference = of.reference();
        Image { of, reference }
    }

    #[test]
    fn a_digest_leaves_an_image_in_its_mirror() {
        for chart in Keys::charts() {
            let moved = super::super::mirrored(chart, images(chart), "m.io/hub");
            let moved = Node::from_json(moved);
            let mut registries = images(chart).iter();
            let registry = registries.find(|it| matches!(it.place, Place::Reference(_)));
            let on: Vec<_> = registry.and_then(|it| it.switch).into_iter().collect();
            let mut all = moved.clone();
            for (switch, _) in on {
                let mut values = Value::Object(Map::new());
                set(&mut values, switch, String::new());
                *values.pointer_mut(&format!("/{switch}")).unwrap() = json!(true);
                all = keys::merge(all, &Node::from_json(values));
            }
            for image in running(chart, &all) {
                let values = Node::from_json(pinned(&image, DIGEST));
                let after = running(chart, &keys::merge(all.clone(), &values));
                let same = after.iter().find(|it| it.of == image.of).unwrap();
                assert!(
                    same.reference.starts_with(&image.reference),
                    "{chart}: {same:?}"
                );
            }
        }
    }

    #[test]
    fn a_pinned_or_mirrored_image_is_what_runs() {
        for chart in Keys::charts() {
            for image in images(chart).iter().filter(|it| it.runs_by_default()) {
                let found = shown(chart, pinned(&plain(image), DIGEST));
                if image.tag_path.is_some() {
                    let wanted = format!("{}@{DIGEST}", image.reference());
                    assert!(found.contains(&wanted), "{chart}: {wanted}: {found:?}");
                }
            }
            let registry = "m.io/hub";
            let moved = super::super::mirrored(chart, images(chart), registry);
            for image in running(chart, &Node::from_json(moved)) {
                let stays = image.of.place == Place::Fixed;
                assert_eq!(
                    image.reference.starts_with(registry),
                    !stays,
                    "{chart}: {image:?}"
                );
                let (_, path) = image.of.repository.split_once('/').unwrap();
                assert!(image.reference.contains(path), "{chart}: {image:?}");
            }
        }
    }

    #[test]
    fn pins_are_keys_of_their_charts() {
        for chart in Keys::charts() {
            for image in images(chart) {
                let values = Node::from_json(pinned(&plain(image), DIGEST));
                let misfits = keys::unknown_keys(Keys::of(chart).unwrap(), &values);
                assert!(misfits.is_empty(), "{misfits:?}");
            }
        }
    }
}
