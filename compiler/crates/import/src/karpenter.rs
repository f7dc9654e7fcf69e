//! Pools that Karpenter provisions: the `NodePool` and `EC2NodeClass` objects that gpuc built.
//!
//! Source of the objects: `clouds/src/aws/karpenter`. Others, whose nodes can have several machine types, are existing
//! pools.

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use serde_json::{Value, json};

use crate::configs::name_of;
use crate::context::Context;
use crate::described::Keys;
use crate::groups::{Group, GroupKey};
use crate::json::{items, number, source, text, text_entries, texts};
use crate::report::Report;
use crate::tree::{Evidence, Item};

/// The label with the name of the `NodePool` of a node, and gpuc's label.
pub(crate) const NODE_POOL: &str = "karpenter.sh/nodepool";
const POOL: &str = "gpuc.dev/pool";

/// A `NodePool` that gpuc built, with its `EC2NodeClass`.
#[derive(Clone, Copy)]
pub(crate) struct Provisioned<'s> {
    pool: &'s Object,
    class: &'s Object,
}

/// The `NodePool` objects that gpuc built.
pub(crate) fn provisioned<'s>(cx: &Context<'s>) -> Vec<Provisioned<'s>> {
    let pools = cx.state.objects(Kind::NodePool).iter();
    let own = pools.filter_map(|pool| {
        let labels = text_entries(&pool.body, "/spec/template/metadata/labels");
        let name = pool.metadata.name.as_str();
        let class = pool.text("/spec/template/spec/nodeClassRef/name");
        let class = cx.state.object(Kind::Ec2NodeClass, "", class)?;
        let found = Provisioned { pool, class };
        let is_own = labels.contains(&(POOL, name)) && found.machine().is_some();
        is_own.then_some(found)
    });
    own.collect()
}

