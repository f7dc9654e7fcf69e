//! GKE node pools.

use std::collections::BTreeMap;

use gpuc_schema::Span;
use gpuc_schema::config::{Capacity, Placement, TaintEffect};
use serde_json::{Map, Value, json};

use super::place::{self, Place};
use super::setting::Setting;
use super::{accelerator, created, machines, nodes, os, pool_fields as kinds, section, taints};
use crate::check::Checked;
use crate::model::{MachineType, Pool, PoolTaint, SetBy};
use crate::node::{Because, Origin};
use crate::plan::{Command, Observe, Resource, ResourceKind, Word};

/// A GKE node pool.
pub(super) static POOL: ResourceKind = ResourceKind {
    name: "GKE node pool",
    fields: kinds::FIELDS,
};

/// A pool to make.
pub(super) fn resource(cluster: Checked<'_>, pool: &Pool, place: Place<'_>) -> Resource {
    let lowering = Lowering {
        cluster,
        pool,
        place,
    };
    let settings = lowering.settings();
    let flags = settings.iter().flat_map(|setting| setting.flags.clone());
    let create = place.pool("create", &pool.name).with(flags);
    Resource {
        kind: &POOL,
        name: pool.name.value.clone(),
        script: format!("pool-{}", pool.name),
        about: format!(
            "the node pool {} of the GKE cluster {}",
            pool.name, place.cluster
        ),
        observe: Observe {
            command: place.pool("describe", &pool.name).with(["--format=json"]),
            absent: "code=404, message=Not found: ",
        },
        create: vec![create],
        fields: settings.into_iter().map(|setting| setting.field).collect(),
        delete: vec![place.pool("delete", &pool.name)],
        origin: Origin::made([pool.name.span], Because::Written),
    }
}

struct Lowering<'c> {
    cluster: Checked<'c>,
    pool: &'c Pool,
    place: Place<'c>,
}

