//! Node pools: what `az aks nodepool` makes, compares and changes.

mod kinds;

use gpuc_schema::config::{Capacity, DriverOwner, Eviction, Placement};
use serde_json::{Map, Value, json};

pub(super) use kinds::POOL;
use kinds::{
    AUTOSCALING, DISK, DRIVER, EVICTION, LABELS, MAX_PODS, MAX_PRICE, MAX_SURGE, MAX_UNAVAILABLE,
    MIG, MODE, NODES, OS_SKU, PLACEMENT, PRIORITY, RESERVATION, SUBNET, TAGS, TAINTS, VERSION,
    VM_SIZE, ZONES,
};

use super::{SPOT, az, cluster_name, created, mig, os, section, system_pool};
use crate::model::{Cluster, Pool, SetBy};
use crate::node::{Because, Origin};
use crate::plan::{Command, Field, FieldKind, Observe, Resource, Word};

/// A pool of nodes.
pub(super) fn resource(cluster: &Cluster, pool: &Pool) -> Resource {
    let settings = Settings::of(cluster, pool);
    Resource {
        kind: &POOL,
        name: pool.name.value.clone(),
        script: format!("pool-{}", pool.name),
        about: format!("The AKS node pool {}.", pool.name),
        observe: Observe {
            command: settings.command("show").with(["--output", "json"]),
            absent: "\\((Resource(Group)?)?NotFound\\)",
        },
        create: vec![settings.create()],
        fields: settings.fields(),
        delete: vec![settings.command("delete").with(["--output", "none"])],
        origin: settings.origin(),
    }
}

/// The flags by which `az aks create` makes the cluster's first pool: those of a pool, some under other names, and none
/// for what only a later pool can have.
pub(super) fn first_pool(cluster: &Cluster, pool: &Pool) -> Vec<String> {
    let mut words = vec!["--nodepool-name".to_owned(), pool.name.value.clone()];
    for (flag, values) in Settings::of(cluster, pool).flags() {
        let flag = match flag {
            "--labels" => "--nodepool-labels",
            "--node-taints" => "--nodepool-taints",
            "--tags" => "--nodepool-tags",
            // The first pool is always one of regular machines for the system, on Linux; the rest is set on it afterwards.
            "--mode" | "--priority" | "--os-type" | "--max-surge" | "--max-unavailable" => continue,
            flag => flag,
        };
        words.push(flag.to_owned());
        words.extend(values);
    }
    words
}

/// A pool in Azure's words.
struct Settings<'c> {
    cluster: &'c Cluster,
    pool: &'c Pool,
}

impl<'c> Settings<'c> {
    fn of(cluster: &'c Cluster, pool: &'c Pool) -> Self {
        Self { cluster, pool }
    }

    /// An `az aks nodepool` command on this pool.
    fn command(&self, verb: &str) -> Command {
        az(&self.cluster.written, &["aks", "nodepool", verb]).with([
            "--cluster-name",
            cluster_name(self.cluster),
            "--name",
            &self.pool.name,
        ])
    }

    fn update(&self) -> Command {
        self.command("update").with(["--output", "none"])
    }

    fn create(&self) -> Command {
        let flags = self.flags().into_iter();
        let words = flags.flat_map(|(flag, values)| std::iter::once(flag.to_owned()).chain(values));
        self.command("add").with(["--output", "none"]).with(words)
    }

