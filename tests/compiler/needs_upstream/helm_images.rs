//! The table of the charts' images matches the charts' own values.

use gpuc_compile::charts::images::{ChartImage, ImageKeys, chart_images};
use serde_json::Value;

use super::assert_none;
use super::helm_keys::{CHARTS, read};

/// Values in Git that the release replaces: the chart, the value in Git, and the value in the table.
const REPLACED_IN_RELEASE: &[(&str, &str, &str)] = &[
    (
        "jobset",
        "us-central1-docker.pkg.dev/k8s-staging-images/",
        "registry.k8s.io/",
    ),
    ("jobset", "main", "v0.12.0"),
    ("jupyterhub", "set-by-chartpress", "4.4.0"),
    ("karpenter", "1.13.0", "1.14.1"),
    (
        "kueue",
        "us-central1-docker.pkg.dev/k8s-staging-images/",
        "registry.k8s.io/",
    ),
    (
        "kubeflow-trainer",
        "us-central1-docker.pkg.dev/k8s-staging-images/",
        "registry.k8s.io/",
    ),
    ("kubeflow-trainer", "main", "v0.12.0"),
    ("kueue", "release-0.19", "v0.19.2"),
    ("lws", "main", "v0.10.0"),
];

/// Keys that name an image and are intentionally not in the table, with the reason.
const INTENTIONALLY_OMITTED: &[(&str, &str)] = &[
    (
        "crds/upgradeJob/image/busybox/repository",
        "runs only during an upgrade on request",
    ),
    (
        "crds/upgradeJob/image/kubectl/repository",
        "its tag is the version of the cluster",
    ),
    (
        "prometheusOperator/thanosImage/repository",
        "the operator's default for sidecars that an object enables",
    ),
    (
        "vgpuManager/repository",
        "has no default: its image is built by its user",
    ),
];

/// Whether a path only has a meaning as the condition of a subchart: the chart has no value for it.
fn is_unset_condition(folder: &str, values: &Value, path: &str) -> bool {
    let chart = read(folder, "Chart.yaml");
    let dependencies = chart["dependencies"].as_array().into_iter().flatten();
    let mut conditions = dependencies.filter_map(|it| it["condition"].as_str());
    let name = path.replace('/', ".");
    value_at(values, path).is_null() && conditions.any(|it| it.split(',').any(|part| part == name))
}

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn images_match_the_charts() {
    let mut wrong = Vec::new();
    for (chart, folder, version) in CHARTS {
        let values = chart_values(chart, folder);
        let app = read(folder, "Chart.yaml")["appVersion"].clone();
        let app = app
            .as_str()
            .unwrap_or(version)
            .trim_start_matches('v')
            .to_owned();
        let listed = chart_images(chart);
        for image in listed {
            for (expected, found) in compared_parts(image, &values) {
                let found = released_value(chart, &found);
                // If the values have no default, the tag is the appVersion, which the release writes into Chart.yaml.
                let version = version.trim_start_matches('v');
                let versions = [app.clone(), format!("v{app}"), format!("v{version}")];
                let follows = found.is_empty() && versions.contains(&expected);
                if expected != found && !follows {
                    wrong.push(format!("{chart}: {expected} is {found:?}"));
                }
            }
            if let Some((path, on)) = image.switch
                && value_at(&values, path) != &Value::Bool(on)
                && (on || !is_unset_condition(folder, &values, path))
            {
                wrong.push(format!("{chart}: {path} is {}", value_at(&values, path)));
            }
        }
        let mut named = Vec::new();
        collect_image_paths(&values, "", &mut named);
        for path in named {
            let is_listed = listed.iter().any(|image| match image.keys {
                ImageKeys::Whole(at) | ImageKeys::Reference(at) => at == path,
                ImageKeys::Parts { repository, .. } | ImageKeys::Named { repository, .. } => {
                    repository == path
                }
                ImageKeys::Fixed => false,
            });
            if !is_listed && !INTENTIONALLY_OMITTED.iter().any(|(left, _)| *left == path) {
                wrong.push(format!("{chart}: no image at {path}"));
            }
        }
    }
    assert_none(&wrong);
}

/// Pairs of the expected and the actual value for each part of an image name.
fn compared_parts(image: &ChartImage, values: &Value) -> Vec<(String, String)> {
    let text = |path: &str| {
        value_at(values, path)
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let mut parts = match image.keys {
        ImageKeys::Whole(at) => vec![(image.repository.to_owned(), qualified_name(&text(at)))],
        ImageKeys::Parts {
            registry,
            repository,
        } => {
            let found = format!("{}/{}", text(registry), text(repository));
            vec![(image.repository.to_owned(), qualified_name(&found))]
        }
        ImageKeys::Named {
            repository,
            image: name,
        } => {
            let found = format!("{}/{}", text(repository), text(name));
            vec![(image.repository.to_owned(), qualified_name(&found))]
        }
        ImageKeys::Reference(at) => vec![(image.reference(), text(at))],
        ImageKeys::Fixed => Vec::new(),
    };
    if let Some(path) = image.tag_path {
        parts.push((image.tag.to_owned(), text(path)));
    }
    parts
}

/// The name with its registry, as container runtimes expand it.
fn qualified_name(name: &str) -> String {
    let name = name.strip_prefix("docker.io/").unwrap_or(name);
    match name.split_once('/') {
        None => format!("docker.io/library/{name}"),
        Some((host, _)) if !host.contains(['.', ':']) => format!("docker.io/{name}"),
        Some(_) => name.to_owned(),
    }
}

fn released_value(chart: &str, found: &str) -> String {
    let replaced = REPLACED_IN_RELEASE.iter().filter(|(of, ..)| *of == chart);
    replaced.fold(found.to_owned(), |text, (_, git, release)| {
        if git.ends_with('/') {
            text.replacen(git, release, 1)
        } else if text == *git {
            (*release).to_owned()
        } else {
            text
        }
    })
}

/// The defaults of a chart and of its available subcharts.
fn chart_values(chart: &str, folder: &str) -> Value {
    let mut values = read(folder, "values.yaml");
    let inside = read(folder, "Chart.yaml")["dependencies"].clone();
    for inside in inside.as_array().into_iter().flatten() {
        let known = CHARTS
            .iter()
            .find(|(name, _, version)| inside["name"] == *name && inside["version"] == *version);
        if let Some((name, folder, _)) = known {
            let alias = inside["alias"].as_str().unwrap_or(name);
            let mut below = read(folder, "values.yaml");
            // If the values have no tag, it is the appVersion.
            if below["image"]["tag"].is_null() {
                below["image"]["tag"] = read(folder, "Chart.yaml")["appVersion"].clone();
            }
            merge_over(&mut below, &values[alias]);
            values[alias] = below;
        }
    }
    assert!(values.is_object(), "{chart}");
    values
}

fn merge_over(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                merge_over(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (below, above) => *below = above.clone(),
    }
}

fn value_at<'v>(values: &'v Value, path: &str) -> &'v Value {
    path.split('/').fold(values, |value, part| &value[part])
}

/// Collects the paths of keys that name an image: a `repository`, the `name` of an `image`, and every entry of
/// `images`.
fn collect_image_paths(values: &Value, path: &str, found: &mut Vec<String>) {
    for (key, value) in values.as_object().into_iter().flatten() {
        let at = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}/{key}")
        };
        let parent = path.rsplit('/').next().unwrap_or_default();
        let is_name = key == "repository"
            || key == "name" && parent == "image" && !values["repository"].is_string()
            || parent == "images";
        if is_name && value.is_string() {
            found.push(at.clone());
        }
        collect_image_paths(value, &at, found);
    }
}