impl Lowering<'_> {
    /// Every field: first what cannot change, then what drains nodes, then what touches none.
    fn settings(&self) -> Vec<Setting> {
        let mut settings = vec![self.machine()];
        settings.extend(self.gpus());
        settings.extend(self.local_ssds());
        settings.push(self.spot());
        settings.push(self.reservation());
        settings.push(self.placement());
        settings.extend(self.max_pods());
        settings.push(self.image());
        settings.push(self.disk());
        settings.extend(self.workload_metadata());
        settings.extend(self.resource_labels());
        settings.push(self.labels());
        settings.push(self.taints());
        settings.extend(self.upgrade());
        settings.push(self.management());
        settings.extend(self.zones());
        settings.extend(self.size());
        settings
    }

    fn update(&self, flags: impl IntoIterator<Item = String>) -> Command {
        self.place.pool("update", &self.pool.name).with(flags)
    }

    fn machine(&self) -> Setting {
        let written = self.pool.written.machine.as_ref();
        let name = match self.pool.machine.sure() {
            MachineType::Catalog(machine) => machine.name,
            MachineType::Cpu(_) | MachineType::Host => written.map_or_else(
                || unreachable!("a machine that is not picked is written"),
                |name| name.as_str(),
            ),
        };
        let flag = format!("--machine-type={name}");
        let span = written.map_or(self.pool.name.span, |name| name.span);
        if self.pool.has_gpus() {
            return Setting::new(&kinds::MACHINE_WITH_GPUS, json!(name), span).flag(flag);
        }
        Setting::new(&kinds::MACHINE, json!(name), span)
            .flag(flag.clone())
            .update(self.update([flag]))
    }

    /// A pool without GPUs has the field too: one that has some cannot lose them.
    fn gpus(&self) -> Vec<Setting> {
        let span = self.pool.name.span;
        let Some(accelerator) = accelerator::of(self.pool) else {
            return vec![Setting::new(&kinds::GPUS, json!([]), span)];
        };
        let chosen = self.pool.gpus.sure().map_or(span, |gpus| gpus.chosen);
        let flag = accelerator.flag();
        vec![
            Setting::new(&kinds::GPUS, accelerator.fixed(), chosen).flag(flag.clone()),
            Setting::new(
                &kinds::GPU_SETTINGS,
                accelerator.settings(),
                self.pool.driver.span,
            )
            .update(self.update([flag])),
        ]
    }

    fn local_ssds(&self) -> Option<Setting> {
        let MachineType::Catalog(machine) = self.pool.machine.sure() else {
            return None;
        };
        let count = machines::find(machine.name)?.local_ssd_count?;
        let span = self
            .pool
            .written
            .machine
            .as_ref()
            .map_or(self.pool.name.span, |it| it.span);
        let setting = Setting::new(&kinds::LOCAL_SSDS, json!(count), span);
        Some(setting.flag(format!("--ephemeral-storage-local-ssd=count={count}")))
    }

    fn spot(&self) -> Setting {
        let capacity = &self.pool.written.capacity;
        let spot = matches!(capacity.value, Capacity::Spot(_));
        let flag = spot.then(|| "--spot".to_owned());
        Setting::new(&kinds::SPOT, json!(spot), capacity.span).flags(flag)
    }

    fn reservation(&self) -> Setting {
        let capacity = &self.pool.written.capacity;
        let Capacity::Reservation(reservation) = &capacity.value else {
            return Setting::new(&kinds::RESERVATION, Value::Null, capacity.span);
        };
        let id = &reservation.id;
        Setting::new(&kinds::RESERVATION, json!(id.value), id.span)
            .flag("--reservation-affinity=specific")
            .flag(format!("--reservation={id}"))
    }

    fn placement(&self) -> Setting {
        let Some(placement) = &self.pool.written.network.placement else {
            return Setting::new(&kinds::PLACEMENT, Value::Null, Span::NONE);
        };
        let (want, flag) = match &placement.value {
            Placement::Compact => ("COMPACT", "--placement-type=COMPACT".to_owned()),
            Placement::Group(name) => (name.as_str(), format!("--placement-policy={name}")),
        };
        Setting::new(&kinds::PLACEMENT, json!(want), placement.span).flag(flag)
    }

    fn max_pods(&self) -> Option<Setting> {
        let max = self.pool.written.max_pods?;
        let setting = Setting::new(&kinds::MAX_PODS, json!(max.value), max.span);
        Some(setting.flag(format!("--max-pods-per-node={max}")))
    }

    fn image(&self) -> Setting {
        let image = os::image_type(self.pool);
        let flag = format!("--image-type={image}");
        let pool = format!("--node-pool={}", self.pool.name);
        let upgrade = self.place.cluster("upgrade").with([pool, flag.clone()]);
        Setting::new(&kinds::IMAGE, json!(image), self.pool.os.span)
            .flag(flag)
            .update(upgrade)
    }

    fn disk(&self) -> Setting {
        let size = self.pool.written.disk_gib;
        let flag = format!("--disk-size={size}GB");
        Setting::new(&kinds::DISK, json!(size.value), size.span)
            .flag(flag.clone())
            .update(self.update([flag]))
    }

    /// What an existing cluster does is not known, so its pools have GKE's default.
    fn workload_metadata(&self) -> Option<Setting> {
        let identity = created(&self.cluster.written)?.workload_identity;
        let mode = if identity.value {
            "GKE_METADATA"
        } else {
            "GCE_METADATA"
        };
        let flag = format!("--workload-metadata={mode}");
        let setting = Setting::new(&kinds::WORKLOAD_METADATA, json!(mode), identity.span);
        let flags = identity.value.then(|| flag.clone());
        Some(setting.flags(flags).update(self.update([flag])))
    }

    fn resource_labels(&self) -> Option<Setting> {
        let cluster = &section(&self.cluster.written).resource_labels;
        let all: BTreeMap<&str, (&str, Span)> = cluster
            .iter()
            .chain(&self.pool.written.tags)
            .map(|(key, value)| (key.as_str(), (value.as_str(), key.span)))
            .collect();
        let span = all.values().next()?.1;
        let pairs: Vec<_> = all
            .iter()
            .map(|(key, (value, _))| format!("{key}={value}"))
            .collect();
        let want = all
            .iter()
            .map(|(key, (value, _))| ((*key).to_owned(), json!(value)));
        let all = r#""--labels=" + ((.config.resourceLabels // {} | with_entries(select(.key | startswith("goog-") | not)))
            + $want | to_entries | map("\(.key)=\(.value)") | join(","))"#;
        let update = self.update([]).with_word(Word::Observed(all.to_owned()));
        let want = Value::Object(want.collect::<Map<_, _>>());
        Some(
            Setting::new(&kinds::RESOURCE_LABELS, want, span)
                .flag(format!("--labels={}", pairs.join(",")))
                .update(update),
        )
    }

    fn labels(&self) -> Setting {
        let labels = self.pool.labels.iter();
        let pairs: Vec<_> = labels
            .clone()
            .map(|it| format!("{}={}", it.key, it.value))
            .collect();
        let want = labels.map(|label| (label.key.clone(), json!(label.value)));
        let flag = format!("--node-labels={}", pairs.join(","));
        let want = Value::Object(want.collect::<Map<_, _>>());
        Setting::new(&kinds::LABELS, want, self.pool.name.span)
            .flag(flag.clone())
            .update(self.update([flag]))
    }

    /// An update replaces the whole set, so it names the taints too that GKE sets by itself.
    fn taints(&self) -> Setting {
        let automatic = taints::automatic(self.pool);
        let same = |a: &PoolTaint, b: &PoolTaint| (&a.key, &a.value) == (&b.key, &b.value);
        let own: Vec<_> = self
            .pool
            .taints
            .iter()
            .filter(|taint| taint.set_by == SetBy::Gpuc)
            .filter(|taint| !automatic.iter().any(|theirs| same(theirs, taint)))
            .collect();
        let flag = |taints: &mut dyn Iterator<Item = &PoolTaint>| {
            format!(
                "--node-taints={}",
                taints.map(written).collect::<Vec<_>>().join(",")
            )
        };
        let want: Vec<_> = own
            .iter()
            .map(|it| json!({"key": it.key, "value": it.value, "effect": api_effect(it.effect)}))
            .collect();
        let span = own.first().map_or(Span::NONE, |taint| taint.span);
        let create = (!own.is_empty()).then(|| flag(&mut own.iter().copied()));
        let update = flag(&mut own.iter().copied().chain(&automatic));
        Setting::new(&kinds::TAINTS, json!(want), span)
            .flags(create)
            .update(self.update([update]))
    }

    fn upgrade(&self) -> Option<Setting> {
        let upgrade = self.pool.written.upgrade.as_ref()?;
        // `gke-upgrade-incomplete` refuses one without the other.
        let (surge, unavailable) = (upgrade.max_surge?, upgrade.max_unavailable?);
        let flags = [
            format!("--max-surge-upgrade={surge}"),
            format!("--max-unavailable-upgrade={unavailable}"),
        ];
        let want = json!({"maxSurge": surge.value, "maxUnavailable": unavailable.value});
        Some(
            Setting::new(&kinds::UPGRADE, want, upgrade.span)
                .flags(flags.clone())
                .update(self.update(flags)),
        )
    }

    fn management(&self) -> Setting {
        let flags = ["--enable-autoupgrade", "--enable-autorepair"].map(str::to_owned);
        let want = json!({"upgrade": true, "repair": true});
        Setting::new(&kinds::MANAGEMENT, want, Span::NONE)
            .flags(flags.clone())
            .update(self.update(flags))
    }

    fn zones(&self) -> Option<Setting> {
        let gcp = section(&self.cluster.written);
        let mut zones = place::zones(gcp, self.pool);
        zones.sort_unstable();
        let span = self
            .pool
            .written
            .zones
            .first()
            .map_or(gcp.location.span, |zone| zone.span);
        let flag = format!("--node-locations={}", zones.join(","));
        (!zones.is_empty()).then(|| {
            Setting::new(&kinds::ZONES, json!(zones), span)
                .flag(flag.clone())
                .update(self.update([flag]))
        })
    }

    fn size(&self) -> Vec<Setting> {
        let range = self.pool.nodes.sure();
        let zones = place::zones(section(&self.cluster.written), self.pool);
        let size = nodes::size(range, zones.len());
        let scaling = Setting::new(&kinds::AUTOSCALING, size.autoscaling(), range.min_span)
            .flags(size.flags())
            .update(self.update(size.limits()));
        let nodes::Size::Fixed { per_zone } = size else {
            return vec![scaling];
        };
        let flags = [
            format!("--node-pool={}", self.pool.name),
            format!("--num-nodes={per_zone}"),
        ];
        let resize = self.place.cluster("resize").with(flags);
        let nodes = Setting::new(&kinds::NODES, json!(per_zone), range.min_span).update(resize);
        vec![scaling, nodes]
    }
}

