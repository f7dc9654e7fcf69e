//! Reads the state of a running cluster through its API server.

use anyhow::{Result, bail};
use gpuc_collect::{Collection, Limits, Page, collect, connect, current_context, server};
use gpuc_live::state::ClusterState;

use super::clock;
use super::output::ProgressLine;

/// The state of the cluster of a context.
pub(crate) fn read(context: Option<&str>) -> Result<ClusterState> {
    let collection = collect_pages(context, |_| Ok(()))?;
    Ok(collection.state)
}

/// The cluster of a context, for messages.
pub(crate) fn title(context: Option<&str>) -> String {
    let name = context.map(str::to_owned).or_else(current_context);
    match (name, server(context)) {
        (Some(name), Some(server)) => format!("the cluster of the context `{name}` ({server})"),
        (Some(name), None) => format!("the cluster of the context `{name}`"),
        (None, _) => "the cluster".to_owned(),
    }
}

/// Reads a cluster, and passes each file of a snapshot to `store`.
pub(crate) fn collect_pages(
    context: Option<&str>,
    mut store: impl FnMut(Page) -> Result<(), String>,
) -> Result<Collection> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let progress = ProgressLine::new("reading the cluster");
    let result = runtime.block_on(async {
        let client = connect(context).await.map_err(|error| error.to_string())?;
        let store = |page| {
            progress.tick();
            store(page)
        };
        let version = env!("CARGO_PKG_VERSION");
        collect(&client, &Limits::default(), &clock::now(), version, store).await
    });
    // Requests that hang do not delay the end.
    runtime.shutdown_background();
    match result {
        Ok(collection) => Ok(collection),
        Err(error) => bail!(
            "cannot read {}: {error}\nhelp: `kubectl get nodes` must work with the same kubeconfig and context",
            title(context)
        ),
    }
}
