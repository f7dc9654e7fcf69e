//! The objects by which Flux or Argo CD brings the tree to the cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::header::Header;
use super::manifest::kustomization;
use super::{name, yaml_file};
use crate::plan::Object;
use crate::tree::Tree;

/// Every object in a file of its own. What belongs to no component stands in the folder, and the folder's kustomization
/// names it; any other component is a folder below with a kustomization of its own, which something of the first kind
/// points at.
///
/// The cluster's folder gets one that names this folder alone: whoever points a tool at the whole of it, with its
/// scripts and lock, brings what is meant.
pub(super) fn emit(folder: &str, objects: &[Object], header: &Header, tree: &mut Tree) {
    let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for object in objects {
        let (component, file) = place(folder, object);
        let path = format!("{component}/{file}");
        tree.add(path, yaml_file(header, &object.node));
        folders.entry(component).or_default().insert(file);
    }
    for (folder, files) in &folders {
        let kustomization = kustomization(header, files.iter());
        tree.add(format!("{folder}/kustomization.yaml"), kustomization);
    }
    let whole = kustomization(header, [folder.to_owned()].iter());
    tree.add(ROOT, whole);
}

/// Each object with the path of its file.
pub(super) fn paths<'p>(
    folder: &str,
    objects: &'p [Object],
) -> impl Iterator<Item = (String, &'p Object)> {
    objects.iter().map(move |object| {
        let (component, file) = place(folder, object);
        (format!("{component}/{file}"), object)
    })
}

/// The folder and the name of an object's file.
fn place(folder: &str, object: &Object) -> (String, String) {
    let component = match object.component.as_str() {
        "" => folder.to_owned(),
        component => format!("{folder}/{}", name::part(component)),
    };
    let identity = &object.identity;
    let kind = identity.kind.to_lowercase();
    let file = format!("{kind}-{}.yaml", name::part(&identity.name));
    (component, file)
}

/// The kustomization of the cluster's folder.
pub(super) const ROOT: &str = "kustomization.yaml";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::node::Origin;

    #[test]
    fn components_are_folders_that_the_parent_does_not_name() {
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
        let names = |path: &str| {
            let text = &tree.get(path).unwrap().contents;
            text.split_once("resources:\n").unwrap().1.to_owned()
        };
        assert_eq!(names("kustomization.yaml"), "- flux\n");
        let folder = names("flux/kustomization.yaml");
        assert_eq!(folder, "- gitrepository-ml.yaml\n- kustomization-ml.yaml\n");
        assert_eq!(
            names("flux/kueue/kustomization.yaml"),
            "- helmrelease-ml-kueue.yaml\n"
        );
    }
}
