//! Registers a plugin with the kubelet: once per kubelet instance, as soon as it listens.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use super::api::v1beta1::registration_client::RegistrationClient;
use super::api::v1beta1::{DevicePluginOptions, RegisterRequest};
use super::watch::Life;
use super::{FileId, channel};

/// The version of the device plugin API.
pub const VERSION: &str = "v1beta1";

/// Delay between connection attempts. A kubelet between bind and listen refuses connections for microseconds to
/// milliseconds; with gRPC's own first delay of a second, other plugins lose that time.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// After this time of refused connections, the socket is considered a leftover of a kubelet that ended.
const BACKOFF: Duration = Duration::from_secs(10);
const PAUSE_FOR_THE_DEAD: Duration = Duration::from_secs(1);

/// Delay between refused registrations: the first delay, doubled each time up to the maximum.
const FIRST_PAUSE_AFTER_NO: Duration = Duration::from_millis(100);
const LONGEST_PAUSE_AFTER_NO: Duration = Duration::from_secs(10);

/// Timeout of a registration. The kubelet connects to the plugin before it responds, with a timeout of 10 s
/// (kubernetes/kubernetes pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go, read 2026-11-21).
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// The result of a registration attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The plugin is registered.
    Registered,
    /// The kubelet refused or did not respond; the registration is retried.
    Refused(String),
}

/// The options that every plugin registers with.
pub fn options() -> DevicePluginOptions {
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
    life: Life,
    resource: &str,
    endpoint: &str,
    mut report: impl FnMut(Attempt),
) {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut pause_after_no = FIRST_PAUSE_AFTER_NO;
    loop {
        let Ok(stream) = connect(socket, life).await else {
            let dead = start.elapsed() > BACKOFF;
            sleep(if dead { PAUSE_FOR_THE_DEAD } else { pause }).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            continue;
        };
        let request = RegisterRequest {
            version: VERSION.to_owned(),
            endpoint: endpoint.to_owned(),
            resource_name: resource.to_owned(),
            options: Some(options()),
        };
        match timeout(ANSWER_WITHIN, ask(stream, request)).await {
            Ok(Ok(())) => return report(Attempt::Registered),
            Ok(Err(why)) => report(Attempt::Refused(why)),
            Err(_) => report(Attempt::Refused(format!("no answer in {ANSWER_WITHIN:?}"))),
        }
        sleep(pause_after_no).await;
        pause_after_no = (pause_after_no * 2).min(LONGEST_PAUSE_AFTER_NO);
    }
}

/// Connects to this kubelet instance only: another instance that started meanwhile is handled separately.
async fn connect(socket: &Path, life: Life) -> io::Result<UnixStream> {
    let is_life = || FileId::of(socket) == Some(life.socket);
    if is_life() {
        let stream = UnixStream::connect(socket).await?;
        if is_life() {
            return Ok(stream);
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

async fn ask(stream: UnixStream, request: RegisterRequest) -> Result<(), String> {
    let channel = channel(stream).await.map_err(|error| {
        // The message of tonic is `transport error`; the source has the details.
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    })?;
    let mut client = RegistrationClient::new(channel);
    match client.register(request).await {
        Ok(_) => Ok(()),
        Err(status) => Err(format!("{:?}: {}", status.code(), status.message())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn only_the_kubelet_of_this_life_is_connected_to() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join(crate::kubelet::SOCKET);
        let life = |number| Life {
            number,
            socket: FileId::of(&socket).unwrap(),
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