    /// Every flag of `az aks nodepool add` with its values.
    fn flags(&self) -> Vec<(&'static str, Vec<String>)> {
        let written = &self.pool.written;
        let nodes = self.pool.nodes.sure();
        let mut flags = vec![
            ("--mode", vec![self.mode().to_owned()]),
            ("--node-vm-size", vec![self.vm_size().to_owned()]),
            ("--os-type", vec!["Linux".to_owned()]),
            ("--os-sku", vec![self.os_sku().to_owned()]),
            ("--node-count", vec![nodes.min.to_string()]),
        ];
        if !nodes.is_fixed() {
            flags.push(("--enable-cluster-autoscaler", Vec::new()));
            flags.push(("--min-count", vec![nodes.min.to_string()]));
            flags.push(("--max-count", vec![nodes.max.to_string()]));
        }
        flags.push(("--node-osdisk-size", vec![written.disk_gib.to_string()]));
        let optional = [
            ("--max-pods", written.max_pods.map(|pods| pods.to_string())),
            ("--vnet-subnet-id", self.subnet().map(str::to_owned)),
            ("--crg-id", self.reservation().map(str::to_owned)),
            ("--ppg", self.placement().map(str::to_owned)),
            ("--gpu-driver", self.driver().map(str::to_owned)),
            (
                "--gpu-instance-profile",
                mig::flag(self.pool).map(str::to_owned),
            ),
        ];
        let given = |(flag, value): (_, Option<_>)| value.map(|value| (flag, vec![value]));
        flags.extend(optional.into_iter().filter_map(given));
        let zones = self.zones();
        if !zones.is_empty() {
            flags.push(("--zones", zones));
        }
        if let Some((eviction, price)) = self.spot() {
            flags.push(("--priority", vec!["Spot".to_owned()]));
            flags.push(("--eviction-policy", vec![eviction.to_owned()]));
            flags.push(("--spot-max-price", vec![price.to_string()]));
        }
        flags.push(("--labels", pairs(&self.labels())));
        let taints = self.taints();
        if !taints.is_empty() {
            flags.push(("--node-taints", vec![taints.join(",")]));
        }
        let tags = self.tags();
        if !tags.is_empty() {
            flags.push(("--tags", pairs(&tags)));
        }
        for (flag, _, count) in self.upgrade() {
            flags.push((flag, vec![count.to_string()]));
        }
        flags
    }

    /// Every field with the value wanted and what changes it.
    fn fields(&self) -> Vec<Field> {
        let written = &self.pool.written;
        let nodes = self.pool.nodes.sure();
        let priority = self.spot().map_or("Regular", |_| "Spot");
        let mut fields = vec![
            self.fixed(&VM_SIZE, json!(self.vm_size())),
            self.fixed(&PRIORITY, json!(priority)),
        ];
        if let Some((eviction, price)) = self.spot() {
            fields.push(self.fixed(&EVICTION, json!(eviction)));
            fields.push(self.fixed(&MAX_PRICE, price_json(price)));
        }
        fields.push(self.fixed(&ZONES, json!(self.zones())));
        // Where nobody chose a subnet AKS may show the one it took.
        if let Some(subnet) = self.subnet() {
            fields.push(self.fixed(&SUBNET, json!(subnet.to_ascii_lowercase())));
        }
        let id = |id: Option<&str>| json!(id.unwrap_or_default().to_ascii_lowercase());
        fields.push(self.fixed(&RESERVATION, id(self.reservation())));
        fields.push(self.fixed(&PLACEMENT, id(self.placement())));
        fields.push(self.fixed(&DISK, json!(written.disk_gib.value)));
        if let Some(pods) = written.max_pods {
            fields.push(self.fixed(&MAX_PODS, json!(pods.value)));
        }
        if let Some(driver) = self.driver() {
            fields.push(self.fixed(&DRIVER, json!(driver)));
            fields.push(self.fixed(&MIG, json!(mig::flag(self.pool))));
        }
        let sku = self.os_sku();
        fields.push(self.changed(&OS_SKU, json!(sku), self.update().with(["--os-sku", sku])));
        fields.push(self.version());
        let mode = self.mode();
        fields.push(self.changed(&MODE, json!(mode), self.update().with(["--mode", mode])));
        fields.push(self.autoscaling());
        if nodes.is_fixed() {
            let count = nodes.min.to_string();
            let scale = self.command("scale").with(["--output", "none"]);
            let scale = scale.with(["--node-count", &count]);
            fields.push(self.changed(&NODES, json!(nodes.min), scale));
        }
        fields.extend(self.whole_sets());
        for (flag, kind, count) in self.upgrade() {
            let count = count.to_string();
            let update = self.update().with([flag, &count]);
            fields.push(self.changed(kind, json!(count), update));
        }
        fields
    }

