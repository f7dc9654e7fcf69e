//! Makes a plugin known to the kubelet: once in each of the kubelet's lives, as soon as it listens.

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

/// A kubelet between bind and listen refuses for microseconds to milliseconds, so trying again must be quick; gRPC's
/// own first pause of a second is what other plugins lose there.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Who still refuses after this time is no kubelet about to listen but a socket that a dead one left.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE_FOR_THE_DEAD: Duration = Duration::from_secs(1);

/// Between answers that say no: the first pause, doubled each time up to the longest.
const FIRST_PAUSE_AFTER_NO: Duration = Duration::from_millis(100);
const LONGEST_PAUSE_AFTER_NO: Duration = Duration::from_secs(10);

/// The kubelet dials the plugin before it answers, and gives that 10 s (kubernetes/kubernetes
/// pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go, read 2026-11-21).
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// How the registration of a plugin went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The kubelet knows the plugin.
    Registered,
    /// The kubelet said no, or nothing; it is asked again.
    Refused(String),
}

/// What the kubelet is told about every plugin of ours.
pub fn options() -> DevicePluginOptions {
    DevicePluginOptions {
        pre_start_required: false,
        get_preferred_allocation_available: true,
    }
}

/// Registers the plugin of a resource that listens on `endpoint`, a file in the folder of the kubelet's socket. Tries
/// until the kubelet of this life says yes, and never ends when there is another kubelet by then: the caller, who
/// follows the folder, drops this and begins anew. `report` hears what is worth telling.
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
            let dead = start.elapsed() > PATIENCE;
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

/// A connection to the kubelet of this life and to no other: one that came in between is met in its own life, once.
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
        // tonic's own text is `transport error`; the cause says more.
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