/// A taint as gcloud takes it.
fn written(taint: &PoolTaint) -> String {
    let effect = match taint.effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    };
    format!("{}={}:{effect}", taint.key, taint.value)
}

/// An effect as the API shows it.
fn api_effect(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NO_SCHEDULE",
        TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
        TaintEffect::NoExecute => "NO_EXECUTE",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{cluster, line, made, provisioned};
    use super::*;
    use crate::plan::Field;

    fn pool(written: Value) -> Resource {
        let script = format!("pool-{}", written["name"].as_str().expect("a name"));
        made(&provisioned(cluster(&[written])), &script).clone()
    }

    fn field<'r>(resource: &'r Resource, name: &str) -> &'r Field {
        let mut fields = resource.fields.iter();
        fields
            .find(|field| field.kind.name == name)
            .expect("a field")
    }

    fn flags(resource: &Resource) -> Vec<String> {
        let create = line(&resource.create[0]);
        let flags = create.split(' ').filter(|word| word.starts_with("--"));
        flags.map(str::to_owned).collect()
    }

    #[track_caller]
    fn has(resource: &Resource, wanted: &[&str]) {
        let flags = flags(resource);
        for flag in wanted {
            assert!(flags.iter().any(|it| it == flag), "{flag} in {flags:#?}");
        }
    }

    #[track_caller]
    fn changed_by(resource: &Resource, name: &str, words: &str) {
        let update: Vec<_> = field(resource, name).update.iter().map(line).collect();
        let place = "--cluster=demo --project=acme-ml-prod --location=us-central1-a --quiet";
        let pool = &resource.name;
        let whole = format!("gcloud container node-pools update {pool} {place} {words}");
        assert_eq!(update, [whole]);
    }

    #[test]
    fn the_driver_is_left_to_a_daemon_set_where_gke_does_not_advertise() {
        let pool = pool(json!({
            "name": "train", "machine": "a2-highgpu-2g", "nodes": {"min": 0, "max": 4},
            "taints": [{"key": "team", "value": "a", "effect": "NoExecute"}],
        }));
        has(
            &pool,
            &[
                "--accelerator=type=nvidia-tesla-a100,count=2,gpu-driver-version=disabled",
                "--node-labels=gke-no-default-nvidia-gpu-device-plugin=true,gpuc.dev/pool=train",
                "--node-taints=team=a:NoExecute",
                "--num-nodes=0",
                "--total-min-nodes=0",
                "--total-max-nodes=4",
            ],
        );
        // An update replaces the whole set: it names GKE's own taint too, and the wanted set does not.
        let taint = json!([{"key": "team", "value": "a", "effect": "NO_EXECUTE"}]);
        assert_eq!(field(&pool, "taints").want, taint);
        let both = "--node-taints=team=a:NoExecute,nvidia.com/gpu=present:NoSchedule";
        changed_by(&pool, "taints", both);
    }

    #[test]
    fn gke_shares_by_flags_where_it_advertises() {
        let pool = pool(json!({
            "name": "infer", "machine": "n1-standard-8", "gpu": {"model": "T4", "perNode": 2},
            "nodes": {"count": 2}, "os": {"family": "Ubuntu"},
            "sharing": {"mps": {"replicas": 8}}, "stack": {"devicePlugin": "cloud"},
        }));
        let all = "--accelerator=type=nvidia-tesla-t4,count=2,gpu-driver-version=default,\
                   gpu-sharing-strategy=mps,max-shared-clients-per-gpu=8";
        has(
            &pool,
            &[all, "--image-type=UBUNTU_CONTAINERD", "--num-nodes=2"],
        );
        assert!(!flags(&pool).iter().any(|flag| flag.starts_with("--total-")));
        let settings = json!({"driver": "DEFAULT", "strategy": "MPS", "clients": 8});
        assert_eq!(field(&pool, "GPU driver and sharing").want, settings);
        changed_by(&pool, "GPU driver and sharing", all);
        assert_eq!(field(&pool, "autoscaling").want, Value::Null);
        changed_by(&pool, "autoscaling", "--no-enable-autoscaling");
    }

    #[test]
    fn gke_cuts_slices_by_a_flag_and_gpuc_without() {
        let slices = |stack: Value| {
            pool(json!({
                "name": "slices", "machine": "a2-highgpu-1g", "nodes": {"count": 1}, "stack": stack,
                "sharing": {"mig": {"strategy": "single", "perGpu": [
                    {"layout": [{"profile": "1g.5gb", "count": 7}]},
                ]}},
            }))
        };
        let theirs = slices(json!({"devicePlugin": "cloud", "driverVersion": "latest"}));
        has(
            &theirs,
            &[
                "--accelerator=type=nvidia-tesla-a100,count=1,gpu-driver-version=latest,\
               gpu-partition-size=1g.5gb",
            ],
        );
        let ours = slices(json!({"devicePlugin": "gpuc"}));
        has(
            &ours,
            &["--accelerator=type=nvidia-tesla-a100,count=1,gpu-driver-version=disabled"],
        );
    }

    #[test]
    fn reserved_machines_close_together() {
        let pool = pool(json!({
            "name": "train", "machine": "a3-highgpu-8g", "nodes": {"count": 1}, "maxPods": 64,
            "capacity": {"reservation": {"id": "h100"}}, "network": {"placement": {"group": "near"}},
            "upgrade": {"maxSurge": 0, "maxUnavailable": 1},
        }));
        has(
            &pool,
            &[
                "--reservation-affinity=specific",
                "--reservation=h100",
                "--placement-policy=near",
                "--ephemeral-storage-local-ssd=count=16",
                "--max-pods-per-node=64",
                "--max-surge-upgrade=0",
                "--max-unavailable-upgrade=1",
            ],
        );
        assert_eq!(field(&pool, "reservation").want, json!("h100"));
        assert!(!flags(&pool).contains(&"--spot".to_owned()));
    }

    #[test]
    fn a_fixed_pool_is_spread_evenly_and_resized_per_zone() {
        let pool = pool(json!({
            "name": "cpu", "machine": "n2-standard-8", "nodes": {"count": 4},
            "zones": ["us-central1-b", "us-central1-a"], "capacity": {"spot": {}},
        }));
        has(
            &pool,
            &[
                "--num-nodes=2",
                "--spot",
                "--node-locations=us-central1-a,us-central1-b",
            ],
        );
        let resize = line(&field(&pool, "nodes in each zone").update[0]);
        assert_eq!(
            resize,
            "gcloud container clusters resize demo --project=acme-ml-prod \
             --location=us-central1-a --quiet --node-pool=cpu --num-nodes=2"
        );
        assert_eq!(field(&pool, "GPUs").want, json!([]));
    }

    #[test]
    fn labels_of_others_stay() {
        let mut config = cluster(&[json!({
            "name": "cpu", "machine": "n2-standard-8", "nodes": {"count": 1}, "tags": {"team": "b"},
        })]);
        config["cloud"]["gcp"]["resourceLabels"] = json!({"team": "a", "cost": "1"});
        let made = provisioned(config);
        let pool = super::super::testing::made(&made, "pool-cpu");
        has(pool, &["--labels=cost=1,team=b"]);
        assert_eq!(
            field(pool, "resource labels").want,
            json!({"cost": "1", "team": "b"})
        );
    }

    #[test]
    fn every_field_is_a_row_of_the_table() {
        let pool = pool(json!({"name": "gpu", "machine": "a3-megagpu-8g", "nodes": {"count": 1}}));
        assert!(
            pool.fields
                .iter()
                .all(|field| POOL.fields.contains(field.kind))
        );
    }
}
