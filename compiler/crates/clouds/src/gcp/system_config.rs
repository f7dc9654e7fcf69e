//! Node system configurations: files with settings of the kernel and of the kubelet that gcloud has no flags for.
//!
//! Source: docs.cloud.google.com/kubernetes-engine/docs/how-to/node-system-config, read 2026-11-28.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Argument, Command, Contents, File};
use gpuc_syntax::node::{Node, Origin};
use serde_json::json;

use super::gpudirect::{self, HUGE_PAGES_GIB};

/// The number of huge pages of 2 MiB that the nodes of a pool reserve; `None` if they need none.
///
/// Source: Google's guide to A4X Max
/// (docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom-a4x-max, 2026-04-06) and
/// GoogleCloudPlatform/cluster-toolkit@10470803 `examples/gke-a4x-max-bm`.
pub(super) fn huge_pages(pool: &Pool) -> Option<u32> {
    let written = pool.settings.network.gpudirect.as_ref();
    let is_bare_metal = gpudirect::pool_adapters(pool).is_some_and(|it| it.is_bare_metal);
    (is_bare_metal && written.is_some()).then_some(HUGE_PAGES_GIB * 512)
}

/// The path of a pool's file below `cloud/`; `None` if the pool needs none.
pub(super) fn file_path(pool: &Pool) -> Option<String> {
    huge_pages(pool).map(|_| format!("node-system-{}.yaml", pool.name))
}

/// Adds the flag for a file to a command that creates or updates a pool.
pub(super) fn with_flag(command: Command, path: String) -> Command {
    command
        .with_arguments(["--system-config-from-file"])
        .with_argument(Argument::CloudFile(path))
}

/// The files of all pools that gpuc creates.
pub(super) fn files(cluster: Checked<'_>) -> Vec<File> {
    let pools = cluster.pools.iter().filter(|pool| !pool.is_existing());
    let file = |pool: &Pool| {
        let (path, pages) = (file_path(pool)?, huge_pages(pool)?);
        let written = pool.settings.network.gpudirect.as_ref()?;
        let origin = Origin::fact(
            [written.span],
            "the software of the network adapters uses huge pages, which only a reboot of the node reserves",
            "docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom-a4x-max, 2026-04-06",
        );
        let config = json!({"linuxConfig": {"hugepageConfig": {"hugepage_size2m": pages}}});
        Some(File {
            path,
            contents: Contents::Yaml(Node::from_serializable(&config, origin.clone())),
            origin,
        })
    };
    pools.filter_map(file).collect()
}
