//! Answers the kubelet's allocation calls and counts them.

use std::time::Instant;

use crate::allocate::{self, Grant, Refusal};
use crate::device::Offer;
use crate::metrics::Plugin;
use crate::plugin::{Answers, Refused};
use crate::preferred;
use crate::state::State;

/// Answers from the state alone, without driver calls.
pub(super) struct Allocator {
    pub(super) metrics: Plugin,
}

impl Answers for Allocator {
    fn allocate(&self, state: &State, offer: &Offer, ids: &[String]) -> Result<Grant, Refused> {
        let begin = Instant::now();
        let answer = allocate::allocate(state, offer, ids);
        let took = begin.elapsed();
        answer
            .inspect(|_| self.metrics.allocated(&offer.resource, took))
            .map_err(|refusal| {
                self.metrics.refused(&offer.resource, word(&refusal), took);
                let message = refusal.to_string();
                match refusal {
                    Refusal::Unhealthy { .. } | Refusal::NoCapability { .. } => {
                        Refused::Unusable(message)
                    }
                    Refusal::Empty { .. }
                    | Refusal::Unknown { .. }
                    | Refusal::Repeated { .. }
                    | Refusal::MoreThanOne { .. } => Refused::Invalid(message),
                }
            })
    }

    fn preferred(
        &self,
        state: &State,
        offer: &Offer,
        available: &[String],
        must_include: &[String],
        size: usize,
    ) -> Vec<String> {
        let begin = Instant::now();
        let answer = preferred::preferred(state, offer, available, must_include, size);
        self.metrics.preferred(begin.elapsed());
        answer
    }
}

/// Returns the reason as the value of a metric label.
fn word(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Empty { .. } => "empty",
        Refusal::Unknown { .. } => "unknown",
        Refusal::Repeated { .. } => "repeated",
        Refusal::Unhealthy { .. } => "unwell",
        Refusal::MoreThanOne { .. } => "more_than_one",
        Refusal::NoCapability { .. } => "no_capability",
    }
}
