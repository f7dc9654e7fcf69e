//! What containers and pods ask for once the API server has filled in what they do not say.

use std::collections::{BTreeMap, BTreeSet};

use crate::node::{Entry, Node};
use crate::placement::thousandths_of;
use crate::source::Span;

use super::ranges::Ranges;

/// How much, in thousandths, and where that is said.
#[derive(Clone, Copy, Debug)]
pub(in crate::manifests) struct Said {
    /// How much.
    pub(in crate::manifests) amount: u64,
    /// Where.
    pub(in crate::manifests) span: Span,
    /// Whether a `LimitRange` gives it.
    pub(in crate::manifests) is_given: bool,
}

/// Amounts by the names of resources.
pub(in crate::manifests) type Amounts<'s> = BTreeMap<&'s str, Said>;

/// What a container or a pod asks for.
#[derive(Clone, Debug, Default)]
pub(in crate::manifests) struct Filled<'s> {
    /// What it asks for.
    pub(in crate::manifests) requests: Amounts<'s>,
    /// The most that it may use.
    pub(in crate::manifests) limits: Amounts<'s>,
    /// Resources of which that is not certain.
    pub(in crate::manifests) open: BTreeSet<&'s str>,
}

/// Reads amounts; what is none comes into `open`.
pub(super) fn read<'s>(entries: &'s [Entry], open: &mut BTreeSet<&'s str>) -> Amounts<'s> {
    let mut amounts = Amounts::new();
    for entry in entries {
        match thousandths_of(&entry.value) {
            Some(amount) => {
                let span = entry.value.span();
                let is_given = false;
                amounts.insert(
                    &entry.key,
                    Said {
                        amount,
                        span,
                        is_given,
                    },
                );
            }
            None => drop(open.insert(&entry.key)),
        }
    }
    amounts
}

/// Puts in what is not there.
pub(super) fn fill<'s>(amounts: &mut Amounts<'s>, others: &Amounts<'s>) {
    for (name, said) in others {
        amounts.entry(name).or_insert(*said);
    }
}

fn add<'s>(sum: &mut Amounts<'s>, own: &Amounts<'s>, join: fn(u64, u64) -> u64) {
    for (name, said) in own {
        let sum = sum.entry(name).or_insert(Said { amount: 0, ..*said });
        let larger = sum.is_given && !said.is_given;
        *sum = Said {
            amount: join(sum.amount, said.amount),
            ..if larger { *said } else { *sum }
        };
    }
}

impl<'s> Filled<'s> {
    /// A container. What it limits and does not ask for, it asks for; then come the defaults of the namespace.
    ///
    /// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_Pod`, and
    /// `plugin/pkg/admission/limitranger/admission.go`, `mergeContainerResources` (from memory).
    pub(in crate::manifests) fn of(container: &'s Node, ranges: &Ranges<'s>) -> Self {
        let list = |name: &str| {
            let list = container.get("resources").and_then(|it| it.get(name));
            list.map_or(&[][..], Node::entries)
        };
        let mut open = BTreeSet::new();
        let mut limits = read(list("limits"), &mut open);
        let mut requests = read(list("requests"), &mut open);
        fill(&mut requests, &limits);
        for (own, given) in [
            (&mut limits, ranges.given(|it| &it.default)),
            (&mut requests, ranges.given(|it| &it.default_request)),
        ] {
            // Of two defaults nobody knows which comes first.
            let differing = given.differing.iter().filter(|it| !own.contains_key(*it));
            open.extend(differing);
            fill(own, &given.amounts);
        }
        Self {
            requests,
            limits,
            open,
        }
    }

    /// A pod: its containers and sidecars together, or the largest of those that run before them with the sidecars
    /// that are there by then. Nothing of one that says its amounts as a whole.
    pub(in crate::manifests) fn of_pod(spec: &'s Node, ranges: &Ranges<'s>) -> Option<Self> {
        if spec.get("resources").is_some() {
            return None;
        }
        let list = |name: &str| spec.get(name).map_or(&[][..], Node::items).iter();
        let (mut all, mut beside, mut before) = (Self::default(), Self::default(), Self::default());
        for container in list("initContainers") {
            let mut own = Self::of(container, ranges);
            let restarts = container.get("restartPolicy").and_then(Node::text);
            if restarts == Some("Always") {
                beside.join(&own, u64::saturating_add);
                own.clone_from(&beside);
            } else {
                own.join(&beside, u64::saturating_add);
            }
            before.join(&own, u64::max);
        }
        for container in list("containers") {
            all.join(&Self::of(container, ranges), u64::saturating_add);
        }
        all.join(&beside, u64::saturating_add);
        all.join(&before, u64::max);
        Some(all)
    }

    fn join(&mut self, other: &Self, join: fn(u64, u64) -> u64) {
        add(&mut self.requests, &other.requests, join);
        add(&mut self.limits, &other.limits, join);
        self.open.extend(&other.open);
    }
}
