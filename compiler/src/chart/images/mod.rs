//! The images that the charts run at the pinned versions, and where their values name them, so that a registry of one's
//! own can stand in front of all of them.

mod running;
mod table;

use serde_json::{Map, Value};

pub use running::{Image, pinned, running, started};
use table::IMAGES;

/// An image of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartImage {
    /// The chart.
    pub chart: &'static str,
    /// Registry and path, without the tag, in full: Docker Hub's own as `docker.io/library/…`.
    pub repository: &'static str,
    /// The tag at the pinned version. The driver's gets the node's operating system added by the operator.
    pub tag: &'static str,
    /// Where the values say which image it is.
    pub place: Place,
    /// The path of the tag, its parts parted by `/`; `None` where it stands with the image or nowhere.
    pub tag_path: Option<&'static str>,
    /// The path of the switch that decides whether it runs, and what that is by default; `None` where it always runs.
    pub switch: Option<(&'static str, bool)>,
}

/// Where a chart's values name an image. Paths have their parts parted by `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One value holds registry and path.
    Whole(&'static str),
    /// The registry's host stands apart.
    Parts {
        /// The host's path.
        registry: &'static str,
        /// The path of the rest.
        repository: &'static str,
    },
    /// The last part of the name stands apart.
    Named {
        /// The path of everything before it.
        repository: &'static str,
        /// The path of the last part.
        image: &'static str,
    },
    /// One value holds all, the tag included.
    Reference(&'static str),
    /// A template names it, and no value changes it.
    Fixed,
}

/// The images of a chart; none for a chart that is not known.
pub fn images(chart: &str) -> &'static [ChartImage] {
    let mut charts = IMAGES.chunk_by(|one, next| one.chart == next.chart);
    let found = charts.find(|images| images[0].chart == chart);
    found.unwrap_or_default()
}

/// What a chart runs beyond [`images`], in words: the images of charts inside it whose values are not at hand.
pub fn unlisted(chart: &str) -> &'static [&'static str] {
    let found = UNLISTED.iter().find(|(name, _)| *name == chart);
    found.map_or(&[], |(_, names)| names)
}

/// The values that make a chart pull these images from `registry`, a host or a host and a path, as far as it lets them
/// be moved. What follows the host in an image's name stays.
pub fn mirrored<'i>(
    chart: &str,
    images: impl IntoIterator<Item = &'i ChartImage>,
    registry: &str,
) -> Value {
    let registry = registry.trim_end_matches('/');
    let mut values = Value::Object(Map::new());
    if let Some((_, path)) = GLOBAL.iter().find(|(name, _)| *name == chart) {
        set(&mut values, path, registry.to_owned());
        return values;
    }
    for image in images {
        let path = image.path();
        match image.place {
            Place::Whole(at) => set(&mut values, at, format!("{registry}/{path}")),
            Place::Parts {
                registry: at,
                repository,
            } => {
                set(&mut values, at, registry.to_owned());
                // Only Docker Hub knows its own images by a shorter name.
                if path.starts_with("library/") {
                    set(&mut values, repository, path.to_owned());
                }
            }
            Place::Named { repository, .. } => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let folder = format!("{registry}/{folder}");
                set(
                    &mut values,
                    repository,
                    folder.trim_end_matches('/').to_owned(),
                );
            }
            Place::Reference(at) => {
                set(&mut values, at, format!("{registry}/{path}:{}", image.tag));
            }
            Place::Fixed => {}
        }
    }
    values
}

impl ChartImage {
    /// The whole reference, as it is pulled by default.
    pub fn reference(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }

    /// Whether it runs unless something is changed.
    pub fn runs_by_default(&self) -> bool {
        self.switch.is_none_or(|(_, by_default)| by_default)
    }

    /// The name without the registry's host.
    fn path(&self) -> &'static str {
        let parts = self.repository.split_once('/');
        parts.expect("every image of the table names its host").1
    }
}

fn set(values: &mut Value, path: &str, text: String) {
    let mut place = values;
    for part in path.split('/') {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[part];
    }
    *place = Value::String(text);
}

