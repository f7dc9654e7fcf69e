//! Liveness and readiness of the daemon.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use super::{Event, Status};
use crate::metrics::BoxedFuture;
use crate::metrics::http::Probes;
use crate::state::State;

/// Maximum age of the last successful GPU discovery: three times its interval.
const MAX_SCAN_AGE: Duration = Duration::from_mins(3);

/// Checks liveness and readiness from outside the event loop.
pub(super) struct EventLoopProbes {
    pub(super) events: UnboundedSender<Event>,
    pub(super) state: watch::Receiver<Arc<State>>,
    pub(super) status: watch::Receiver<Status>,
}

impl Probes for EventLoopProbes {
    fn check_liveness(&self) -> BoxedFuture<()> {
        let (reply, answered) = oneshot::channel();
        let sent = self.events.send(Event::Liveness(reply));
        Box::pin(async move {
            if sent.is_err() || answered.await.is_err() {
                // The event loop has ended.
                std::future::pending::<()>().await;
            }
        })
    }

    fn check_readiness(&self) -> Result<(), String> {
        let status = self.status.borrow();
        if status.scans == 0
            && let Some(error) = &status.config_error
        {
            return Err(format!("waiting for a valid configuration: it {error}"));
        }
        if let Some(error) = &status.driver_error {
            return Err(format!("waiting for the driver: {error}"));
        }
        if status.scans == 0 {
            return Err("GPU discovery has not finished yet".to_owned());
        }
        // A discovery runs every minute, and one that fails is reported above: an old result means that none finishes.
        let age = status.scanned_at.map(|at| at.elapsed());
        if let Some(age) = age.filter(|age| *age > MAX_SCAN_AGE) {
            let seconds = age.as_secs();
            return Err(format!("the last GPU discovery finished {seconds} s ago"));
        }
        let state = self.state.borrow();
        if state.advertised_resources.is_empty() {
            return Err(describe_empty_node(&status.differences));
        }
        let resources = state
            .advertised_resources
            .iter()
            .map(|resource| resource.resource.as_str());
        let missing: Vec<_> = resources
            .filter(|resource| !status.registered.contains(*resource))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let errors = missing.iter().filter_map(|resource| {
            let error = status.registration_errors.get(*resource)?;
            Some(format!("{resource}: {error}"))
        });
        let mut errors: Vec<_> = errors.collect();
        if errors.is_empty() {
            errors.push("the kubelet is not running, or registration is pending".to_owned());
        }
        Err(format!(
            "not registered with the kubelet: {} ({})",
            missing.join(", "),
            errors.join("; ")
        ))
    }
}

/// Why a node advertises nothing.
fn describe_empty_node(differences: &[String]) -> String {
    let mut reason = "this node has no resources to advertise".to_owned();
    if !differences.is_empty() {
        reason += ": ";
        reason += &differences.join("; ");
    }
    reason
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::time::Instant;

    use super::*;
    use crate::config;
    use crate::device::advertised_resources;
    use crate::device::testing::inventory;

    const CONFIG: &str = r#"{
        "apiVersion": "node.gpuc.dev/v1alpha1",
        "kind": "NodeConfig",
        "cluster": "demo",
        "pool": "infer",
        "expected": {"model": "l4-24gb", "count": 1},
        "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
        "devices": "environmentVariable",
        "sharing": "exclusive",
        "resources": {"nvidia.com/gpu": 1}
    }"#;

    #[test]
    fn old_discovery_is_not_ready() {
        let config = config::parse(CONFIG).unwrap();
        let inventory = inventory("l4x1");
        let mut state = State::clone(&super::super::Daemon::empty_state(&config));
        state.advertised_resources = advertised_resources(&inventory, &config.sharing);
        let (events, _received) = unbounded_channel();
        let status = Status {
            registered: ["nvidia.com/gpu".to_owned()].into(),
            scans: 1,
            scanned_at: Some(Instant::now()),
            ..Status::default()
        };
        let (status_sender, status) = watch::channel(status);
        let probes = EventLoopProbes {
            events,
            state: watch::channel(Arc::new(state)).1,
            status,
        };
        assert_eq!(probes.check_readiness(), Ok(()));
        let old = Instant::now().checked_sub(MAX_SCAN_AGE + Duration::from_secs(1));
        status_sender.send_modify(|status| status.scanned_at = old);
        let error = probes.check_readiness().unwrap_err();
        assert!(error.contains("181 s ago"), "{error}");
    }
}