    fn version(&self) -> Field {
        let version = self.cluster.kubernetes.sure().value.to_string();
        let upgrade = self
            .command("upgrade")
            .with(["--yes", "--output", "none"])
            .with(["--kubernetes-version", &version]);
        self.changed(&VERSION, json!(version), upgrade)
    }

    fn autoscaling(&self) -> Field {
        let nodes = self.pool.nodes.sure();
        if nodes.is_fixed() {
            let update = self.update().with(["--disable-cluster-autoscaler"]);
            return self.changed(&AUTOSCALING, json!({"enabled": false}), update);
        }
        let switch = r#"if .enableAutoScaling then "--update-cluster-autoscaler" else "--enable-cluster-autoscaler" end"#;
        let (min, max) = (nodes.min.to_string(), nodes.max.to_string());
        let update = self
            .update()
            .with_word(Word::Observed(switch.to_owned()))
            .with(["--min-count", &min, "--max-count", &max]);
        let want = json!({"enabled": true, "min": nodes.min, "max": nodes.max});
        self.changed(&AUTOSCALING, want, update)
    }

    /// Labels, taints and tags. Each update writes the whole set; what AKS itself keeps on spot pools is restated.
    fn whole_sets(&self) -> [Field; 3] {
        let (labels, taints, tags) = (self.labels(), self.taints(), self.tags());
        let mut label_words = pairs(&labels);
        let mut taint_words = taints.clone();
        if self.spot().is_some() {
            label_words.push(format!("{SPOT}=spot"));
            taint_words.push(format!("{SPOT}=spot:NoSchedule"));
        }
        let set_labels = self.update().with(["--labels"]).with(label_words);
        let set_taints = self
            .update()
            .with(["--node-taints", &taint_words.join(",")]);
        let set_tags = self.update().with(["--tags"]).with(cleared(pairs(&tags)));
        [
            self.changed(&LABELS, Value::Object(labels), set_labels),
            self.changed(&TAINTS, json!(taints), set_taints),
            self.changed(&TAGS, Value::Object(tags), set_tags),
        ]
    }

    fn fixed(&self, kind: &'static FieldKind, want: Value) -> Field {
        Field {
            kind,
            want,
            update: Vec::new(),
            origin: self.origin(),
        }
    }

    fn changed(&self, kind: &'static FieldKind, want: Value, update: Command) -> Field {
        Field {
            update: vec![update],
            ..self.fixed(kind, want)
        }
    }

    fn origin(&self) -> Origin {
        Origin::made([self.pool.name.span], Because::Written)
    }

    fn vm_size(&self) -> &str {
        match self.pool.machine.sure() {
            crate::model::MachineType::Catalog(machine) => machine.name,
            _ => self.pool.written.machine.as_ref().map_or_else(
                || unreachable!("GPUC1003 rejects pools without a machine"),
                |name| name.as_str(),
            ),
        }
    }

