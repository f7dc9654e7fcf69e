//! The images that the charts run at the pinned versions, and the values that set them, so that all of them can be
//! pulled from the user's registry.

mod running;
mod subcharts;
mod table;

use gpuc_model::plan::Release;
use serde_json::{Map, Value};

pub use running::{RunningImage, boolean, on_demand_images, pinned_values, running_images};
pub use subcharts::subchart_images;
use table::IMAGES;

/// An image of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartImage {
    /// The chart.
    pub chart: &'static str,
    /// The full registry and path, without the tag: official images of Docker Hub as `docker.io/library/…`.
    pub repository: &'static str,
    /// The tag at the pinned version. The operator appends the node's operating system to that of the driver.
    pub tag: &'static str,
    /// The values that set the image.
    pub keys: ImageKeys,
    /// The path of the tag, separated by `/`; `None` if it is part of the image's value, or not in the values.
    pub tag_path: Option<&'static str>,
    /// The path of the switch that enables it, and its default; `None` if the image always runs.
    pub switch: Option<(&'static str, bool)>,
}

/// The values that set an image. Paths are separated by `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKeys {
    /// One value holds registry and path.
    Whole(&'static str),
    /// The registry's host is a separate value.
    Parts {
        /// The host's path.
        registry: &'static str,
        /// The path of the rest.
        repository: &'static str,
    },
    /// The last part of the name is a separate value.
    Named {
        /// The path of everything before it.
        repository: &'static str,
        /// The path of the last part.
        image: &'static str,
    },
    /// One value holds the full reference, including the tag.
    Reference(&'static str),
    /// A template contains it, and no value changes it.
    Fixed,
}

/// The images of a chart, without those of [`subchart_images`]; empty for an unknown chart.
pub fn chart_images(chart: &str) -> &'static [ChartImage] {
    let mut charts = IMAGES.chunk_by(|one, next| one.chart == next.chart);
    let found = charts.find(|images| images[0].chart == chart);
    found.unwrap_or_default()
}

/// Descriptions of the images of a chart that are not in [`chart_images`]: those of subcharts whose values are not
/// embedded.
pub fn unlisted_images(chart: &str) -> &'static [&'static str] {
    let found = UNLISTED.iter().find(|(name, _)| *name == chart);
    found.map_or(&[], |(_, names)| names)
}

/// The values that make a chart pull these images from `registry`, a host or a host and a path, as far as the chart
/// supports it. The part after the host in an image's name is kept.
pub fn mirror_values<'i>(
    chart: &str,
    images: impl IntoIterator<Item = &'i ChartImage>,
    registry: &str,
) -> Value {
    let registry = registry.trim_end_matches('/');
    let mut values = Value::Object(Map::new());
    if let Some((_, path)) = GLOBAL.iter().find(|(name, _)| *name == chart) {
        set_path(&mut values, path, registry.to_owned());
        return values;
    }
    for image in images {
        let path = image.path_without_host();
        match image.keys {
            ImageKeys::Whole(at) => set_path(&mut values, at, format!("{registry}/{path}")),
            ImageKeys::Parts {
                registry: at,
                repository,
            } => {
                set_path(&mut values, at, registry.to_owned());
                // Only Docker Hub has a shorter name for its official images.
                if path.starts_with("library/") {
                    set_path(&mut values, repository, path.to_owned());
                }
            }
            ImageKeys::Named { repository, .. } => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let folder = format!("{registry}/{folder}");
                set_path(
                    &mut values,
                    repository,
                    folder.trim_end_matches('/').to_owned(),
                );
            }
            ImageKeys::Reference(at) => {
                set_path(&mut values, at, format!("{registry}/{path}:{}", image.tag));
            }
            ImageKeys::Fixed => {}
        }
    }
    values
}

impl ChartImage {
    /// The full reference that is pulled by default.
    pub fn reference(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }

    /// The name without the registry's host.
    fn path_without_host(&self) -> &'static str {
        let parts = self.repository.split_once('/');
        parts.expect("every image of the table names its host").1
    }
}

fn set_path(values: &mut Value, path: &str, text: String) {
    let mut target = values;
    for key in path.split('/') {
        if target.is_null() {
            *target = Value::Object(Map::new());
        }
        target = &mut target[key];
    }
    *target = Value::String(text);
}

