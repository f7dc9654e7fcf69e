//! The objects with which Flux or Argo CD deploys the tree to the cluster.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::Object;
use gpuc_syntax::tree::Tree;

use super::header::Header;
use super::manifest::kustomization;
use super::{name, yaml_file};

/// Writes every object to a file of its own. Objects without a component are in the folder itself, and its
/// kustomization lists them. Every other component is a subfolder with its own kustomization, which an object without
/// a component points at.
///
/// The cluster's folder gets a kustomization that lists only this folder. A GitOps controller that is pointed at the
/// whole tree, with its scripts and lock, then deploys the same objects.
pub(super) fn emit(folder: &str, objects: &[Object], header: &Header, tree: &mut Tree) {
    let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for object in objects {
        let (component, file) = folder_and_file(folder, object);
        let path = format!("{component}/{file}");
        tree.add(path, yaml_file(header, &object.node));
        folders.entry(component).or_default().insert(file);
    }
    for (folder, files) in &folders {
        let kustomization = kustomization(header, files.iter());
        tree.add(format!("{folder}/kustomization.yaml"), kustomization);
    }
    let root = kustomization(header, [folder.to_owned()].iter());
    tree.add(ROOT, root);
}

/// Every object with the path of its file.
pub(super) fn objects_with_paths<'p>(
    folder: &str,
    objects: &'p [Object],
) -> impl Iterator<Item = (String, &'p Object)> {
    objects.iter().map(move |object| {
        let (component, file) = folder_and_file(folder, object);
        (format!("{component}/{file}"), object)
    })
}

/// The folder and the name of an object's file.
fn folder_and_file(folder: &str, object: &Object) -> (String, String) {
    let component = match object.component.as_str() {
        "" => folder.to_owned(),
        component => format!("{folder}/{}", name::file_name_part(component)),
    };
    let identity = &object.identity;
    let kind = identity.kind.to_lowercase();
    let file = format!("{kind}-{}.yaml", name::file_name_part(&identity.name));
    (component, file)
}

/// The kustomization of the cluster's folder.
pub(super) const ROOT: &str = "kustomization.yaml";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use gpuc_syntax::node::Origin;

    #[test]
    fn parent_kustomization_does_not_list_components() {
        let object = |component: &str, kind: &str, name: &str| {
            let metadata = json!({"name": name, "namespace": "flux-system"});
            let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
            Object::new(component, &object, Origin::default())
        };
        let objects = [
            object("", "GitRepository", "ml"),
            object("", "Kustomization", "ml"),
            object("kueue", "HelmRelease", "ml-kueue"),
        ];
        let mut tree = Tree::default();
        emit("flux", &objects, &Header::new(None), &mut tree);
        let paths: Vec<_> = tree.files().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            [
                "flux/gitrepository-ml.yaml",
                "flux/kueue/helmrelease-ml-kueue.yaml",
                "flux/kueue/kustomization.yaml",
                "flux/kustomization-ml.yaml",
                "flux/kustomization.yaml",
                "kustomization.yaml",
            ]
        );
        let resources = |path: &str| {
            let text = &tree.get(path).unwrap().contents;
            text.split_once("resources:\n").unwrap().1.to_owned()
        };
        assert_eq!(resources("kustomization.yaml"), "- flux\n");
        let folder = resources("flux/kustomization.yaml");
        assert_eq!(folder, "- gitrepository-ml.yaml\n- kustomization-ml.yaml\n");
        assert_eq!(
            resources("flux/kueue/kustomization.yaml"),
            "- helmrelease-ml-kueue.yaml\n"
        );
    }
}
