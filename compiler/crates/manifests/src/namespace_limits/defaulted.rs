//! The requests and limits of containers and pods after the API server has applied defaults.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::scheduling::thousandths_of_node;
use gpuc_syntax::node::{Entry, Node};
use gpuc_syntax::source::Span;

use super::ranges::LimitRanges;

/// An amount in thousandths, with its span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectiveAmount {
    /// The amount.
    pub(crate) amount: u64,
    /// Its span.
    pub(crate) span: Span,
    /// Whether it is a default of a LimitRange.
    pub(crate) is_default: bool,
}

/// Amounts by resource name.
pub(crate) type Amounts<'s> = BTreeMap<&'s str, EffectiveAmount>;

/// The requests and limits of a container or a pod, with defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct EffectiveResources<'s> {
    /// The requests.
    pub(crate) requests: Amounts<'s>,
    /// The limits.
    pub(crate) limits: Amounts<'s>,
    /// Resources whose amounts are not certain.
    pub(crate) unknown: BTreeSet<&'s str>,
}

/// Reads amounts; the names of invalid ones are added to `unknown`.
pub(super) fn parse_amounts<'s>(
    entries: &'s [Entry],
    unknown: &mut BTreeSet<&'s str>,
) -> Amounts<'s> {
    let mut amounts = Amounts::new();
    for entry in entries {
        match thousandths_of_node(&entry.value) {
            Some(amount) => {
                let span = entry.value.span();
                let is_default = false;
                amounts.insert(
                    &entry.key,
                    EffectiveAmount {
                        amount,
                        span,
                        is_default,
                    },
                );
            }
            None => drop(unknown.insert(&entry.key)),
        }
    }
    amounts
}

/// Adds the missing amounts.
pub(super) fn fill_missing<'s>(amounts: &mut Amounts<'s>, others: &Amounts<'s>) {
    for (name, other) in others {
        amounts.entry(name).or_insert(*other);
    }
}

/// Combines amounts, preferring the span of one that is not a default.
fn combine_amounts<'s>(total: &mut Amounts<'s>, own: &Amounts<'s>, operation: fn(u64, u64) -> u64) {
    for (name, amount) in own {
        let total = total.entry(name).or_insert(EffectiveAmount {
            amount: 0,
            ..*amount
        });
        let is_preferred = total.is_default && !amount.is_default;
        *total = EffectiveAmount {
            amount: operation(total.amount, amount.amount),
            ..if is_preferred { *amount } else { *total }
        };
    }
}

impl<'s> EffectiveResources<'s> {
    /// The resources of a container. Unset requests default to the limits; then the defaults of the namespace apply.
    ///
    /// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_Pod`, and
    /// `plugin/pkg/admission/limitranger/admission.go`, `mergeContainerResources` (from memory).
    pub(crate) fn for_container(container: &'s Node, ranges: &LimitRanges<'s>) -> Self {
        let list = |name: &str| {
            let list = container.get("resources").and_then(|it| it.get(name));
            list.map_or(&[][..], Node::entries)
        };
        let mut unknown = BTreeSet::new();
        let mut limits = parse_amounts(list("limits"), &mut unknown);
        let mut requests = parse_amounts(list("requests"), &mut unknown);
        fill_missing(&mut requests, &limits);
        for (own, defaults) in [
            (&mut limits, &ranges.default_limits),
            (&mut requests, &ranges.default_requests),
        ] {
            // The order of two different defaults is not known.
            let differing = defaults.differing.iter();
            unknown.extend(differing.filter(|it| !own.contains_key(*it)));
            fill_missing(own, &defaults.amounts);
        }
        Self {
            requests,
            limits,
            unknown,
        }
    }

    /// The resources of a pod: the sum of its containers and sidecars, or the largest init container with the sidecars
    /// that run by then. `None` for a pod with pod-level resources.
    pub(crate) fn for_pod(spec: &'s Node, ranges: &LimitRanges<'s>) -> Option<Self> {
        if spec.get("resources").is_some() {
            return None;
        }
        let list = |name: &str| spec.get(name).map_or(&[][..], Node::items).iter();
        let (mut total, mut sidecars, mut init) =
            (Self::default(), Self::default(), Self::default());
        for container in list("initContainers") {
            let mut own = Self::for_container(container, ranges);
            let restarts = container.get("restartPolicy").and_then(Node::text);
            if restarts == Some("Always") {
                sidecars.combine(&own, u64::saturating_add);
                own.clone_from(&sidecars);
            } else {
                own.combine(&sidecars, u64::saturating_add);
            }
            init.combine(&own, u64::max);
        }
        for container in list("containers") {
            let own = Self::for_container(container, ranges);
            total.combine(&own, u64::saturating_add);
        }
        total.combine(&sidecars, u64::saturating_add);
        total.combine(&init, u64::max);
        Some(total)
    }

    fn combine(&mut self, other: &Self, operation: fn(u64, u64) -> u64) {
        combine_amounts(&mut self.requests, &other.requests, operation);
        combine_amounts(&mut self.limits, &other.limits, operation);
        self.unknown.extend(&other.unknown);
    }
}