/// Charts with one value for the registry of all of their images, including those of subcharts.
/// prometheus-community/helm-charts@kube-prometheus-stack-88.5.3:values.yaml `global.imageRegistry`, 2026-08-21.
const GLOBAL: &[(&str, &str)] = &[("kube-prometheus-stack", "global/imageRegistry")];

/// Descriptions of the images of subcharts whose values are not in the table. Source: each chart's `Chart.yaml`.
const UNLISTED: &[(&str, &[&str])] = &[(
    "kubeflow-trainer",
    &[
        "leader-worker-set of chart lws 0.8.0",
        "the image of the JAX runtime",
    ],
)];

/// The images that a release runs, and those that it starts on demand.
pub fn release_images(release: &Release) -> Vec<String> {
    let started = on_demand_images(release.chart.name, &release.values);
    running_images(release.chart.name, &release.values)
        .into_iter()
        .map(|image| image.reference)
        .chain(started)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::charts::keys::{KeyLookup, Keys, unknown_keys};
    use gpuc_syntax::node::Node;

    #[test]
    fn paths_are_keys_of_their_charts() {
        for chart in Keys::charts() {
            let keys = Keys::for_chart(chart).unwrap();
            assert!(!chart_images(chart).is_empty(), "{chart} has no images");
            for image in chart_images(chart) {
                let paths = match image.keys {
                    ImageKeys::Whole(one) | ImageKeys::Reference(one) => vec![one],
                    ImageKeys::Parts {
                        registry,
                        repository,
                    } => vec![registry, repository],
                    ImageKeys::Named { repository, image } => vec![repository, image],
                    ImageKeys::Fixed => Vec::new(),
                };
                let switch = image.switch.map(|(path, _)| path);
                for path in paths.into_iter().chain(image.tag_path).chain(switch) {
                    let found = keys.find(&path.split('/').collect::<Vec<_>>());
                    assert!(
                        matches!(found, KeyLookup::Known(_)),
                        "{chart}: {path}: {found:?}"
                    );
                }
            }
            let values = Node::from_json(mirror_values(
                chart,
                chart_images(chart),
                "mirror.example.com",
            ));
            let misfits = unknown_keys(keys, &values);
            assert!(misfits.is_empty(), "{misfits:?}");
        }
    }

    #[test]
    fn mirror_keeps_the_path() {
        let wanted = json!({"image": {"repository": "mirror.example.com/hub/nvidia/k8s-device-plugin"},
            "nfd": {"image": {"repository": "mirror.example.com/hub/nfd/node-feature-discovery"}}});
        assert_eq!(
            mirror_values(
                "nvidia-device-plugin",
                chart_images("nvidia-device-plugin"),
                "mirror.example.com/hub/"
            ),
            wanted
        );
        let operator = mirror_values("gpu-operator", chart_images("gpu-operator"), "m.io");
        assert_eq!(
            operator["toolkit"],
            json!({"repository": "m.io/nvidia/k8s"})
        );
        assert_eq!(
            operator["driver"]["manager"],
            json!({"repository": "m.io/nvidia/cloud-native"})
        );
        let trainer = mirror_values("kubeflow-trainer", chart_images("kubeflow-trainer"), "m.io");
        assert_eq!(trainer["image"], json!({"registry": "m.io"}));
        let installer = json!({"registry": "m.io", "repository": "library/alpine"});
        assert_eq!(trainer["runtimes"]["installer"]["image"], installer);
        let network = mirror_values("network-operator", chart_images("network-operator"), "m.io");
        let wanted = "m.io/nvidia/mellanox/rdma-cni:network-operator-v26.4.1";
        assert_eq!(
            network["sriov-network-operator"]["images"]["rdmaCni"],
            wanted
        );
        let stack = json!({"global": {"imageRegistry": "m.io"}});
        assert_eq!(
            mirror_values(
                "kube-prometheus-stack",
                chart_images("kube-prometheus-stack"),
                "m.io"
            ),
            stack
        );
        assert_eq!(
            mirror_values("nginx", chart_images("nginx"), "m.io"),
            json!({})
        );
        assert!(
            unlisted_images("kubeflow-trainer").len() == 2 && unlisted_images("kueue").is_empty()
        );
    }
}