    fn os_sku(&self) -> &'static str {
        os::sku(self.pool.os.value)
            .unwrap_or_else(|| unreachable!("a rule rejects operating systems that AKS has not"))
    }

    fn mode(&self) -> &'static str {
        let system = system_pool(self.cluster);
        if system.is_some_and(|system| system.index == self.pool.index) {
            "System"
        } else {
            "User"
        }
    }

    /// Who installs the driver, on pools with GPUs: it is always said.
    fn driver(&self) -> Option<&'static str> {
        let preinstalled = self.pool.driver.value == DriverOwner::Preinstalled;
        let word = if preinstalled { "Install" } else { "None" };
        self.pool.has_gpus().then_some(word)
    }

    fn zones(&self) -> Vec<String> {
        let zones = self.pool.written.zones.iter();
        let mut zones: Vec<_> = zones.map(|zone| zone.value.clone()).collect();
        zones.sort();
        zones.dedup();
        zones
    }

    /// The pool's subnet, else that of the cluster.
    fn subnet(&self) -> Option<&str> {
        let cluster = created(self.cluster).and_then(|create| create.subnet.as_ref());
        let subnet = self.pool.written.subnets.first().or(cluster);
        subnet.map(|subnet| subnet.as_str())
    }

    fn reservation(&self) -> Option<&str> {
        match &self.pool.written.capacity.value {
            Capacity::Reservation(reservation) => Some(&reservation.id),
            _ => None,
        }
    }

    fn placement(&self) -> Option<&str> {
        match &self.pool.written.network.placement.as_ref()?.value {
            Placement::Group(id) => Some(id),
            Placement::Compact => None,
        }
    }

    /// The eviction policy and the highest price of a spot pool.
    fn spot(&self) -> Option<(&'static str, f64)> {
        let Capacity::Spot(spot) = &self.pool.written.capacity.value else {
            return None;
        };
        let eviction = match spot.eviction.as_ref().map(|eviction| eviction.value) {
            Some(Eviction::Deallocate) => "Deallocate",
            Some(Eviction::Delete) | None => "Delete",
        };
        let price = spot.max_price.as_ref().map_or(-1.0, |price| price.value);
        Some((eviction, price))
    }

    /// What the user says of upgrades: flag, field and number.
    fn upgrade(&self) -> Vec<(&'static str, &'static FieldKind, u32)> {
        let Some(upgrade) = &self.pool.written.upgrade else {
            return Vec::new();
        };
        let surge = upgrade.max_surge.map(|count| count.value);
        let missing = upgrade.max_unavailable.map(|count| count.value);
        // AKS takes a surge of one by default, and without its preview one or the other.
        let surge = surge.or(missing.filter(|count| *count > 0).map(|_| 0));
        let surge = surge.map(|count| ("--max-surge", &MAX_SURGE, count));
        let missing = missing.map(|count| ("--max-unavailable", &MAX_UNAVAILABLE, count));
        surge.into_iter().chain(missing).collect()
    }

    fn labels(&self) -> Map<String, Value> {
        let labels = self.pool.labels.iter();
        labels
            .map(|label| (label.key.clone(), json!(label.value)))
            .collect()
    }

    fn taints(&self) -> Vec<String> {
        let ours = self.pool.taints.iter();
        let ours = ours.filter(|taint| taint.set_by == SetBy::Gpuc);
        let mut taints: Vec<_> = ours
            .map(|taint| format!("{}={}:{:?}", taint.key, taint.value, taint.effect))
            .collect();
        taints.sort();
        taints
    }

    /// The cluster's tags and the pool's; the pool's word counts.
    fn tags(&self) -> Map<String, Value> {
        let cluster = section(&self.cluster.written).tags.iter();
        let tags = cluster.chain(&self.pool.written.tags);
        tags.map(|(key, value)| (key.value.clone(), json!(value.value)))
            .collect()
    }
}

/// `key=value`, a word each.
pub(super) fn pairs(map: &Map<String, Value>) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    map.iter()
        .map(|(key, value)| format!("{key}={}", text(value)))
        .collect()
}

/// The words that write a set; an empty word where the set is empty, by which `az` clears it.
pub(super) fn cleared(words: Vec<String>) -> Vec<String> {
    if words.is_empty() {
        return vec![String::new()];
    }
    words
}

/// A price as JSON: whole numbers without a fraction, so that -1 is written as `az` shows it.
fn price_json(price: f64) -> Value {
    if price.fract() == 0.0 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a rule caps the price far below 2^53"
        )]
        return json!(price as i64);
    }
    json!(price)
}
