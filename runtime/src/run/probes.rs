//! Liveness and readiness of the daemon.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use super::{Event, Status};
use crate::metrics::Later;
use crate::metrics::http::Probes;
use crate::state::State;

/// Checks liveness and readiness from outside the event loop.
pub(super) struct Liveness {
    pub(super) events: UnboundedSender<Event>,
    pub(super) state: watch::Receiver<Arc<State>>,
    pub(super) status: watch::Receiver<Status>,
}

impl Probes for Liveness {
    fn liveness(&self) -> Later<()> {
        let (answer, answered) = oneshot::channel();
        let asked = self.events.send(Event::Liveness(answer));
        Box::pin(async move {
            if asked.is_err() || answered.await.is_err() {
                // The event loop has ended.
                std::future::pending::<()>().await;
            }
        })
    }

    fn ready(&self) -> Result<(), String> {
        let status = self.status.borrow();
        if let Some(trouble) = &status.driver_trouble {
            return Err(format!("waiting for the driver: {trouble}"));
        }
        if status.scans == 0 {
            return Err("GPU discovery has not finished yet".to_owned());
        }
        let state = self.state.borrow();
        if state.offers.is_empty() {
            return Err("this node has no resources to advertise".to_owned());
        }
        let offers = state.offers.iter().map(|offer| offer.resource.as_str());
        let missing: Vec<_> = offers
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
