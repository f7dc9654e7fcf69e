//! The `LimitRange`s of a namespace.

use std::collections::BTreeSet;

use gpuc_schema::config::Amounts as Written;

use super::filled::{Amounts, Said, fill, read};
use super::holding;
use crate::manifests::Scene;
use crate::manifests::read::Object;
use crate::model::{Cluster, Team};
use crate::node::Node;

/// What a range says of containers, pods or claims.
#[derive(Debug, Default)]
pub(in crate::manifests) struct Item<'s> {
    /// The range; nothing where gpuc makes it of the cluster's file.
    pub(in crate::manifests) range: Option<&'s Object>,
    /// Of what it says it: `Container`, `Pod` or `PersistentVolumeClaim`.
    pub(in crate::manifests) of: &'s str,
    /// The least.
    pub(in crate::manifests) min: Amounts<'s>,
    /// The most.
    pub(in crate::manifests) max: Amounts<'s>,
    /// The limit of what has none.
    pub(in crate::manifests) default: Amounts<'s>,
    /// The request of what has none.
    pub(in crate::manifests) default_request: Amounts<'s>,
    /// How many times its request a limit may be.
    pub(in crate::manifests) ratio: Amounts<'s>,
}

/// The ranges of a namespace: those by hand, and gpuc's own.
#[derive(Debug, Default)]
pub(in crate::manifests) struct Ranges<'s>(Vec<Item<'s>>);

/// What all ranges give to containers.
pub(super) struct Given<'s> {
    /// How much.
    pub(super) amounts: Amounts<'s>,
    /// What two of them give differently.
    pub(super) differing: BTreeSet<&'s str>,
}

const CONTAINER: &str = "Container";

impl<'s> Ranges<'s> {
    /// Those that hold for an object; nothing where that is not certain.
    pub(in crate::manifests) fn of(scene: &Scene<'s>, object: &Object) -> Option<Self> {
        let by_hand = holding(scene, "LimitRange", object)?;
        let mut items: Vec<_> = by_hand.into_iter().flat_map(items).collect();
        let namespace = object.namespace.as_deref();
        let team = namespace.and_then(|it| scene.cluster.team_of(it));
        items.extend(team.map(|(team, _)| own(scene.cluster, team)));
        Some(Self(items))
    }

    /// What ranges by hand say.
    pub(in crate::manifests) fn by_hand(&self) -> impl Iterator<Item = (&'s Object, &Item<'s>)> {
        self.0.iter().filter_map(|item| Some((item.range?, item)))
    }

    /// What containers are given.
    pub(super) fn given(
        &self,
        list: impl for<'i> Fn(&'i Item<'s>) -> &'i Amounts<'s>,
    ) -> Given<'s> {
        let mut given = Given {
            amounts: Amounts::new(),
            differing: BTreeSet::new(),
        };
        for item in self.0.iter().filter(|it| it.of == CONTAINER) {
            for (name, said) in list(item) {
                let first = given.amounts.entry(name).or_insert(*said);
                if first.amount != said.amount {
                    given.differing.insert(name);
                }
            }
        }
        given
            .amounts
            .retain(|name, _| !given.differing.contains(name));
        given.amounts.values_mut().for_each(|it| it.is_given = true);
        given
    }
}

/// What a range by hand says. Of a most of containers Kubernetes makes their limit, of a limit their request, and of a
/// least too.
///
/// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_LimitRangeItem`, read 2026-11-21.
fn items(range: &Object) -> impl Iterator<Item = Item<'_>> {
    let limits = range.root.get("spec").and_then(|it| it.get("limits"));
    let items = limits.map_or(&[][..], Node::items).iter();
    items.filter_map(move |node| {
        let mut unread = BTreeSet::new();
        let mut list = |name: &str| {
            let entries = node.get(name).map_or(&[][..], Node::entries);
            read(entries, &mut unread)
        };
        let mut item = Item {
            range: Some(range),
            of: node.get("type")?.text()?,
            min: list("min"),
            max: list("max"),
            default: list("default"),
            default_request: list("defaultRequest"),
            ratio: list("maxLimitRequestRatio"),
        };
        if item.of == CONTAINER {
            fill(&mut item.default, &item.max);
            fill(&mut item.default_request, &item.default);
            fill(&mut item.default_request, &item.min);
        }
        // What cannot be read is another finding, and nothing follows from such a range.
        unread.is_empty().then_some(item)
    })
}

/// What gpuc makes of the limits of a team, as `lower/teams/limits.rs` does.
fn own<'s>(cluster: &'s Cluster, team: &'s Team) -> Item<'s> {
    let written = team.written.limits.as_ref();
    let mut item = Item {
        of: CONTAINER,
        max: amounts(written.and_then(|it| it.max.as_ref())),
        default: amounts(written.and_then(|it| it.default.as_ref())),
        default_request: amounts(Some(&team.default_request)),
        ..Item::default()
    };
    if let Some(most) = team.gpus_per_container()
        && cluster.ranges_hold_gpus()
    {
        let none = Said {
            amount: 0,
            span: most.span,
            is_given: true,
        };
        let names = cluster.resources_of(team).into_iter();
        item.default.extend(names.map(|name| (name, none)));
    }
    fill(&mut item.default, &item.max);
    fill(&mut item.default_request, &item.default);
    item
}

fn amounts(written: Option<&Written>) -> Amounts<'static> {
    let both = written.map(|it| [("cpu", &it.cpu), ("memory", &it.memory)]);
    let all = both.into_iter().flatten();
    let all = all.filter_map(|(name, written)| {
        let written = written.as_ref()?;
        let said = Said {
            amount: written.thousandths()?,
            span: written.span,
            is_given: false,
        };
        Some((name, said))
    });
    all.collect()
}
