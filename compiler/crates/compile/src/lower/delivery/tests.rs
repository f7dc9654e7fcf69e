//! The objects for Flux and Argo CD, for clusters with charts that install CRDs.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::{Chart, Crds, PodSecurity};
use gpuc_schema::config::{Argocd, Flux};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::lower::install_order::install_steps;

fn location(texts: &[Spanned<String>; 2]) -> Location<'_> {
    Location {
        cluster: "ml-prod",
        repository: &texts[0],
        branch: &texts[0],
        path: &texts[1],
        namespace: &texts[0],
    }
}

fn texts(path: &str) -> [Spanned<String>; 2] {
    ["x", path].map(|text| Spanned::without_span(text.to_owned()))
}

#[test]
fn folders_are_relative_to_the_repository_root() {
    for (path, folder) in [
        ("clusters/ml-prod", "clusters/ml-prod/flux"),
        ("./clusters//ml-prod/", "clusters/ml-prod/flux"),
        (".", "flux"),
        ("./", "flux"),
    ] {
        assert_eq!(location(&texts(path)).folder("flux"), folder);
    }
    assert_eq!(location(&texts(".")).folder(""), "");
}

#[test]
fn long_names_are_shortened_and_stay_unique() {
    let texts = texts(".");
    let location = location(&texts);
    assert_eq!(location.name("namespaces"), "ml-prod-namespaces");
    let long = "nvidia-device-plugin-a-pool-with-quite-a-long-name-for-a-pool";
    let (one, other) = (location.name(&format!("{long}-1")), location.name(long));
    assert!(
        one.len() <= MAX_NAME_LENGTH && other.len() <= MAX_NAME_LENGTH,
        "{one} {other}"
    );
    assert_ne!(one, other);
    // The vectors of draft-eastlake-fnv.
    assert_eq!(fingerprint(""), 0x811c_9dc5);
    assert_eq!(fingerprint("foobar"), 0xbf9c_f968);
}

#[test]
fn annotations_are_added_to_existing_ones() {
    let object = |metadata| json!({"apiVersion": "v1", "kind": "A", "metadata": metadata});
    for metadata in [
        json!({"name": "a"}),
        json!({"name": "a", "annotations": {"b": "c"}}),
    ] {
        let mut object = Object::new("x", &object(metadata.clone()), Origin::default());
        annotate(&mut object, "d", Node::from_json(json!("e")));
        let annotations = object.node.get("metadata").unwrap().get("annotations");
        let mut wanted = metadata["annotations"].clone();
        wanted["d"] = json!("e");
        assert_eq!(serde_json::to_value(annotations.unwrap()).unwrap(), wanted);
    }
}

#[test]
fn variables_are_found_at_any_depth() {
    let has = |value| has_variables(&Node::from_json(value));
    assert!(has(json!({"a": [{"b": "x ${y}"}]})));
    assert!(has(json!({"${a}": 1})));
    assert!(!has(
        json!({"a": "$x {{ $labels.y }} $__rate_interval $(z)"})
    ));
}

/// A generated chart: its dependencies, how it installs the CRDs of the group of its own name, whether it is in an OCI
/// registry.
type GeneratedChart = (Vec<usize>, u8, bool);

/// Generates charts, and for each component the API groups of its objects.
fn generated() -> impl Strategy<Value = (Vec<GeneratedChart>, Vec<Vec<usize>>)> {
    let few = || prop::collection::vec(0..6usize, 0..3);
    let charts = prop::collection::vec((few(), 0..3u8, any::<bool>()), 0..6);
    (charts, prop::collection::vec(few(), 1..5))
}

