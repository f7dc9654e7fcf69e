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
        delete: settings.delete(),
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
            // The first pool is always one of regular machines for the system, on Linux; the rest is set on it
            // afterwards.
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

    /// AKS refuses to delete the last system pool; it goes with its cluster.
    fn delete(&self) -> Vec<Command> {
        match self.mode() {
            "System" => Vec::new(),
            _ => vec![self.command("delete").with(["--output", "none"])],
        }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::cloud::azure::testing::{cluster, provision, with_pools};
    use crate::diag::Report;
    use crate::plan::{Change, Command, Field, Resource, Word};

    fn pool(yaml: &str) -> Resource {
        let resources = provision(&with_pools(yaml)).resources;
        resources.into_iter().last().expect("the file has pools")
    }

    fn words(command: &Command) -> String {
        let word = |word: &Word| match word {
            Word::Text(text) => text.clone(),
            Word::Observed(jq) => format!("$({jq})"),
            Word::Beside(file) => file.clone(),
        };
        let words: Vec<_> = command.0.iter().map(word).collect();
        let words = words.join(" ");
        words.replace(
            "--subscription 00000000-1111-2222-3333-444444444444 --resource-group demo",
            "-",
        )
    }

    fn field<'r>(pool: &'r Resource, name: &str) -> &'r Field {
        let found = pool.fields.iter().find(|field| field.kind.name == name);
        found.unwrap_or_else(|| panic!("no field {name}"))
    }

    fn want(pool: &Resource, name: &str) -> Value {
        field(pool, name).want.clone()
    }

    #[test]
    fn a_spot_pool_from_zero() {
        let pool = pool(
            "- {name: infer, machine: Standard_NC4as_T4_v3, nodes: {min: 0, max: 8}, capacity: {spot: {}}}",
        );
        assert_eq!(
            words(&pool.create[0]),
            "az aks nodepool add - --cluster-name demo --name infer --output none --mode User \
             --node-vm-size Standard_NC4as_T4_v3 --os-type Linux --os-sku Ubuntu --node-count 0 \
             --enable-cluster-autoscaler --min-count 0 --max-count 8 --node-osdisk-size 100 \
             --gpu-driver Install --priority Spot --eviction-policy Delete --spot-max-price -1 \
             --labels gpuc.dev/pool=infer"
        );
        assert_eq!(want(&pool, "taints"), json!([]));
        assert_eq!(want(&pool, "highest spot price"), json!(-1));
        // What AKS keeps there by itself is restated when the set is written anew.
        assert!(
            words(&field(&pool, "taints").update[0])
                .ends_with("--node-taints kubernetes.azure.com/scalesetpriority=spot:NoSchedule")
        );
        assert!(pool.fields.iter().all(|field| field.kind.name != "nodes"));
    }

    #[test]
    fn a_fixed_pool_with_everything() {
        let pool = pool(
            r#"- {name: train, machine: Standard_ND96isr_H100_v5, nodes: {count: 2}, zones: ["2", "1"],
                  maxPods: 60, diskGiB: 500, dedicatedTo: research,
                  taints: [{key: sku, value: gpu, effect: NoExecute}],
                  tags: {cost center: "a=b; c"}, upgrade: {maxUnavailable: 1}}"#,
        );
        assert_eq!(
            words(&pool.create[0]),
            "az aks nodepool add - --cluster-name demo --name train --output none --mode User \
             --node-vm-size Standard_ND96isr_H100_v5 --os-type Linux --os-sku Ubuntu --node-count 2 \
             --node-osdisk-size 500 --max-pods 60 --gpu-driver Install --zones 1 2 \
             --labels gpuc.dev/dedicated-to=research gpuc.dev/pool=train \
             --node-taints gpuc.dev/dedicated-to=research:NoSchedule,sku=gpu:NoExecute \
             --tags cost center=a=b; c --max-surge 0 --max-unavailable 1"
        );
        let create = &pool.create[0].0;
        assert!(create.contains(&Word::Text("cost center=a=b; c".to_owned())));
        assert_eq!(want(&pool, "zones"), json!(["1", "2"]));
        assert_eq!(want(&pool, "autoscaling"), json!({"enabled": false}));
        assert_eq!(
            words(&field(&pool, "nodes").update[0]),
            "az aks nodepool scale - --cluster-name demo --name train --output none --node-count 2"
        );
    }

    #[test]
    fn slices_are_cut_by_aks_or_by_the_operator() {
        let slices = |stack: &str| {
            let pool = format!(
                "- {{name: slices, machine: Standard_NC24ads_A100_v4, nodes: {{count: 1}}, stack: {stack}, \
                 sharing: {{mig: {{strategy: mixed, perGpu: [{{layout: [{{profile: 2g.20gb, count: 3}}]}}]}}}}}}"
            );
            let cluster = cluster(&with_pools(&pool), &mut Report::default());
            super::resource(&cluster, &cluster.pools[1])
        };
        let aks = slices("{}");
        assert_eq!(want(&aks, "GPU instance profile"), json!("MIG2g"));
        assert_eq!(want(&aks, "GPU driver"), json!("Install"));
        let operator = slices("{devicePlugin: operator}");
        assert_eq!(want(&operator, "GPU instance profile"), Value::Null);
        assert_eq!(want(&operator, "GPU driver"), json!("None"));
    }

    #[test]
    fn what_cannot_be_changed_has_no_command() {
        let pool = pool(
            "- {name: train, machine: Standard_ND96isr_H100_v5, nodes: {count: 2}, upgrade: {maxSurge: 1}}",
        );
        for field in &pool.fields {
            let replaces = matches!(field.kind.change, Change::Replaces { .. });
            assert_eq!(replaces, field.update.is_empty(), "{}", field.kind.name);
        }
    }
}
