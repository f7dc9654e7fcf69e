//! What probes are told.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use super::{Event, Status};
use crate::metrics::Later;
use crate::metrics::http::Vitals;
use crate::state::State;

/// The daemon's pulse and readiness, as seen from outside of its loop.
pub(super) struct Pulse {
    pub(super) events: UnboundedSender<Event>,
    pub(super) state: watch::Receiver<Arc<State>>,
    pub(super) status: watch::Receiver<Status>,
}

impl Vitals for Pulse {
    fn pulse(&self) -> Later<()> {
        let (answer, answered) = oneshot::channel();
        let asked = self.events.send(Event::Pulse(answer));
        Box::pin(async move {
            if asked.is_err() || answered.await.is_err() {
                // The loop has ended. There is no pulse to come.
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
            return Err("the GPUs were not read yet".to_owned());
        }
        let state = self.state.borrow();
        if state.offers.is_empty() {
            return Err("this node has nothing to offer".to_owned());
        }
        let offers = state.offers.iter().map(|offer| offer.resource.as_str());
        let missing: Vec<_> = offers
            .filter(|resource| !status.registered.contains(*resource))
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "the kubelet does not know of {}: it is away, or was not told yet",
                missing.join(", ")
            ))
        }
    }
}