/// A chart for a test, with the lifetime of the test process.
fn chart(number: usize, (after, crds, oci): &GeneratedChart) -> &'static Chart {
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    // Only earlier charts: real dependencies have no cycles.
    let after = after.iter().filter(|other| **other < number);
    let after: Vec<_> = after
        .map(|other| (leak(format!("chart-{other}")), "it says so"))
        .collect();
    let crds = [Crds::None, Crds::Folder, Crds::Templates][usize::from(*crds)];
    let groups = match crds {
        Crds::None => Vec::new(),
        _ => vec![leak(format!("group-{number}.example.com"))],
    };
    let scheme = if *oci { "oci" } else { "https" };
    Box::leak(Box::new(Chart {
        name: leak(format!("chart-{number}")),
        repository: leak(format!("{scheme}://charts.example.com/{number}")),
        version: "1.2.3",
        kubernetes: None,
        namespace: leak(format!("space-{number}")),
        pod_security: PodSecurity::Baseline,
        crds,
        api_groups: Box::leak(groups.into_boxed_slice()),
        dependencies: Box::leak(after.into_boxed_slice()),
        releases: |_| Vec::new(),
        source: "",
    }))
}

fn object(component: &str, api: &str, kind: &str, namespace: Option<&str>, name: &str) -> Object {
    let metadata = json!({"name": name, "namespace": namespace});
    let object = json!({"apiVersion": api, "kind": kind, "metadata": metadata});
    Object::new(component, &object, Origin::default())
}

/// The objects and releases of a generated cluster.
fn deliverables(
    (charts, components): &(Vec<GeneratedChart>, Vec<Vec<usize>>),
) -> (Vec<Object>, Vec<Release>) {
    let mut objects = Vec::new();
    let mut releases = Vec::new();
    for (number, drawn) in charts.iter().enumerate() {
        let chart = chart(number, drawn);
        objects.push(object(
            "namespaces",
            "v1",
            "Namespace",
            None,
            chart.namespace,
        ));
        releases.push(Release {
            name: format!("release-{number}"),
            chart,
            repository: chart.repository.to_owned(),
            namespace: chart.namespace.to_owned(),
            values: Node::from_json(json!({"text": "${x}", "number": number})),
            pools: Vec::new(),
            daemon_sets: Vec::new(),
        });
    }
    for (number, groups) in components.iter().enumerate() {
        let component = format!("part-{number}");
        objects.push(object(&component, "v1", "ConfigMap", Some("space-0"), "a"));
        for group in groups {
            let api = format!("group-{group}.example.com/v1");
            objects.push(object(&component, &api, "Thing", Some("space-0"), "b"));
        }
    }
    (objects, releases)
}

fn written(text: &str) -> Spanned<String> {
    Spanned::without_span(text.to_owned())
}

/// The objects of a GitOps controller by kind and name.
fn objects_of(delivery: &Delivery) -> BTreeMap<(String, String), Json> {
    let Delivery::Gitops { objects, .. } = delivery else {
        unreachable!("the test requests a GitOps controller");
    };
    let key = |object: &Object| (object.identity.kind.clone(), object.identity.name.clone());
    let found: BTreeMap<_, _> = objects
        .iter()
        .map(|object| (key(object), serde_json::to_value(&object.node).unwrap()))
        .collect();
    assert_eq!(found.len(), objects.len(), "two objects have the same name");
    found
}

fn argocd() -> Argocd {
    Argocd {
        repository: written("https://git.example.com/a.git"),
        branch: written("main"),
        path: written("clusters/ml"),
        cluster: None,
        namespace: written("argocd"),
    }
}

