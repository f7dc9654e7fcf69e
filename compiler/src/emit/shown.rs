//! What of a plan each file shows.

use std::collections::BTreeMap;

use super::header::Header;
use super::script::{self, Parts};
use super::{gitops, helm, manifest};
use crate::plan::{Contents, Delivery, File, Object, Plan, Release, ResourceKind};

/// What a file shows.
#[derive(Clone, Debug)]
pub enum Shown<'p> {
    /// An object for the cluster.
    Object(&'p Object),
    /// The values of a release.
    Values(&'p Release),
    /// A document or text for the cloud's tools.
    File(&'p File),
    /// A script.
    Script(Parts<'p>),
    /// The functions that all scripts share.
    Library,
    /// The jq functions that read a kind of resource.
    Definitions(&'static ResourceKind),
    /// A kustomization: the list of the files beside it.
    Kustomization,
    /// The page for people.
    Readme,
}

/// What each file of a plan's tree shows, by its path. `file` is the name of the file that the cluster stands in, if it
/// has one.
pub fn shown<'p>(plan: &'p Plan, file: Option<&str>) -> BTreeMap<String, Shown<'p>> {
    let header = Header::new(file);
    let mut shown = BTreeMap::new();
    shown.insert("README.md".to_owned(), Shown::Readme);
    let scripts = script::scripts(plan, &header).into_iter();
    shown.extend(scripts.map(|(path, parts)| (path, Shown::Script(parts))));
    shown.insert(script::LIBRARY_FILE.to_owned(), Shown::Library);
    let definitions = script::definitions(plan).into_iter();
    shown.extend(definitions.map(|(path, kind)| (path, Shown::Definitions(kind))));
    let files = plan.provisioning.files.iter();
    let files = files.filter(|file| !matches!(file.contents, Contents::Script(_)));
    shown.extend(files.map(|file| (script::path(file), Shown::File(file))));
    let mut lists = Vec::new();
    for (path, object) in manifest::paths(&plan.objects) {
        // The folder of all manifests, and that of the component.
        let folders = path.match_indices('/').take(2);
        lists.extend(folders.map(|(at, _)| path[..at].to_owned()));
        shown.insert(path, Shown::Object(object));
    }
    match &plan.delivery {
        Delivery::Script => {
            let values = plan.releases.iter();
            shown.extend(values.map(|one| (helm::values_path(one), Shown::Values(one))));
        }
        Delivery::Gitops {
            folder,
            objects: told,
            ..
        } => {
            for (path, object) in gitops::paths(folder, told) {
                lists.extend(path.rsplit_once('/').map(|(folder, _)| folder.to_owned()));
                shown.insert(path, Shown::Object(object));
            }
            shown.insert(gitops::ROOT.to_owned(), Shown::Kustomization);
        }
    }
    let lists = lists.into_iter();
    shown
        .extend(lists.map(|folder| (format!("{folder}/kustomization.yaml"), Shown::Kustomization)));
    shown
}
