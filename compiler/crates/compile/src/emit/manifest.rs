//! Kubernetes objects: one per file, a folder for each component, and the kustomizations that list them.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::{Identity, Object};
use gpuc_syntax::node::{Node, Origin};
use gpuc_syntax::tree::Tree;
use serde_json::json;

use super::header::Header;
use super::{name, yaml_file};

/// The folder of the manifests.
pub(super) const FOLDER: &str = "manifests";

/// Writes every object to a file of its own.
pub(super) fn emit(objects: &[Object], header: &Header, tree: &mut Tree) {
    let mut components: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (object, file) in objects.iter().zip(file_paths(objects)) {
        let component = name::file_name_part(&object.component);
        tree.add(path_of(object, &file), yaml_file(header, &object.node));
        components.entry(component).or_default().insert(file);
    }
    for (component, files) in &components {
        tree.add(
            format!("{FOLDER}/{component}/kustomization.yaml"),
            kustomization(header, files.iter()),
        );
    }
    if !components.is_empty() {
        tree.add(
            format!("{FOLDER}/kustomization.yaml"),
            kustomization(header, components.keys()),
        );
    }
}

/// A kustomization that lists files or folders.
pub(super) fn kustomization<'a>(
    header: &Header,
    resources: impl Iterator<Item = &'a String>,
) -> String {
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources.collect::<Vec<_>>(),
    });
    yaml_file(
        header,
        &Node::from_serializable(&kustomization, Origin::default()),
    )
}

/// Every object with the path of its file.
pub(super) fn objects_with_paths(objects: &[Object]) -> impl Iterator<Item = (String, &Object)> {
    let files = objects.iter().zip(file_paths(objects));
    files.map(|(object, file)| (path_of(object, &file), object))
}

fn path_of(object: &Object, file: &str) -> String {
    format!(
        "{FOLDER}/{}/{file}",
        name::file_name_part(&object.component)
    )
}

/// The path of each object's file, relative to the folder of its component.
pub(super) fn file_paths(objects: &[Object]) -> Vec<String> {
    let mut kinds: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for object in objects {
        let groups = kinds
            .entry((&object.component, short_path(&object.identity)))
            .or_default();
        groups.insert(api_group(&object.identity));
    }
    let file = |object: &Object| {
        let short = short_path(&object.identity);
        // Two API groups can have kinds of the same name, such as Service of Knative and of Kubernetes.
        match kinds[&(object.component.as_str(), short.clone())].len() {
            1 => short,
            _ => path(
                &object.identity,
                &format!(".{}", api_group(&object.identity)),
            ),
        }
    };
    objects.iter().map(file).collect()
}

fn short_path(identity: &Identity) -> String {
    path(identity, "")
}

fn path(identity: &Identity, after_kind: &str) -> String {
    let kind = identity.kind.to_lowercase() + after_kind;
    let file = format!(
        "{}-{}.yaml",
        name::file_name_part(&kind),
        name::file_name_part(&identity.name)
    );
    match &identity.namespace {
        Some(namespace) => format!("{}/{file}", name::file_name_part(namespace)),
        None => file,
    }
}

/// The API group; `core` for the core group.
fn api_group(identity: &Identity) -> &str {
    let group = identity.api_version.split_once('/');
    group.map_or("core", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(api: &str, kind: &str, namespace: Option<&str>, name: &str) -> Object {
        let object = json!({
            "apiVersion": api,
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
        });
        Object::new("device-plugin", &object, Origin::default())
    }

    #[test]
    fn kustomizations_list_every_file() {
        let mut tree = Tree::default();
        let objects = [
            object("v1", "Namespace", None, "gpuc"),
            object("v1", "Service", Some("gpuc"), "a"),
            object("serving.knative.dev/v1", "Service", Some("gpuc"), "a"),
            object(
                "rbac.authorization.k8s.io/v1",
                "ClusterRole",
                None,
                "system:a",
            ),
        ];
        emit(&objects, &Header::new(Some("gpu-cluster.yaml")), &mut tree);
        let paths: Vec<_> = tree.files().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            [
                "manifests/device-plugin/clusterrole-system_3aa.yaml",
                "manifests/device-plugin/gpuc/service.core-a.yaml",
                "manifests/device-plugin/gpuc/service.serving.knative.dev-a.yaml",
                "manifests/device-plugin/kustomization.yaml",
                "manifests/device-plugin/namespace-gpuc.yaml",
                "manifests/kustomization.yaml",
            ]
        );
        let component = &tree
            .get("manifests/device-plugin/kustomization.yaml")
            .unwrap()
            .contents;
        assert!(
            component.contains("- clusterrole-system_3aa.yaml\n- gpuc/service.core-a.yaml\n"),
            "{component}"
        );
        let top = &tree.get("manifests/kustomization.yaml").unwrap().contents;
        assert!(
            top.ends_with("kind: Kustomization\nresources:\n- device-plugin\n"),
            "{top}"
        );
    }
}
