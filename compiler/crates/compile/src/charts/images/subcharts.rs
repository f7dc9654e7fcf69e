//! Images of subcharts whose values are not embedded.

use super::{ChartImage, ImageKeys};

/// The images of a chart's subcharts.
pub fn subchart_images(chart: &str) -> impl Iterator<Item = &'static ChartImage> {
    SUBCHARTS
        .iter()
        .map(|(image, _)| image)
        .filter(move |image| image.chart == chart)
}

/// The path of the value with the digest, and whether it is without `sha256:`.
pub(super) fn digest_key(image: &ChartImage) -> Option<(&'static str, bool)> {
    let found = SUBCHARTS.iter().find(|(known, _)| known == image);
    found.map(|(_, key)| *key)
}

/// The images with [`digest_key`]. The subcharts of kube-prometheus-stack at the versions in its Chart.yaml use the
/// registry in `global.imageRegistry`.
///
/// Source: prometheus-community/helm-charts@ea930bae charts/kube-state-metrics (8.4.0) and
/// charts/prometheus-node-exporter (4.56.1), grafana-community/helm-charts@3386a115 charts/grafana (12.11.1):
/// values.yaml, Chart.yaml and templates, read 2026-11-26.
const SUBCHARTS: &[(ChartImage, (&str, bool))] = &[
    (
        ChartImage {
            chart: "kube-prometheus-stack",
            repository: "registry.k8s.io/kube-state-metrics/kube-state-metrics",
            tag: "v2.20.0",
            keys: ImageKeys::Parts {
                registry: "kube-state-metrics/image/registry",
                repository: "kube-state-metrics/image/repository",
            },
            tag_path: Some("kube-state-metrics/image/tag"),
            switch: Some(("kubeStateMetrics/enabled", true)),
        },
        ("kube-state-metrics/image/sha", false),
    ),
    (
        ChartImage {
            chart: "kube-prometheus-stack",
            repository: "quay.io/prometheus/node-exporter",
            tag: "v1.12.1",
            keys: ImageKeys::Parts {
                registry: "prometheus-node-exporter/image/registry",
                repository: "prometheus-node-exporter/image/repository",
            },
            tag_path: Some("prometheus-node-exporter/image/tag"),
            switch: Some(("nodeExporter/enabled", true)),
        },
        ("prometheus-node-exporter/image/digest", false),
    ),
    (
        ChartImage {
            chart: "kube-prometheus-stack",
            repository: "docker.io/grafana/grafana",
            tag: "13.2.0",
            keys: ImageKeys::Parts {
                registry: "grafana/image/registry",
                repository: "grafana/image/repository",
            },
            tag_path: Some("grafana/image/tag"),
            switch: Some(("grafana/enabled", true)),
        },
        ("grafana/image/sha", true),
    ),
    (
        ChartImage {
            chart: "kube-prometheus-stack",
            repository: "quay.io/kiwigrid/k8s-sidecar",
            tag: "2.10.1",
            keys: ImageKeys::Parts {
                registry: "grafana/sidecar/image/registry",
                repository: "grafana/sidecar/image/repository",
            },
            tag_path: Some("grafana/sidecar/image/tag"),
            switch: Some(("grafana/enabled", true)),
        },
        ("grafana/sidecar/image/sha", true),
    ),
];
