//! The install order is the same for `install.sh`, Flux and Argo CD, according to the files that they read.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::Plan;
use gpuc_syntax::tree::Tree;
use serde_json::Value;

use crate::corpus::cases;
use crate::support::examples::examples;
use crate::support::{compile_text, repository};

/// Steps by name, each with its predecessors.
type Order = BTreeMap<String, BTreeSet<String>>;

/// One cluster with each delivery method.
struct DeliveryVariants {
    name: String,
    script: Tree,
    flux: Tree,
    argocd: Tree,
}

/// Every standalone example that sets no delivery, with every delivery method. Examples with notebooks are omitted,
/// because with Argo CD the file must set their secrets.
fn delivery_variants() -> Vec<DeliveryVariants> {
    let examples = examples().into_iter();
    let single = examples.filter(|(_, paths)| paths.len() == 1);
    let texts = single.filter_map(|(name, paths)| {
        let text = std::fs::read_to_string(repository().join(&paths[0])).unwrap();
        let says = |line: &str| line.starts_with("gitops:") || line.starts_with("notebooks:");
        let has = text.lines().any(says);
        (!has).then_some((name, text))
    });
    let ways = texts.map(|(name, text)| {
        let built = |tool: &str| {
            let gitops = match tool {
                "" => String::new(),
                tool => {
                    let repository = "https://git.example.com/acme/gitops.git";
                    format!(
                        "gitops: {{{tool}: {{repository: \"{repository}\", branch: main, path: \"fleet/{name}\"}}}}\n"
                    )
                }
            };
            let mut outcome = compile_text(&(text.clone() + &gitops));
            assert!(outcome.findings.is_empty(), "{}", outcome.text());
            outcome.compilations.remove(0).output.unwrap().0
        };
        DeliveryVariants {
            script: built(""),
            flux: built("flux"),
            argocd: built("argocd"),
            name,
        }
    });
    ways.collect()
}

/// The order of the steps in a script.
fn script_order(tree: &Tree) -> Order {
    let Some(script) = tree.get("install.sh") else {
        return Order::new();
    };
    let mut order = Order::new();
    for line in script.contents.lines() {
        let mut words = line.split(' ');
        if let (Some("objects" | "release"), Some(step)) = (words.next(), words.next()) {
            let before = order.keys().cloned().collect();
            order.insert(step.to_owned(), before);
        }
    }
    order
}

fn yaml(tree: &Tree, path: &str) -> Value {
    let file = tree.get(path);
    let file = file.unwrap_or_else(|| panic!("the tree has no {path}"));
    serde_yaml::from_str(&file.contents).unwrap()
}

/// The objects of a kind in a folder, by name without the prefix of the cluster.
fn objects_of_kind(
    tree: &Tree,
    folder: &str,
    kind: &str,
    cluster: &str,
) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (path, _) in tree.files() {
        let file = path
            .strip_prefix(folder)
            .and_then(|it| it.strip_prefix('/'));
        if file.is_none_or(|file| file.contains('/') || file == "kustomization.yaml") {
            continue;
        }
        let object = yaml(tree, path);
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let step = name.strip_prefix(&format!("{cluster}-"));
        if let Some(step) = step.filter(|_| object["kind"] == kind) {
            found.insert(step.to_owned(), object);
        }
    }
    found
}

/// The transitive dependencies of each object.
fn flux_order(tree: &Tree, cluster: &str) -> Order {
    let objects = objects_of_kind(tree, "flux", "Kustomization", cluster);
    let direct = |step: &str| {
        let needs = objects[step]["spec"]["dependsOn"].as_array();
        let names = needs.into_iter().flatten();
        let names = names.map(|it| it["name"].as_str().unwrap().to_owned());
        let steps = names.map(|it| it[cluster.len() + 1..].to_owned());
        steps.collect::<Vec<_>>()
    };
    let all = |step: &String| {
        let mut waiting = direct(step);
        let mut before = BTreeSet::new();
        while let Some(next) = waiting.pop() {
            assert_ne!(next, *step, "{step} depends on itself");
            waiting.extend(direct(&next));
            before.insert(next);
        }
        before
    };
    objects
        .keys()
        .map(|step| (step.clone(), all(step)))
        .collect()
}

