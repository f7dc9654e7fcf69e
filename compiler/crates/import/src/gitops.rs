//! The key `gitops`: Flux or Argo CD, if it delivers a tree of gpuc.
//!
//! Source of the layout: `compile/src/lower/delivery`: the root object has the name of the cluster, and its path ends
//! in a folder of the controller.

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;

use crate::configs::name_of;
use crate::context::Context;
use crate::json::{source, text};
use crate::report::Report;
use crate::tree::{Entries, Item};

/// The ends of the paths of root objects.
const FLUX: &str = "flux";
const ARGOCD: &str = "argocd/apps";

/// The name of the cluster by the root object of the GitOps controller, with its notation.
pub(crate) fn cluster_name<'s>(cx: &Context<'s>) -> Option<(&'s str, String)> {
    let flux = flux_root(cx).map(|(root, _)| ("Kustomization", root));
    let (kind, root) = flux.or_else(|| Some(("Application", argocd_root(cx)?)))?;
    Some((
        &root.metadata.name,
        format!("{}#metadata.name", name_of(kind, root)),
    ))
}

/// The key `gitops`.
pub(crate) fn gitops(cx: &Context<'_>, report: &mut Report) -> Option<Item> {
    if let Some((root, repository)) = flux_root(cx) {
        return Some(Item::single("flux", flux(cx, root, repository)));
    }
    if let Some(root) = argocd_root(cx) {
        return Some(Item::single("argocd", argocd(cx, root)));
    }
    let others = [
        ("Kustomization", Kind::Kustomization),
        ("Application", Kind::Application),
    ];
    for (name, kind) in others {
        if let Some(object) = cx.state.objects(kind).first() {
            let reason = "it does not deliver a tree of gpuc, so that the file installs with install.sh; a controller that delivers the same objects would change them back";
            report.leave_out(Some("gitops"), name_of(name, object), reason);
        }
    }
    None
}

/// The path in the repository, if it ends in a folder of the controller.
fn tree_path<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let rest = path.strip_suffix(folder)?;
    match rest.strip_suffix('/') {
        Some(path) => Some(path),
        None => rest.is_empty().then_some("."),
    }
}

/// The Kustomization that applies all others, and its repository: both have the name of the cluster.
fn flux_root<'s>(cx: &Context<'s>) -> Option<(&'s Object, &'s Object)> {
    let mut all = cx.state.objects(Kind::Kustomization).iter();
    all.find_map(|it| {
        let name = it.metadata.name.as_str();
        tree_path(it.text("/spec/path"), FLUX)?;
        let is_own = it.text("/spec/sourceRef/name") == name;
        let repository = cx
            .state
            .object(Kind::GitRepository, &it.metadata.namespace, name);
        Some((it, repository.filter(|_| is_own)?))
    })
}

fn flux(cx: &Context<'_>, root: &Object, repository: &Object) -> Item {
    let at = |field: &str, value: &str| source(name_of("GitRepository", repository), field, value);
    let mut entries = Entries::default();
    let url = repository.text("/spec/url");
    entries.push("repository", Item::text(url).sure(at("spec.url", url)));
    let branch = repository.text("/spec/ref/branch");
    entries.push(
        "branch",
        Item::text(branch).sure(at("spec.ref.branch", branch)),
    );
    let written = root.text("/spec/path");
    let path = tree_path(written, FLUX).unwrap_or(".");
    let of_root = source(name_of("Kustomization", root), "spec.path", written);
    entries.push("path", Item::text(path).sure(of_root));
    if let Some(secret) = text(&repository.body, "/spec/secretRef/name") {
        let item = Item::text(secret).sure(at("spec.secretRef.name", secret));
        entries.push("secret", item);
    }
    let mut charts = cx.state.objects(Kind::OciRepository).iter();
    let own = charts.find_map(|it| Some((it, text(&it.body, "/spec/secretRef/name")?)));
    if let Some((chart, secret)) = own {
        let at = source(
            name_of("OCIRepository", chart),
            "spec.secretRef.name",
            secret,
        );
        entries.push("chartSecret", Item::text(secret).sure(at));
    }
    let namespace = root.metadata.namespace.as_str();
    if namespace != "flux-system" {
        let at = name_of("Kustomization", root);
        entries.push("namespace", Item::text(namespace).sure(at));
    }
    entries.into_item()
}

/// The Application that creates all others.
fn argocd_root<'s>(cx: &Context<'s>) -> Option<&'s Object> {
    let mut all = cx.state.objects(Kind::Application).iter();
    all.find(|it| tree_path(it.text("/spec/source/path"), ARGOCD).is_some())
}

fn argocd(cx: &Context<'_>, root: &Object) -> Item {
    let at = |field: &str, value: &str| source(name_of("Application", root), field, value);
    let mut entries = Entries::default();
    for (key, pointer, field) in [
        ("repository", "/spec/source/repoURL", "spec.source.repoURL"),
        (
            "branch",
            "/spec/source/targetRevision",
            "spec.source.targetRevision",
        ),
    ] {
        let value = root.text(pointer);
        entries.push(key, Item::text(value).sure(at(field, value)));
    }
    let written = root.text("/spec/source/path");
    let path = tree_path(written, ARGOCD).unwrap_or(".");
    entries.push(
        "path",
        Item::text(path).sure(at("spec.source.path", written)),
    );
    // The other Applications name the cluster, unless it is Argo CD's own.
    let steps = cx.state.objects(Kind::Application).iter();
    let named = steps.filter(|it| it.metadata.namespace == root.metadata.namespace);
    let mut named = named.filter_map(|it| Some((it, text(&it.body, "/spec/destination/name")?)));
    if let Some((step, cluster)) = named.next() {
        let at = source(
            name_of("Application", step),
            "spec.destination.name",
            cluster,
        );
        entries.push("cluster", Item::text(cluster).sure(at));
    }
    let namespace = root.metadata.namespace.as_str();
    if namespace != "argocd" {
        let at = name_of("Application", root);
        entries.push("namespace", Item::text(namespace).sure(at));
    }
    entries.into_item()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_trees_end_in_the_folder_of_the_controller() {
        assert_eq!(
            tree_path("./clusters/prod/flux", FLUX),
            Some("clusters/prod")
        );
        assert_eq!(tree_path("flux", FLUX), Some("."));
        assert_eq!(tree_path("./clusters/prod/reflux", FLUX), None);
        assert_eq!(tree_path("a/argocd/apps/", ARGOCD), Some("a"));
    }
}