/// Charts with one value that moves all of their images, those of the charts inside too.
/// prometheus-community/helm-charts@kube-prometheus-stack-88.5.3:values.yaml `global.imageRegistry`, 2026-08-21.
const GLOBAL: &[(&str, &str)] = &[("kube-prometheus-stack", "global/imageRegistry")];

/// `Chart.yaml` of each names these charts inside, whose values are not among the tables' sources.
const UNLISTED: &[(&str, &[&str])] = &[
    (
        "kube-prometheus-stack",
        &[
            "kube-state-metrics of chart 8.4.0",
            "node-exporter of chart prometheus-node-exporter 4.56.1",
            "Grafana and its sidecar of chart grafana 12.11.1",
        ],
    ),
    (
        "kubeflow-trainer",
        &[
            "leader-worker-set of chart lws 0.8.0",
            "the image of the JAX runtime",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chart::keys::{Found, Keys, unknown_keys};
    use crate::node::Node;

    #[test]
    fn every_place_and_switch_is_a_key_of_its_chart() {
        for chart in Keys::charts() {
            let keys = Keys::of(chart).unwrap();
            assert!(!images(chart).is_empty(), "{chart} has no images");
            for image in images(chart) {
                let places = match image.place {
                    Place::Whole(one) | Place::Reference(one) => vec![one],
                    Place::Parts {
                        registry,
                        repository,
                    } => vec![registry, repository],
                    Place::Named { repository, image } => vec![repository, image],
                    Place::Fixed => Vec::new(),
                };
                let switch = image.switch.map(|(path, _)| path);
                for path in places.into_iter().chain(image.tag_path).chain(switch) {
                    let found = keys.find(&path.split('/').collect::<Vec<_>>());
                    assert!(
                        matches!(found, Found::Known(_)),
                        "{chart}: {path}: {found:?}"
                    );
                }
            }
            let values = Node::from_json(mirrored(chart, images(chart), "mirror.example.com"));
            let misfits = unknown_keys(keys, &values);
            assert!(misfits.is_empty(), "{misfits:?}");
        }
    }

    #[test]
    fn a_mirror_keeps_what_follows_the_host() {
        let wanted = json!({"image": {"repository": "mirror.example.com/hub/nvidia/k8s-device-plugin"},
            "nfd": {"image": {"repository": "mirror.example.com/hub/nfd/node-feature-discovery"}}});
        assert_eq!(
            mirrored(
                "nvidia-device-plugin",
                images("nvidia-device-plugin"),
                "mirror.example.com/hub/"
            ),
            wanted
        );
        let operator = mirrored("gpu-operator", images("gpu-operator"), "m.io");
        assert_eq!(
            operator["toolkit"],
            json!({"repository": "m.io/nvidia/k8s"})
        );
        assert_eq!(
            operator["driver"]["manager"],
            json!({"repository": "m.io/nvidia/cloud-native"})
        );
        let trainer = mirrored("kubeflow-trainer", images("kubeflow-trainer"), "m.io");
        assert_eq!(trainer["image"], json!({"registry": "m.io"}));
        let installer = json!({"registry": "m.io", "repository": "library/alpine"});
        assert_eq!(trainer["runtimes"]["installer"]["image"], installer);
        let network = mirrored("network-operator", images("network-operator"), "m.io");
        let wanted = "m.io/nvidia/mellanox/rdma-cni:network-operator-v26.4.1";
        assert_eq!(
            network["sriov-network-operator"]["images"]["rdmaCni"],
            wanted
        );
        let stack = json!({"global": {"imageRegistry": "m.io"}});
        assert_eq!(
            mirrored(
                "kube-prometheus-stack",
                images("kube-prometheus-stack"),
                "m.io"
            ),
            stack
        );
        assert_eq!(mirrored("nginx", images("nginx"), "m.io"), json!({}));
        assert!(unlisted("kube-prometheus-stack").len() == 3 && unlisted("kueue").is_empty());
    }
}