/// The objects of all earlier sync waves.
fn argocd_order(tree: &Tree, cluster: &str) -> Order {
    let objects = objects_of_kind(tree, "argocd/apps", "Application", cluster);
    let wave = |object: &Value| {
        let wave = &object["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"];
        wave.as_str().unwrap().parse::<i32>().unwrap()
    };
    let all = |object: &Value| {
        let earlier = objects.iter().filter(|(_, it)| wave(it) < wave(object));
        earlier.map(|(step, _)| step.clone()).collect()
    };
    let steps = objects.iter();
    steps.map(|(step, it)| (step.clone(), all(it))).collect()
}

#[test]
fn deliveries_deploy_the_same_objects_in_a_valid_order() {
    let mut waited = 0;
    for DeliveryVariants {
        name,
        script,
        flux,
        argocd,
    } in delivery_variants()
    {
        let flux = flux_order(&flux, &name);
        waited += flux.values().map(BTreeSet::len).sum::<usize>();
        for (method, order) in [
            ("install.sh", script_order(&script)),
            ("Argo CD", argocd_order(&argocd, &name)),
        ] {
            let steps = |order: &Order| order.keys().cloned().collect::<Vec<_>>();
            assert_eq!(steps(&order), steps(&flux), "{name}: {method}");
            // Flux has the exact dependencies. The other methods may have a stricter order.
            for (step, before) in &flux {
                let missing: Vec<_> = before.difference(&order[step]).collect();
                assert!(
                    missing.is_empty(),
                    "{name}: {method}: {step} before {missing:?}"
                );
            }
        }
    }
    assert!(waited > 0, "no example has a dependency");
}

/// Collects the files of a kustomization that is registered with a GitOps controller: its own file, the files that it
/// names, and recursively the files that these name.
fn collect_synced_files(tree: &Tree, folder: &str, found: &mut BTreeSet<String>) {
    let path = match folder {
        "" => "kustomization.yaml".to_owned(),
        folder => format!("{folder}/kustomization.yaml"),
    };
    let kustomization = yaml(tree, &path);
    assert_eq!(
        kustomization["apiVersion"],
        "kustomize.config.k8s.io/v1beta1"
    );
    found.insert(path);
    for resource in kustomization["resources"].as_array().unwrap() {
        let resource = resource.as_str().unwrap();
        let below = match folder {
            "" => resource.to_owned(),
            folder => format!("{folder}/{resource}"),
        };
        let ends = std::path::Path::new(resource).extension();
        if ends.is_none_or(|ends| ends != "yaml") {
            collect_synced_files(tree, &below, found);
            continue;
        }
        let object = yaml(tree, &below);
        for key in ["apiVersion", "kind"] {
            assert!(object[key].is_string(), "{below} is not a manifest");
        }
        assert!(
            object["metadata"]["name"].is_string(),
            "{below} has no name"
        );
        found.insert(below);
    }
}

/// The path, relative to the cluster's folder, that a GitOps controller reads.
fn path_below_cluster(path: &Value, cluster: &str) -> String {
    let path = path.as_str().unwrap().trim_start_matches("./");
    let inside = path.strip_prefix(&format!("fleet/{cluster}/"));
    inside
        .unwrap_or_else(|| panic!("{path} is not in the tree"))
        .to_owned()
}