fn flux() -> Flux {
    Flux {
        repository: written("https://git.example.com/a.git"),
        branch: written("main"),
        path: written("clusters/ml"),
        secret: None,
        chart_secret: Some(written("mirror-credentials")),
        namespace: written("flux-system"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn dependencies_come_first_with_both_controllers(generated in generated()) {
        let (objects, releases) = deliverables(&generated);
        let steps = install_steps(&objects, &releases);
        let deliverables = Deliverables { objects: &objects, releases: &releases, steps: &steps };
        let flux = objects_of(&flux::delivery("ml", &flux(), &deliverables));
        let argocd = objects_of(&argocd::delivery("ml", &argocd(), &deliverables));
        let get = |objects: &BTreeMap<_, Json>, kind: &str, step: &str| -> Json {
            objects[&(kind.to_owned(), format!("ml-{step}"))].clone()
        };
        let depends = |step: &str| -> BTreeSet<String> {
            let object = get(&flux, "Kustomization", step);
            let names = object["spec"]["dependsOn"].as_array().cloned().unwrap_or_default();
            names.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
        };
        let wave = |step: &str| -> i64 {
            let object = get(&argocd, "Application", step);
            let wave = &object["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"];
            wave.as_str().unwrap().parse().unwrap()
        };
        // Objects of a chart's kinds follow the chart, and pods follow their namespace: derived from the objects.
        let mut edges = BTreeSet::new();
        for release in &releases {
            edges.insert((release.name.clone(), "namespaces".to_owned()));
            for (chart, _) in release.chart.dependencies {
                edges.insert((release.name.clone(), chart.replace("chart", "release")));
            }
        }
        for object in objects.iter().filter(|object| object.component != "namespaces") {
            let group = object.identity.api_version.split('/').next().unwrap();
            let provider = releases.iter().find(|release| release.chart.api_groups.contains(&group));
            edges.extend(provider.map(|provider| (object.component.clone(), provider.name.clone())));
        }
        for (late, early) in &edges {
            prop_assert!(depends(late).contains(&format!("ml-{early}")), "{late} {early}");
            prop_assert!(wave(late) > wave(early), "{late} {early}");
        }
        // Every dependency exists.
        for step in &steps {
            for name in depends(&step.name) {
                prop_assert!(flux.contains_key(&("Kustomization".to_owned(), name)));
            }
        }
    }

    #[test]
    fn crds_and_values_fit_each_controller(generated in generated()) {
        let (objects, releases) = deliverables(&generated);
        let steps = install_steps(&objects, &releases);
        let deliverables = Deliverables { objects: &objects, releases: &releases, steps: &steps };
        let flux = objects_of(&flux::delivery("ml", &flux(), &deliverables));
        let argocd = objects_of(&argocd::delivery("ml", &argocd(), &deliverables));
        let project = &argocd[&("AppProject".to_owned(), "ml".to_owned())]["spec"];
        let allowed = |repository: &Json| {
            project["sourceRepos"].as_array().unwrap().contains(repository)
        };
        for release in &releases {
            let name = format!("ml-{}", release.name);
            let of_flux = &flux[&("HelmRelease".to_owned(), name.clone())];
            let values = serde_json::to_value(&release.values).unwrap();
            prop_assert_eq!(&of_flux["spec"]["values"], &values);
            let crds = match release.chart.crds {
                Crds::Folder => json!("CreateReplace"),
                _ => Json::Null,
            };
            prop_assert_eq!(&of_flux["spec"]["install"]["crds"], &crds);
            prop_assert_eq!(&of_flux["spec"]["upgrade"]["crds"], &crds);
            let notes = &of_flux["metadata"]["annotations"];
            prop_assert_eq!(&notes["kustomize.toolkit.fluxcd.io/substitute"], "disabled");
            let kept = &notes["kustomize.toolkit.fluxcd.io/prune"];
            let brings = release.chart.crds != Crds::None;
            prop_assert_eq!(kept == "disabled", brings);
            let is_oci = release.chart.repository.starts_with("oci://");
            prop_assert_eq!(of_flux["spec"]["chartRef"].is_object(), is_oci);
            prop_assert_eq!(of_flux["spec"]["chart"].is_object(), !is_oci);
            let kind = if is_oci { "OCIRepository" } else { "HelmRepository" };
            let source = &flux[&(kind.to_owned(), name.clone())]["spec"];
            let secret = source["secretRef"]["name"].as_str();
            prop_assert_eq!(secret, is_oci.then_some("mirror-credentials"));
            let source = &source["url"];
            let url = release.chart.repository.to_owned();
            let url = if is_oci { url + "/" + release.chart.name } else { url };
            prop_assert_eq!(source, &url);

            let of_argocd = &argocd[&("Application".to_owned(), name)];
            let source = &of_argocd["spec"]["source"];
            prop_assert_eq!(&source["helm"]["valuesObject"], &values);
            let repository = source["repoURL"].as_str().unwrap();
            prop_assert!(!repository.starts_with("oci://") && allowed(&source["repoURL"]));
            prop_assert_eq!(of_argocd["metadata"]["finalizers"].is_array(), !brings);
        }
        let namespaces: BTreeSet<_> = project["destinations"].as_array().unwrap().iter()
            .map(|it| it["namespace"].as_str().unwrap()).collect();
        for ((kind, name), application) in &argocd {
            if kind != "Application" || name == "ml" {
                continue;
            }
            let namespace = application["spec"]["destination"]["namespace"].as_str().unwrap();
            prop_assert!(namespaces.contains(namespace), "{namespace} is not in the project");
            let step = name.strip_prefix("ml-").unwrap();
            let mut own = objects.iter().filter(|object| object.component == step);
            let foreign = own.any(|object| {
                let group = object.identity.api_version.split('/').next().unwrap();
                group.contains('.') && !releases.iter().any(|it| it.chart.api_groups.contains(&group))
            });
            let options = application["spec"]["syncPolicy"]["syncOptions"].as_array().unwrap();
            let skips = options.contains(&json!("SkipDryRunOnMissingResource=true"));
            prop_assert_eq!(skips, foreign, "{}", step);
            prop_assert!(options.contains(&json!("ServerSideApply=true")));
        }
    }
}

#[test]
fn namespaces_are_not_pruned_nor_variables_substituted() {
    let namespace = object("a", "v1", "Namespace", None, "a");
    assert_eq!(
        flux::protection_annotations(&namespace),
        [("kustomize.toolkit.fluxcd.io/prune", "disabled")]
    );
    let options = "argocd.argoproj.io/sync-options";
    assert_eq!(
        argocd::protection_options(&namespace),
        [(options, "Prune=false,Delete=false")]
    );
    let text = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "${datasource}"}});
    let text = Object::new("a", &text, Origin::default());
    let substitute = ("kustomize.toolkit.fluxcd.io/substitute", "disabled");
    assert_eq!(flux::protection_annotations(&text), [substitute]);
    assert_eq!(argocd::protection_options(&text), []);
}

