//! The connection to an API server.

use std::fmt;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// The cluster cannot be reached with the kubeconfig.
#[derive(Debug)]
pub struct ConnectError(String);

impl std::error::Error for ConnectError {}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of the current context of the kubeconfig, if there is one.
pub fn current_context() -> Option<String> {
    Kubeconfig::read().ok()?.current_context
}

/// The URL of the API server of a context, or of the current context, if the kubeconfig names one.
pub fn server(context: Option<&str>) -> Option<String> {
    let kubeconfig = Kubeconfig::read().ok()?;
    let name = context.or(kubeconfig.current_context.as_deref())?;
    let mut contexts = kubeconfig.contexts.iter();
    let context = contexts.find(|it| it.name == name)?.context.as_ref()?;
    let mut clusters = kubeconfig.clusters.iter();
    let cluster = clusters.find(|it| it.name == context.cluster)?;
    cluster.cluster.as_ref()?.server.clone()
}

/// Creates a client for a context of the kubeconfig, or for the current context. Without a kubeconfig and in a pod, it
/// uses the pod's service account.
///
/// The client of the library `kube` waits without end for a response, and repeats requests for minutes; both are
/// switched off (kube-client 5.0.0 `src/config/mod.rs`, 2026-11-28).
pub async fn connect(context: Option<&str>) -> Result<Client, ConnectError> {
    let error = |error: &dyn fmt::Display| ConnectError(error.to_string());
    let mut config = match context {
        None => Config::infer()
            .await
            .map_err(|it| match Kubeconfig::read() {
                // Outside of a cluster, only the kubeconfig matters.
                Err(unreadable) => error(&format!("there is no kubeconfig to use: {unreadable}")),
                Ok(_) => error(&it),
            })?,
        Some(context) => {
            let options = KubeConfigOptions {
                context: Some(context.to_owned()),
                ..KubeConfigOptions::default()
            };
            Config::from_kubeconfig(&options)
                .await
                .map_err(|it| error(&it))?
        }
    };
    config.connect_timeout = Some(Duration::from_secs(10));
    config.read_timeout = Some(Duration::from_secs(20));
    config.reset_reader_on_write = true;
    config.default_retry = false;
    Client::try_from(config).map_err(|it| error(&it))
}
