//! GKE node pools.

mod fixed;
mod free;
mod kinds;
mod shared;

use super::place::Place;
use super::setting::Setting;
use crate::check::Checked;
use crate::model::Pool;
use crate::node::{Because, Origin};
use crate::plan::{Command, Observe, Resource, ResourceKind};

/// A GKE node pool.
pub(super) static POOL: ResourceKind = ResourceKind {
    name: "GKE node pool",
    fields: kinds::FIELDS,
    definitions: concat!(include_str!("../labels.jq"), include_str!("sets.jq")),
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
        by_hand: Vec::new(),
        comes_with: None,
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
        settings.push(self.interfaces());
        settings.extend(self.max_pods());
        settings.push(self.image());
        settings.push(self.disk());
        settings.extend(self.workload_metadata());
        settings.push(self.resource_labels());
        // Labels remember the taints. They are written last, so that a run that is cut short before finds what it has
        // not removed yet.
        settings.push(self.taints());
        settings.push(self.labels());
        settings.extend(self.upgrade());
        settings.push(self.management());
        settings.extend(self.zones());
        settings.extend(self.size());
        settings
    }

    fn update(&self, flags: impl IntoIterator<Item = String>) -> Command {
        self.place.pool("update", &self.pool.name).with(flags)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
                "--node-labels=gke-no-default-nvidia-gpu-device-plugin=true,gpuc.dev/labels=vovmtr,\
                 gpuc.dev/pool=train,gpuc.dev/taints=gl42sh",
                "--node-taints=team=a:NoExecute",
                "--num-nodes=0",
                "--total-min-nodes=0",
                "--total-max-nodes=4",
            ],
        );
        // An update replaces the whole set: it names GKE's own taint too, and the wanted set does not.
        let own = r#"{"key":"nvidia.com/gpu","value":"present","effect":"NO_SCHEDULE"}"#;
        let taint = json!([{"key": "team", "value": "a", "effect": "NO_EXECUTE"}]);
        assert_eq!(field(&pool, "taints").want, taint);
        assert!(line(&field(&pool, "taints").update[0]).contains(own));
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
        has(pool, &["--labels=cost=1,gpuc-labels=466ujs-kgch42,team=b"]);
        assert_eq!(
            field(pool, "resource labels").want,
            json!({"cost": "1", "team": "b", "gpuc-labels": "466ujs-kgch42"})
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
