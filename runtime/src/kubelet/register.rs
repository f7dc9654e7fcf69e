//! Registers a plugin with the kubelet: once per kubelet instance, as soon as it listens.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use super::api::v1beta1::registration_client::RegistrationClient;
use super::api::v1beta1::{DevicePluginOptions, RegisterRequest};
use super::watch::KubeletInstance;
use super::{FileId, channel_over};

/// The version of the device plugin API.
pub const VERSION: &str = "v1beta1";

/// Delay between connection attempts. A kubelet between bind and listen refuses connections for microseconds to
/// milliseconds; with gRPC's own first delay of a second, other plugins lose that time.
const MIN_CONNECT_DELAY: Duration = Duration::from_millis(5);
const MAX_CONNECT_DELAY: Duration = Duration::from_millis(50);

/// After this time of refused connections, the socket is considered a leftover of a kubelet that ended. It is reported
/// then, and at this interval.
const DEAD_AFTER: Duration = Duration::from_secs(10);
const DEAD_SOCKET_DELAY: Duration = Duration::from_secs(1);
const DEAD_SOCKET_REPORT_INTERVAL: Duration = Duration::from_mins(1);

/// Delay between refused registrations: the first delay, doubled each time up to the maximum.
const MIN_REJECTED_DELAY: Duration = Duration::from_millis(100);
const MAX_REJECTED_DELAY: Duration = Duration::from_secs(10);

/// Timeout of a registration. The kubelet connects to the plugin before it responds, with a timeout of 10 s
/// (kubernetes/kubernetes pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go, read 2026-11-21).
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// The result of a registration attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationAttempt {
    /// The plugin is registered.
    Registered,
    /// The kubelet refused or did not respond; the registration is retried.
    Rejected(String),
}

/// The options that every plugin registers with.
pub fn plugin_options() -> DevicePluginOptions {
    DevicePluginOptions {
        pre_start_required: false,
        get_preferred_allocation_available: true,
    }
}

/// Registers the plugin of a resource that listens on `endpoint`, a file in the directory of the kubelet's socket.
/// Retries until this kubelet instance accepts, and never returns if another instance has started: the caller, which
/// watches the directory, drops the future and starts again. `report` receives the results.
pub async fn register(
    socket: &Path,
    life: KubeletInstance,
    resource: &str,
    endpoint: &str,
    mut report: impl FnMut(RegistrationAttempt),
) {
    let start = Instant::now();
    let mut report_dead_at = start + DEAD_AFTER;
    let mut connect_delay = MIN_CONNECT_DELAY;
    let mut rejected_delay = MIN_REJECTED_DELAY;
    loop {
        let stream = match connect(socket, life).await {
            Ok(stream) => stream,
            Err(error) => {
                if Instant::now() >= report_dead_at {
                    report_dead_at = Instant::now() + DEAD_SOCKET_REPORT_INTERVAL;
                    let reason = describe_connect_error(socket, &error);
                    report(RegistrationAttempt::Rejected(reason));
                }
                let is_dead = start.elapsed() > DEAD_AFTER;
                sleep(if is_dead {
                    DEAD_SOCKET_DELAY
                } else {
                    connect_delay
                })
                .await;
                connect_delay = (connect_delay * 2).min(MAX_CONNECT_DELAY);
                continue;
            }
        };
        let request = RegisterRequest {
            version: VERSION.to_owned(),
            endpoint: endpoint.to_owned(),
            resource_name: resource.to_owned(),
            options: Some(plugin_options()),
        };
        match timeout(RESPONSE_TIMEOUT, send_registration(stream, request)).await {
            Ok(Ok(())) => return report(RegistrationAttempt::Registered),
            Ok(Err(reason)) => report(RegistrationAttempt::Rejected(reason)),
            Err(_) => report(RegistrationAttempt::Rejected(format!(
                "{} did not answer within {RESPONSE_TIMEOUT:?}",
                socket.display()
            ))),
        }
        sleep(rejected_delay).await;
        rejected_delay = (rejected_delay * 2).min(MAX_REJECTED_DELAY);
    }
}

/// Connects to this kubelet instance only: another instance that started meanwhile is handled separately.
async fn connect(socket: &Path, life: KubeletInstance) -> io::Result<UnixStream> {
    let is_same_instance = || FileId::from_path(socket) == Some(life.socket);
    if is_same_instance() {
        let stream = UnixStream::connect(socket).await?;
        if is_same_instance() {
            return Ok(stream);
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

async fn send_registration(stream: UnixStream, request: RegisterRequest) -> Result<(), String> {
    let channel = channel_over(stream)
        .await
        .map_err(|error| describe_causes(&error))?;
    let mut client = RegistrationClient::new(channel);
    match client.register(request).await {
        Ok(_) => Ok(()),
        Err(status) => {
            let causes = std::error::Error::source(&status).map(describe_causes);
            let causes = causes.map_or_else(String::new, |causes| format!(": {causes}"));
            Err(format!("{:?}: {}{causes}", status.code(), status.message()))
        }
    }
}

/// Describes why a socket accepts no connection.
fn describe_connect_error(socket: &Path, error: &io::Error) -> String {
    let path = socket.display();
    let is_socket = std::fs::metadata(socket).is_ok_and(|found| found.file_type().is_socket());
    if is_socket {
        format!("cannot connect to {path}: {error}: check that the kubelet is running")
    } else {
        format!("{path} is not a socket")
    }
}

/// Joins the messages of an error and of its causes: that of tonic alone is `transport error`.
fn describe_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let errors = std::iter::successors(Some(error), |error| error.source());
    let messages: Vec<_> = errors.map(ToString::to_string).collect();
    messages.join(": ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn other_kubelet_instance_is_not_contacted() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join(crate::kubelet::KUBELET_SOCKET);
        let life = |number| KubeletInstance {
            number,
            socket: FileId::from_path(&socket).unwrap(),
        };
        let _first = UnixListener::bind(&socket).unwrap();
        let first = life(1);
        connect(&socket, first).await.unwrap();
        // The clock of files ticks every few milliseconds.
        sleep(Duration::from_millis(20)).await;
        std::fs::remove_file(&socket).unwrap();
        let _second = UnixListener::bind(&socket).unwrap();
        connect(&socket, life(2)).await.unwrap();
        assert!(connect(&socket, first).await.is_err());
    }
}
