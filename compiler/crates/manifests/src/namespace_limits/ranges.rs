//! The LimitRanges of a namespace.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use gpuc_model::{Cluster, Team};
use gpuc_syntax::node::Node;

use super::defaulted::{Amounts, EffectiveAmount, fill_missing, parse_amounts};
use super::objects_in_namespace;
use crate::CheckContext;
use crate::object::Object;

/// An item of a LimitRange.
#[derive(Debug, Default)]
pub(crate) struct LimitRangeItem<'s> {
    /// The LimitRange; `None` if gpuc generates it from the file of the cluster.
    pub(crate) range: Option<&'s Object>,
    /// The type: `Container`, `Pod` or `PersistentVolumeClaim`.
    pub(crate) applies_to: &'s str,
    /// `min`.
    pub(crate) min: Amounts<'s>,
    /// `max`.
    pub(crate) max: Amounts<'s>,
    /// `default`: the default limits.
    pub(crate) default: Amounts<'s>,
    /// `defaultRequest`.
    pub(crate) default_request: Amounts<'s>,
    /// `maxLimitRequestRatio`.
    pub(crate) ratio: Amounts<'s>,
}

/// The LimitRanges of a namespace: those of the manifests, and the one that gpuc generates.
#[derive(Debug, Default)]
pub(crate) struct LimitRanges<'s> {
    items: Vec<LimitRangeItem<'s>>,
    /// The default limits of containers.
    pub(super) default_limits: ContainerDefaults<'s>,
    /// The default requests of containers.
    pub(super) default_requests: ContainerDefaults<'s>,
}

/// The LimitRanges of objects, by namespace and file: thousands of objects have the same ones.
pub(crate) type LimitRangeCache<'s> =
    RefCell<BTreeMap<(Option<String>, u32), Option<Rc<LimitRanges<'s>>>>>;

/// The defaults of containers from all LimitRanges.
#[derive(Debug, Default)]
pub(super) struct ContainerDefaults<'s> {
    /// The default amounts.
    pub(super) amounts: Amounts<'s>,
    /// The resources with different defaults in two LimitRanges.
    pub(super) differing: BTreeSet<&'s str>,
}

const CONTAINER_TYPE: &str = "Container";

impl<'s> LimitRanges<'s> {
    /// The LimitRanges that apply to an object; `None` if they are not certain.
    pub(crate) fn for_object(ctx: &CheckContext<'s>, object: &Object) -> Option<Rc<Self>> {
        let key = (object.namespace.clone(), object.root.span().source);
        if let Some(known) = ctx.limit_ranges.borrow().get(&key) {
            return known.clone();
        }
        let found = Self::find(ctx, object).map(Rc::new);
        ctx.limit_ranges.borrow_mut().insert(key, found.clone());
        found
    }

    fn find(ctx: &CheckContext<'s>, object: &Object) -> Option<Self> {
        let in_manifests = objects_in_namespace(ctx, "LimitRange", object)?;
        let mut items: Vec<_> = in_manifests.into_iter().flat_map(range_items).collect();
        let namespace = object.namespace.as_deref();
        let team = namespace.and_then(|it| ctx.cluster.team_of_namespace(it));
        items.extend(team.map(|(team, _)| generated_item(ctx.cluster, team)));
        Some(Self {
            default_limits: container_defaults(&items, |it| &it.default),
            default_requests: container_defaults(&items, |it| &it.default_request),
            items,
        })
    }

    /// The items of LimitRanges among the manifests.
    pub(crate) fn manifest_items(&self) -> impl Iterator<Item = (&'s Object, &LimitRangeItem<'s>)> {
        self.items
            .iter()
            .filter_map(|item| Some((item.range?, item)))
    }
}

/// The defaults of containers in one of the lists.
fn container_defaults<'s>(
    items: &[LimitRangeItem<'s>],
    list: impl for<'i> Fn(&'i LimitRangeItem<'s>) -> &'i Amounts<'s>,
) -> ContainerDefaults<'s> {
    let mut defaults = ContainerDefaults::default();
    for item in items.iter().filter(|it| it.applies_to == CONTAINER_TYPE) {
        for (name, amount) in list(item) {
            let first = defaults.amounts.entry(name).or_insert(*amount);
            if first.amount != amount.amount {
                defaults.differing.insert(name);
            }
        }
    }
    defaults
        .amounts
        .retain(|name, _| !defaults.differing.contains(name));
    for amount in defaults.amounts.values_mut() {
        amount.is_default = true;
    }
    defaults
}

/// The items of a LimitRange among the manifests. For containers, Kubernetes derives missing defaults from `max`, and
/// missing default requests from `default` and `min`.
///
/// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_LimitRangeItem`, read 2026-11-21.
fn range_items(range: &Object) -> impl Iterator<Item = LimitRangeItem<'_>> {
    let limits = range.root.get("spec").and_then(|it| it.get("limits"));
    let items = limits.map_or(&[][..], Node::items).iter();
    items.filter_map(move |node| {
        let mut unread = BTreeSet::new();
        let mut list = |name: &str| {
            let entries = node.get(name).map_or(&[][..], Node::entries);
            parse_amounts(entries, &mut unread)
        };
        let mut item = LimitRangeItem {
            range: Some(range),
            applies_to: node.get("type")?.text()?,
            min: list("min"),
            max: list("max"),
            default: list("default"),
            default_request: list("defaultRequest"),
            ratio: list("maxLimitRequestRatio"),
        };
        if item.applies_to == CONTAINER_TYPE {
            fill_missing(&mut item.default, &item.max);
            fill_missing(&mut item.default_request, &item.default);
            fill_missing(&mut item.default_request, &item.min);
        }
        // Invalid quantities are reported by other rules.
        unread.is_empty().then_some(item)
    })
}

/// The item that gpuc generates from the limits of a team, as `lower/teams/limits.rs` does.
fn generated_item<'s>(cluster: &'s Cluster, team: &'s Team) -> LimitRangeItem<'s> {
    let limits = team.limits.as_ref();
    let mut item = LimitRangeItem {
        applies_to: CONTAINER_TYPE,
        max: amounts_of_team(limits.and_then(|it| it.max.as_ref())),
        default: amounts_of_team(limits.and_then(|it| it.default.as_ref())),
        default_request: amounts_of_team(Some(&team.default_request)),
        ..LimitRangeItem::default()
    };
    if let Some(max) = team.gpus_per_container()
        && cluster.can_limit_range_gpus()
    {
        let zero = EffectiveAmount {
            amount: 0,
            span: max.span,
            is_default: true,
        };
        let names = cluster.requestable_resources(team).into_iter();
        item.default.extend(names.map(|name| (name, zero)));
    }
    fill_missing(&mut item.default, &item.max);
    fill_missing(&mut item.default_request, &item.default);
    item
}

fn amounts_of_team(amounts: Option<&gpuc_model::Amounts>) -> Amounts<'static> {
    amounts
        .map(|it| [("cpu", &it.cpu), ("memory", &it.memory)])
        .into_iter()
        .flatten()
        .filter_map(|(name, quantity)| {
            let quantity = quantity.as_ref()?;
            let amount = EffectiveAmount {
                amount: quantity.thousandths()?,
                span: quantity.span,
                is_default: false,
            };
            Some((name, amount))
        })
        .collect()
}
