//! The fields of a pool with the desired values and the commands that change them.

use gpuc_model::plan::{Argument, Command, Field, FieldKind};
use serde_json::{Value, json};

use super::super::{SPOT_KEY, mig, ownership};
use super::PoolSettings;
use super::kinds::{
    AUTOSCALING, DISK, DISK_TYPE, DRIVER, EVICTION, INITIAL_NODES, LABELS, MAX_PODS, MAX_PRICE,
    MIG, MODE, NODES, OS_SKU, PLACEMENT, PRIORITY, RESERVATION, SUBNET, TAGS, TAINTS, UPGRADE,
    VERSION, VM_SIZE, ZONES,
};

impl PoolSettings<'_> {
    /// Every field with the desired value and the command that changes it.
    pub(super) fn fields(&self) -> Vec<Field> {
        let settings = &self.pool.settings;
        let nodes = self.pool.nodes.expect_resolved();
        let priority = self.spot_terms().map_or("Regular", |_| "Spot");
        let mut fields = vec![
            self.immutable_field(&VM_SIZE, json!(self.vm_size())),
            self.immutable_field(&PRIORITY, json!(priority)),
        ];
        if let Some((eviction, price)) = self.spot_terms() {
            fields.push(self.immutable_field(&EVICTION, json!(eviction)));
            fields.push(self.immutable_field(&MAX_PRICE, price_json(price)));
        }
        fields.push(self.immutable_field(&ZONES, json!(self.zones())));
        // If no subnet is set, AKS may report the default subnet.
        if let Some(subnet) = self.subnet() {
            fields.push(self.immutable_field(&SUBNET, json!(subnet.to_ascii_lowercase())));
        }
        let id = |id: Option<&str>| json!(id.unwrap_or_default().to_ascii_lowercase());
        fields.push(self.immutable_field(&RESERVATION, id(self.reservation())));
        fields.push(self.immutable_field(&PLACEMENT, id(self.placement())));
        fields.push(self.immutable_field(&DISK, json!(settings.disk_gib.value)));
        // If not set, AKS chooses the disk type.
        if let Some(kind) = self.disk_type() {
            fields.push(self.immutable_field(&DISK_TYPE, json!(kind)));
        }
        if let Some(pods) = settings.max_pods {
            fields.push(self.immutable_field(&MAX_PODS, json!(pods.value)));
        }
        if let Some(driver) = self.driver() {
            fields.push(self.immutable_field(&DRIVER, json!(driver)));
            fields.push(self.immutable_field(&MIG, json!(mig::instance_profile(self.pool))));
        }
        let sku = self.os_sku();
        fields.push(self.updatable_field(
            &OS_SKU,
            json!(sku),
            self.update_command().with_arguments(["--os-sku", sku]),
        ));
        fields.push(self.version());
        let mode = self.mode();
        fields.push(self.updatable_field(
            &MODE,
            json!(mode),
            self.update_command().with_arguments(["--mode", mode]),
        ));
        fields.push(self.autoscaling());
        if nodes.is_fixed() {
            let count = nodes.min.to_string();
            let scale = self
                .command("scale")
                .with_arguments(["--output", "none"])
                .with_arguments(["--node-count", &count]);
            fields.push(self.updatable_field(&NODES, json!(nodes.min), scale));
        }
        let initial = nodes.initial.map(|initial| json!(initial.value));
        fields.extend(initial.map(|initial| self.immutable_field(&INITIAL_NODES, initial)));
        fields.extend(self.shared_fields());
        if let Some(upgrade) = self.upgrade() {
            let update = self.upgrade_command(&upgrade);
            fields.push(self.updatable_field(&UPGRADE, upgrade.to_json(), update));
        }
        fields
    }

    fn version(&self) -> Field {
        let version = self.cluster.kubernetes.expect_resolved().value.to_string();
        let upgrade = self
            .command("upgrade")
            .with_arguments(["--yes", "--output", "none"])
            .with_arguments(["--kubernetes-version", &version]);
        self.updatable_field(&VERSION, json!(version), upgrade)
    }

    fn autoscaling(&self) -> Field {
        let nodes = self.pool.nodes.expect_resolved();
        if nodes.is_fixed() {
            let update = self
                .update_command()
                .with_arguments(["--disable-cluster-autoscaler"]);
            return self.updatable_field(&AUTOSCALING, json!({"enabled": false}), update);
        }
        let switch = r#"if .enableAutoScaling then "--update-cluster-autoscaler" else "--enable-cluster-autoscaler" end"#;
        let (min, max) = (nodes.min.to_string(), nodes.max.to_string());
        let update = self
            .update_command()
            .with_argument(Argument::Observed(switch.to_owned()))
            .with_arguments(["--min-count", &min, "--max-count", &max]);
        let desired = json!({"enabled": true, "min": nodes.min, "max": nodes.max});
        self.updatable_field(&AUTOSCALING, desired, update)
    }

    /// Labels, taints and tags. Each update replaces the whole set, so it includes externally managed entries and those
    /// that AKS itself sets on spot pools. The ownership records are tags and are written last: after an interrupted
    /// run, the next run still finds the entries that it must remove.
    fn shared_fields(&self) -> [Field; 3] {
        let (labels, taints) = (self.labels(), self.taints());
        let tags = ownership::pool_tags_with_records(self.tags(), &labels, &taints);
        let words = |program: &str| Argument::ObservedList(program.to_owned());
        let mut set_labels = self
            .update_command()
            .with_arguments(["--labels"])
            .with_argument(words("all_labels"));
        let mut all_taints = r#"all_taints | join(",")"#.to_owned();
        if self.spot_terms().is_some() {
            set_labels = set_labels.with_arguments([format!("{SPOT_KEY}=spot")]);
            all_taints = format!(r#"all_taints + ["{SPOT_KEY}=spot:NoSchedule"] | join(",")"#);
        }
        let set_taints = self
            .update_command()
            .with_arguments(["--node-taints"])
            .with_argument(Argument::Observed(all_taints));
        let set_tags = self
            .update_command()
            .with_arguments(["--tags"])
            .with_argument(words("all_tags"));
        let shared = |kind, desired, update, others| Field {
            external_entries: Some(others),
            ..self.updatable_field(kind, desired, update)
        };
        [
            shared(&LABELS, Value::Object(labels), set_labels, "their_labels"),
            shared(&TAINTS, json!(taints), set_taints, "their_taints"),
            shared(&TAGS, Value::Object(tags), set_tags, "their_tags"),
        ]
    }

    fn immutable_field(&self, kind: &'static FieldKind, desired: Value) -> Field {
        Field {
            kind,
            desired,
            update: Vec::new(),
            lookup: None,
            is_set_after_creation: false,
            external_entries: None,
            origin: self.origin(),
        }
    }

    fn updatable_field(&self, kind: &'static FieldKind, desired: Value, update: Command) -> Field {
        Field {
            update: vec![update],
            ..self.immutable_field(kind, desired)
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
