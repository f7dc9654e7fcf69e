//! The fields of a pool with the desired values and the commands that change them.

use gpuc_model::plan::{Command, Field, FieldKind, Word};
use serde_json::{Value, json};

use super::super::{SPOT, mig, ownership};
use super::Settings;
use super::kinds::{
    AUTOSCALING, DISK, DISK_TYPE, DRIVER, EVICTION, LABELS, MAX_PODS, MAX_PRICE, MIG, MODE, NODES,
    OS_SKU, PLACEMENT, PRIORITY, RESERVATION, SUBNET, TAGS, TAINTS, VERSION, VM_SIZE, ZONES,
};

impl Settings<'_> {
    /// Every field with the desired value and the command that changes it.
    pub(super) fn fields(&self) -> Vec<Field> {
        let settings = &self.pool.settings;
        let nodes = self.pool.nodes.expect_resolved();
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
        // If no subnet is set, AKS may report the default subnet.
        if let Some(subnet) = self.subnet() {
            fields.push(self.fixed(&SUBNET, json!(subnet.to_ascii_lowercase())));
        }
        let id = |id: Option<&str>| json!(id.unwrap_or_default().to_ascii_lowercase());
        fields.push(self.fixed(&RESERVATION, id(self.reservation())));
        fields.push(self.fixed(&PLACEMENT, id(self.placement())));
        fields.push(self.fixed(&DISK, json!(settings.disk_gib.value)));
        // If not set, AKS chooses the disk type.
        if let Some(kind) = self.disk_type() {
            fields.push(self.fixed(&DISK_TYPE, json!(kind)));
        }
        if let Some(pods) = settings.max_pods {
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
            let scale = self
                .command("scale")
                .with(["--output", "none"])
                .with(["--node-count", &count]);
            fields.push(self.changed(&NODES, json!(nodes.min), scale));
        }
        fields.extend(self.shared_sets());
        for (flag, kind, count) in self.upgrade() {
            let count = count.to_string();
            let update = self.update().with([flag, &count]);
            fields.push(self.changed(kind, json!(count), update));
        }
        fields
    }

    fn version(&self) -> Field {
        let version = self.cluster.kubernetes.expect_resolved().value.to_string();
        let upgrade = self
            .command("upgrade")
            .with(["--yes", "--output", "none"])
            .with(["--kubernetes-version", &version]);
        self.changed(&VERSION, json!(version), upgrade)
    }

    fn autoscaling(&self) -> Field {
        let nodes = self.pool.nodes.expect_resolved();
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

    /// Labels, taints and tags. Each update replaces the whole set, so it includes externally managed entries and those
    /// that AKS itself sets on spot pools. The ownership records are tags and are written last: after an interrupted
    /// run, the next run still finds the entries that it must remove.
    fn shared_sets(&self) -> [Field; 3] {
        let (labels, taints) = (self.labels(), self.taints());
        let tags = ownership::tags_of_pool(self.tags(), &labels, &taints);
        let words = |program: &str| Word::ObservedWords(program.to_owned());
        let mut set_labels = self
            .update()
            .with(["--labels"])
            .with_word(words("all_labels"));
        let mut all_taints = r#"all_taints | join(",")"#.to_owned();
        if self.spot().is_some() {
            set_labels = set_labels.with([format!("{SPOT}=spot")]);
            all_taints = format!(r#"all_taints + ["{SPOT}=spot:NoSchedule"] | join(",")"#);
        }
        let set_taints = self
            .update()
            .with(["--node-taints"])
            .with_word(Word::Observed(all_taints));
        let set_tags = self.update().with(["--tags"]).with_word(words("all_tags"));
        let shared = |kind, want, update, others| Field {
            others: Some(others),
            ..self.changed(kind, want, update)
        };
        [
            shared(&LABELS, Value::Object(labels), set_labels, "their_labels"),
            shared(&TAINTS, json!(taints), set_taints, "their_taints"),
            shared(&TAGS, Value::Object(tags), set_tags, "their_tags"),
        ]
    }

    fn fixed(&self, kind: &'static FieldKind, want: Value) -> Field {
        Field {
            kind,
            want,
            update: Vec::new(),
            others: None,
            origin: self.origin(),
        }
    }

    fn changed(&self, kind: &'static FieldKind, want: Value, update: Command) -> Field {
        Field {
            update: vec![update],
            ..self.fixed(kind, want)
        }
    }
}

/// A price as JSON: whole numbers have no fraction, so that -1 is written in the same form as `az` prints it.
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