impl<'s> Provisioned<'s> {
    /// The name.
    pub(crate) fn name(&self) -> &'s str {
        &self.pool.metadata.name
    }

    /// The evidence of the autoscaler.
    pub(crate) fn object(&self) -> String {
        name_of("NodePool", self.pool)
    }

    /// Whether a group has the nodes of the pool.
    pub(crate) fn has_group(&self, group: &Group<'_>) -> bool {
        matches!(&group.key, GroupKey::Label { key: POOL | NODE_POOL, value, .. } if value == self.name())
    }

    /// The values of a requirement.
    fn requirement(&self, key: &str) -> Vec<&'s str> {
        let all = self.pool.items("/spec/template/spec/requirements").iter();
        let mut own = all.filter(|it| it["key"] == key && it["operator"] == "In");
        own.next().map_or(Vec::new(), |it| texts(it, "/values"))
    }

    /// The first machine type.
    pub(crate) fn machine(&self) -> Option<(&'s str, Evidence)> {
        self.machines().into_iter().next()
    }

    /// The machine types, first choice first.
    pub(crate) fn machines(&self) -> Vec<(&'s str, Evidence)> {
        let machines = self.requirement("node.kubernetes.io/instance-type");
        let at = |machine| source(self.object(), "spec.template.spec.requirements", machine);
        let machines = machines.into_iter();
        machines
            .map(|machine| (machine, Evidence::sure(at(machine))))
            .collect()
    }

    /// The family of the operating system, for example `bottlerocket`, and the release of the image.
    pub(crate) fn image(&self) -> Option<(&'s str, &'s str, String)> {
        let alias = text(&self.class.body, "/spec/amiSelectorTerms/0/alias")?;
        let (family, release) = alias.split_once('@')?;
        let at = source(
            name_of("EC2NodeClass", self.class),
            "spec.amiSelectorTerms",
            alias,
        );
        Some((family, release, at))
    }

    /// The keys of the pool. `cluster` is the cloud's description of the cluster.
    pub(crate) fn keys(&self, cluster: &Value, report: &mut Report) -> Keys {
        let of_pool = |field: &str, value: &str| source(self.object(), field, value);
        let of_class =
            |field: &str, value: &str| source(name_of("EC2NodeClass", self.class), field, value);
        let mut keys = Keys::default();
        if let Some(max) = number(&self.pool.body, "/spec/limits/nodes") {
            let at = of_pool("spec.limits.nodes", &max.to_string());
            let max = Item::number(max).sure(at.clone());
            keys.nodes = Some(Item::map([("min", Item::number(0).sure(at)), ("max", max)]));
        }
        let zones = self.requirement("topology.kubernetes.io/zone");
        let at = of_pool("spec.template.spec.requirements", &zones.join(", "));
        keys.zones = zones
            .iter()
            .map(|zone| Item::text(*zone).sure(at.clone()))
            .collect();
        let subnets = self.class.items("/spec/subnetSelectorTerms").iter();
        keys.subnets = subnets
            .filter_map(|it| text(it, "/id"))
            .map(|id| {
                let reason = "the subnets of the pool, or all private subnets of the cluster";
                Item::text(id).guess(of_class("spec.subnetSelectorTerms", id), reason)
            })
            .collect();
        if !keys.zones.is_empty() && !keys.subnets.is_empty() {
            let key = format!("nodePools[{}].subnets", self.name());
            let at = of_class("spec.subnetSelectorTerms", "IDs");
            let reason = "a pool has zones or subnets: add the subnets of the cluster to `cluster.existing.vpc`";
            report.leave_out(Some(&key), at, reason);
            keys.subnets.clear();
        }
        keys.capacity = self.capacity();
        if let Some((_, release, at)) = self.image() {
            let key = format!("nodePools[{}].nodeImage", self.name());
            let reason = format!(
                "to keep the release {release}, add `nodeImage`; without it, gpuc selects the release"
            );
            report.leave_out(Some(&key), at, reason);
        }
        let disks = self.class.items("/spec/blockDeviceMappings").iter();
        let mut sizes = disks.rev().filter_map(|it| {
            text(it, "/ebs/volumeSize")?
                .strip_suffix("Gi")?
                .parse::<u32>()
                .ok()
        });
        // The last disk has the containers; on Bottlerocket, the first has only the system.
        let disk = sizes.next().filter(|size| *size != 100);
        keys.disk = disk.map(|size| {
            Item::number(size).sure(of_class("spec.blockDeviceMappings", &size.to_string()))
        });
        if self.class.text("/spec/instanceStorePolicy") == "RAID0" {
            keys.local_disks =
                Some(Item::text("scratch").sure(of_class("spec.instanceStorePolicy", "RAID0")));
        }
        if let Some(count) = number(&self.class.body, "/spec/kubelet/maxPods") {
            keys.max_pods = Some(
                Item::number(count).sure(of_class("spec.kubelet.maxPods", &count.to_string())),
            );
        }
        if let Some(name) = text(&self.class.body, "/spec/placementGroupSelector/name") {
            let group = Item::text(name).sure(of_class("spec.placementGroupSelector.name", name));
            keys.network.push("placement", Item::single("group", group));
        }
        self.add_labels_and_taints(&mut keys);
        for (key, value) in text_entries(&self.class.body, "/spec/tags") {
            let of_cluster = cluster.get("tags").and_then(|tags| tags.get(key)?.as_str());
            if !key.starts_with("gpuc") && of_cluster != Some(value) {
                let item = Item::text(value).sure(of_class("spec.tags", value));
                keys.tags.push((key.to_owned(), item));
            }
        }
        let budget = number(&self.pool.body, "/spec/disruption/budgets/0/nodes");
        keys.upgrade = budget.filter(|count| *count != 1).map(|count| {
            let at = of_pool("spec.disruption.budgets[0].nodes", &count.to_string());
            Item::single("maxUnavailable", Item::number(count).sure(at))
        });
        keys
    }

    fn add_labels_and_taints(&self, keys: &mut Keys) {
        for (key, value) in text_entries(&self.pool.body, "/spec/template/metadata/labels") {
            if !key.starts_with("gpuc.dev/") {
                let at = source(self.object(), "spec.template.metadata.labels", value);
                keys.labels
                    .push((key.to_owned(), Item::text(value).sure(at)));
            }
        }
        for taint in items(&self.pool.body, "/spec/template/spec/taints") {
            let part = |pointer| text(taint, pointer).unwrap_or_default();
            let (key, value, effect) = (part("/key"), part("/value"), part("/effect"));
            let at = source(self.object(), "spec.template.spec.taints", json!(taint));
            if key == gpuc_model::DEDICATED_TO && effect == "NoSchedule" {
                keys.dedicated_to = Some(Item::text(value).sure(at));
            } else {
                keys.taints
                    .push(crate::taints::taint_item(key, value, effect).sure(at));
            }
        }
    }

    /// Spot machines, or those of a reservation. The end of a Capacity Block is not in the objects.
    fn capacity(&self) -> Option<Item> {
        match self.requirement("karpenter.sh/capacity-type")[..] {
            ["spot"] => {
                let at = source(self.object(), "spec.template.spec.requirements", "spot");
                Some(Item::single("spot", Item::map::<String>([])).sure(at))
            }
            ["reserved"] => {
                let id = text(
                    &self.class.body,
                    "/spec/capacityReservationSelectorTerms/0/id",
                )?;
                let at = source(
                    name_of("EC2NodeClass", self.class),
                    "spec.capacityReservationSelectorTerms",
                    id,
                );
                let reason = "a reservation; of a Capacity Block, the objects do not have the start and the end";
                let id = Item::text(id).guess(at, reason);
                Some(Item::single("reservation", Item::single("id", id)))
            }
            _ => None,
        }
    }
}