#[test]
fn gitops_sources_exist_and_are_complete() {
    for ways in delivery_variants() {
        let name = &ways.name;
        for (tree, folder) in [(&ways.flux, "flux"), (&ways.argocd, "argocd")] {
            let mut found = BTreeSet::new();
            collect_synced_files(tree, "", &mut found);
            let synced: Vec<_> = found.iter().cloned().collect();
            let mut folders = BTreeSet::new();
            let mut waiting = synced;
            while let Some(path) = waiting.pop() {
                if path.ends_with("kustomization.yaml") {
                    continue;
                }
                let object = yaml(tree, &path);
                let spec = &object["spec"];
                let path = match object["kind"].as_str() {
                    Some("Kustomization") => &spec["path"],
                    Some("Application") => &spec["source"]["path"],
                    _ => continue,
                };
                if path.is_null() {
                    assert!(spec["source"]["chart"].is_string(), "{name}: {object}");
                    continue;
                }
                if folders.insert(path_below_cluster(path, name)) {
                    let mut more = BTreeSet::new();
                    collect_synced_files(tree, &path_below_cluster(path, name), &mut more);
                    waiting.extend(more.iter().cloned());
                    found.extend(more);
                }
            }
            for (path, _) in tree.files() {
                let is_yaml = std::path::Path::new(path)
                    .extension()
                    .is_some_and(|ends| ends == "yaml")
                    && !path.starts_with("cloud/");
                // The user applies this file with kustomize or kubectl, without a GitOps controller.
                let is_manual = path == "manifests/kustomization.yaml";
                assert!(
                    !is_yaml || is_manual || found.contains(path),
                    "{name}: no kustomization names {path}"
                );
                assert!(
                    !path.starts_with("helm/") && path != "install.sh",
                    "{name}: {path}"
                );
            }
            let root = yaml(tree, "kustomization.yaml");
            assert_eq!(root["resources"], serde_json::json!([folder]));
        }
        let script = &ways.script;
        assert!(script.get("kustomization.yaml").is_none(), "{name}");
    }
}

#[test]
fn objects_follow_their_crds_and_controllers() {
    for case in cases() {
        assert_objects_in_order(&case.name, case.plan());
    }
}

/// Asserts that every object follows the release that installs its kind and the object that creates its namespace, and
/// that every release follows its namespace.
pub(crate) fn assert_objects_in_order(name: &str, plan: &Plan) {
    let position = |step: &str| plan.steps.iter().position(|it| it.name == step).unwrap();
    let made = plan
        .objects
        .iter()
        .filter(|it| it.identity.kind == "Namespace");
    let made: BTreeMap<_, _> = made
        .map(|it| (it.identity.name.as_str(), &it.component))
        .collect();
    for object in &plan.objects {
        let own = position(&object.component);
        let group = object.identity.api_version.split('/').next().unwrap();
        let serves_group = |groups: &[&str]| groups.contains(&group);
        for release in plan
            .releases
            .iter()
            .filter(|it| serves_group(it.chart.api_groups))
        {
            assert!(
                position(&release.name) < own,
                "{}: {:?}",
                name,
                object.identity
            );
        }
        let space = object.identity.namespace.as_deref();
        if let Some(maker) = space.and_then(|space| made.get(space)) {
            assert!(position(maker) <= own, "{}: {:?}", name, object.identity);
        }
    }
    for release in &plan.releases {
        let maker = made.get(release.namespace.as_str());
        let there = maker.map_or(release.namespace == "kube-system", |maker| {
            position(maker) < position(&release.name)
        });
        assert!(there, "{}: {}", name, release.name);
    }
}

/// Asserts that the configuration of a GitOps controller keeps the order of the steps and has no cycles.
pub(crate) fn assert_controller_keeps_order(tool: &str, cluster: &str, tree: &Tree, plan: &Plan) {
    let order = match tool {
        "flux" => flux_order(tree, cluster),
        "argocd" => argocd_order(tree, cluster),
        _ => script_order(tree),
    };
    for step in &plan.steps {
        let before = order.get(&step.name);
        let before =
            before.unwrap_or_else(|| panic!("{tool} is not configured with {}", step.name));
        for need in &step.dependencies {
            assert!(
                before.contains(&need.step),
                "{tool}: {} needs {}",
                step.name,
                need.step
            );
        }
    }
}

#[test]
fn detached_controller_keeps_namespaces() {
    let mut seen = 0;
    for method in delivery_variants() {
        for tree in [&method.flux, &method.argocd] {
            let namespaces = tree
                .files()
                .filter(|(path, _)| path.contains("/namespace-"));
            for (path, file) in namespaces {
                seen += 1;
                let kept = [
                    "kustomize.toolkit.fluxcd.io/prune: disabled",
                    "argocd.argoproj.io/sync-options: Prune=false,Delete=false",
                ];
                for words in kept {
                    assert!(file.contents.contains(words), "{path}");
                }
            }
        }
    }
    assert!(seen > 0, "no tree has a namespace");
}