#[test]
fn null_values_reach_helm() {
    let mut release = deliverables(&(vec![(Vec::new(), 0, false)], Vec::new()))
        .1
        .remove(0);
    release.values.value = Value::Mapping(vec![Entry {
        key: "resources".to_owned(),
        key_span: Span::NONE,
        value: Node::from_json(Json::Null),
    }]);
    let releases = [release];
    let steps = install_steps(&[], &releases);
    let deliverables = Deliverables {
        objects: &[],
        releases: &releases,
        steps: &steps,
    };
    let wanted = json!({"resources": null});
    let read = |text: &Json| -> Json { serde_json::from_str(text.as_str().unwrap()).unwrap() };
    let flux = objects_of(&flux::delivery("ml", &flux(), &deliverables));
    let of = |kind: &str| flux.iter().find(|((of, _), _)| of == kind).unwrap().1;
    let spec = &of("HelmRelease")["spec"];
    assert_eq!(spec["values"], Json::Null);
    let from = &spec["valuesFrom"][0];
    let map = of("ConfigMap");
    assert_eq!(from["name"], map["metadata"]["name"]);
    let key = from["valuesKey"].as_str().unwrap();
    assert_eq!(read(&map["data"][key]), wanted);
    let argocd = objects_of(&argocd::delivery("ml", &argocd(), &deliverables));
    let application = &argocd[&("Application".to_owned(), "ml-release-0".to_owned())];
    let helm = &application["spec"]["source"]["helm"];
    assert_eq!(read(&helm["values"]), wanted);
    assert_eq!(helm["valuesObject"], Json::Null);
}
