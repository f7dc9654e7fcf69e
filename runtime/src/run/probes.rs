//! Liveness and readiness of the daemon.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use super::{Event, Status};
use crate::metrics::BoxedFuture;
use crate::metrics::http::Probes;
use crate::state::State;

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
        if let Some(error) = &status.driver_error {
            return Err(format!("waiting for the driver: {error}"));
        }
        if status.scans == 0 {
            return Err("GPU discovery has not finished yet".to_owned());
        }
        let state = self.state.borrow();
        if state.advertised_resources.is_empty() {
            return Err("this node has no resources to advertise".to_owned());
        }
        let resources = state
            .advertised_resources
            .iter()
            .map(|resource| resource.resource.as_str());
        let missing: Vec<_> = resources
            .filter(|resource| !status.registered.contains(*resource))
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "not registered with the kubelet: {} (the kubelet is not running, or registration is pending)",
                missing.join(", ")
            ))
        }
    }
}
