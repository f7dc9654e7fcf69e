//! GKE node pools.

mod disruptive;
mod kinds;
mod labels_and_taints;
mod nondisruptive;

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Command, Mark, Observation, Resource, ResourceKind};
use gpuc_syntax::node::{DerivationReason, Origin};

use super::location::Target;
use super::setting::Setting;
use super::{state, system_config};

/// A GKE node pool.
pub(super) static POOL: ResourceKind = ResourceKind {
    name: "GKE node pool",
    protection: None,
    fields: kinds::FIELDS,
    definitions: concat!(include_str!("../labels.jq"), include_str!("sets.jq")),
    state: Some(&state::POOL),
    mark: Some(&Mark {
        name: "label gpuc.dev/pool with this name",
        read: r#".config.labels["gpuc.dev/pool"] == $name"#,
    }),
};

/// The resource for a pool.
pub(super) fn resource(cluster: Checked<'_>, pool: &Pool, target: Target<'_>) -> Resource {
    let lowering = PoolLowering {
        cluster,
        pool,
        target,
    };
    let settings = lowering.settings();
    let flags = settings.iter().flat_map(|setting| setting.flags.clone());
    let mut create = target
        .pool_command("create", &pool.name)
        .with_arguments(flags);
    if let Some(file) = system_config::file_path(pool) {
        create = system_config::with_flag(create, file);
    }
    Resource {
        kind: &POOL,
        name: pool.name.value.clone(),
        script: format!("pool-{}", pool.name),
        description: format!(
            "Creates and updates node pool {} of GKE cluster {}.",
            pool.name, target.cluster
        ),
        observation: Observation {
            command: target
                .pool_command("describe", &pool.name)
                .with_arguments(["--format=json"]),
            absent_pattern: "code=404, message=Not found: ",
        },
        create: vec![create],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: state::recovery(&target.pool_command("delete", &pool.name)),
        created_with: None,
        fields: settings.into_iter().map(|setting| setting.field).collect(),
        delete: vec![target.pool_command("delete", &pool.name)],
        origin: Origin::derived([pool.name.span], DerivationReason::Written),
    }
}

struct PoolLowering<'c> {
    cluster: Checked<'c>,
    pool: &'c Pool,
    target: Target<'c>,
}

impl PoolLowering<'_> {
    /// All fields: immutable ones first, then those that drain nodes, then those that affect no node.
    fn settings(&self) -> Vec<Setting> {
        let mut settings = vec![self.machine()];
        settings.extend(self.gpus());
        settings.extend(self.local_ssds());
        settings.push(self.spot());
        settings.extend(self.flex_start());
        settings.push(self.reservation());
        settings.push(self.placement());
        settings.push(self.interfaces());
        settings.extend(self.network_profile());
        settings.extend(self.huge_pages());
        settings.extend(self.max_pods());
        settings.extend(self.service_account());
        settings.push(self.image());
        settings.push(self.disk());
        settings.extend(self.workload_metadata());
        settings.push(self.resource_labels());
        // The labels include the ownership records of the taints. They are written last, so that after an interrupted
        // run the next run still finds the entries that it must remove.
        settings.push(self.taints());
        settings.push(self.labels());
        settings.push(self.upgrade());
        settings.push(self.management());
        settings.extend(self.zones());
        settings.extend(self.node_count_settings());
        settings
    }

    fn update(&self, flags: impl IntoIterator<Item = String>) -> Command {
        self.target
            .pool_command("update", &self.pool.name)
            .with_arguments(flags)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{cluster, command_line, provision_config, resource_of};
    use super::*;
    use gpuc_model::plan::Field;

    fn pool(written: Value) -> Resource {
        let script = format!("pool-{}", written["name"].as_str().expect("a name"));
        resource_of(&provision_config(cluster(&[written])), &script).clone()
    }

    fn field<'r>(resource: &'r Resource, name: &str) -> &'r Field {
        let mut fields = resource.fields.iter();
        fields
            .find(|field| field.kind.name == name)
            .expect("a field")
    }

    fn flags(resource: &Resource) -> Vec<String> {
        let create = command_line(&resource.create[0]);
        let flags = create.split(' ').filter(|word| word.starts_with("--"));
        flags.map(str::to_owned).collect()
    }

    #[track_caller]
    fn assert_flags(resource: &Resource, wanted: &[&str]) {
        let flags = flags(resource);
        for flag in wanted {
            assert!(
                flags.iter().any(|other| other == flag),
                "{flag} in {flags:#?}"
            );
        }
    }

    #[track_caller]
    fn assert_update(resource: &Resource, name: &str, words: &str) {
        let update: Vec<_> = field(resource, name)
            .update
            .iter()
            .map(command_line)
            .collect();
        let flags = "--cluster=demo --project=acme-ml-prod --location=us-central1-a --quiet";
        let pool = &resource.name;
        let expected = format!("gcloud container node-pools update {pool} {flags} {words}");
        assert_eq!(update, [expected]);
    }

    #[test]
    fn daemon_set_installs_the_driver_without_gkes_plugin() {
        let pool = pool(json!({
            "name": "train", "machine": "a2-highgpu-2g", "nodes": {"min": 0, "max": 4},
            "taints": [{"key": "team", "value": "a", "effect": "NoExecute"}],
        }));
        assert_flags(
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
        // An update replaces the whole set: it includes GKE's own taint, which the desired set does not.
        let own = r#"{"key":"nvidia.com/gpu","value":"present","effect":"NO_SCHEDULE"}"#;
        let taint = json!([{"key": "team", "value": "a", "effect": "NO_EXECUTE"}]);
        assert_eq!(field(&pool, "taints").desired, taint);
        assert!(command_line(&field(&pool, "taints").update[0]).contains(own));
    }

    #[test]
    fn gkes_plugin_shares_gpus_by_flags() {
        let pool = pool(json!({
            "name": "infer", "machine": "n1-standard-8", "gpu": {"model": "T4", "perNode": 2},
            "nodes": {"count": 2}, "os": {"family": "Ubuntu"},
            "sharing": {"mps": {"replicas": 8}}, "stack": {"devicePlugin": "cloud"},
        }));
        let all = "--accelerator=type=nvidia-tesla-t4,count=2,gpu-driver-version=default,\
                   gpu-sharing-strategy=mps,max-shared-clients-per-gpu=8";
        assert_flags(
            &pool,
            &[all, "--image-type=UBUNTU_CONTAINERD", "--num-nodes=2"],
        );
        assert!(!flags(&pool).iter().any(|flag| flag.starts_with("--total-")));
        let settings = json!({"driver": "DEFAULT", "strategy": "MPS", "clients": 8});
        assert_eq!(field(&pool, "GPU driver and sharing").desired, settings);
        assert_update(&pool, "GPU driver and sharing", all);
        assert_eq!(field(&pool, "autoscaling").desired, Value::Null);
        assert_update(&pool, "autoscaling", "--no-enable-autoscaling");
    }

    #[test]
    fn gkes_plugin_partitions_gpus_by_a_flag() {
        let mig_pool = |stack: Value| {
            pool(json!({
                "name": "slices", "machine": "a2-highgpu-1g", "nodes": {"count": 1}, "stack": stack,
                "sharing": {"mig": {"strategy": "single", "perGpu": [
                    {"layout": [{"profile": "1g.5gb", "count": 7}]},
                ]}},
            }))
        };
        let gke = mig_pool(json!({"devicePlugin": "cloud", "driverVersion": "latest"}));
        assert_flags(
            &gke,
            &[
                "--accelerator=type=nvidia-tesla-a100,count=1,gpu-driver-version=latest,\
               gpu-partition-size=1g.5gb",
            ],
        );
        let gpuc = mig_pool(json!({"devicePlugin": "gpuc"}));
        assert_flags(
            &gpuc,
            &["--accelerator=type=nvidia-tesla-a100,count=1,gpu-driver-version=disabled"],
        );
    }

    #[test]
    fn reserved_machines_with_placement_policy() {
        let pool = pool(json!({
            "name": "train", "machine": "a3-highgpu-8g", "nodes": {"count": 1}, "maxPods": 64,
            "capacity": {"reservation": {"id": "h100"}}, "network": {"placement": {"group": "near"}},
            "upgrade": {"maxSurge": 0, "maxUnavailable": 1},
        }));
        assert_flags(
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
        assert_eq!(field(&pool, "reservation").desired, json!("h100"));
        assert!(!flags(&pool).contains(&"--spot".to_owned()));
    }

    #[test]
    fn upgrade_strategy_has_every_setting() {
        let cpu = |upgrade: Value| {
            pool(json!({
                "name": "cpu", "machine": "n2-standard-8", "nodes": {"count": 4}, "upgrade": upgrade,
            }))
        };
        let name = "upgrade settings";
        let blue_green = cpu(json!({"blueGreen": {}}));
        let flags = "--enable-blue-green-upgrade --node-pool-soak-duration=3600s \
                     --standard-rollout-policy=batch-node-count=1,batch-soak-duration=0s";
        assert_flags(&blue_green, &flags.split(' ').collect::<Vec<_>>());
        assert_update(&blue_green, name, flags);
        let settings = json!({"soakMinutes": 60, "batchNodes": 1, "batchSoakMinutes": 0});
        assert_eq!(
            field(&blue_green, name).desired,
            json!({"blueGreen": settings})
        );

        let percent = json!({"soakMinutes": 10080, "batchPercent": 29, "batchSoakMinutes": 5});
        let blue_green = cpu(json!({"blueGreen": percent}));
        assert_update(
            &blue_green,
            name,
            "--enable-blue-green-upgrade --node-pool-soak-duration=604800s \
             --standard-rollout-policy=batch-percent=0.29,batch-soak-duration=300s",
        );
        assert_eq!(
            field(&blue_green, name).desired,
            json!({"blueGreen": percent})
        );
    }

    #[test]
    fn pool_without_upgrade_settings_returns_to_surge_upgrades() {
        let pool = pool(json!({
            "name": "cpu", "machine": "n2-standard-8", "nodes": {"count": 4},
        }));
        assert_flags(
            &pool,
            &["--max-surge-upgrade=1", "--max-unavailable-upgrade=0"],
        );
        assert_update(
            &pool,
            "upgrade settings",
            "--enable-surge-upgrade --max-surge-upgrade=1 --max-unavailable-upgrade=0",
        );
    }

    #[test]
    fn fixed_pool_is_sized_per_zone() {
        let pool = pool(json!({
            "name": "cpu", "machine": "n2-standard-8", "nodes": {"count": 4},
            "zones": ["us-central1-b", "us-central1-a"], "capacity": {"spot": {}},
        }));
        assert_flags(
            &pool,
            &[
                "--num-nodes=2",
                "--spot",
                "--node-locations=us-central1-a,us-central1-b",
            ],
        );
        let resize = command_line(&field(&pool, "nodes per zone").update[0]);
        assert_eq!(
            resize,
            "gcloud container clusters resize demo --project=acme-ml-prod \
             --location=us-central1-a --quiet --node-pool=cpu --num-nodes=2"
        );
        assert_eq!(field(&pool, "GPUs").desired, json!([]));
    }

    #[test]
    fn resource_labels_of_cluster_and_pool_are_merged() {
        let mut config = cluster(&[json!({
            "name": "cpu", "machine": "n2-standard-8", "nodes": {"count": 1}, "tags": {"team": "b"},
        })]);
        config["cloud"]["gcp"]["resourceLabels"] = json!({"team": "a", "cost": "1"});
        let provisioning = provision_config(config);
        let pool = resource_of(&provisioning, "pool-cpu");
        assert_flags(pool, &["--labels=cost=1,gpuc-labels=466ujs-kgch42,team=b"]);
        assert_eq!(
            field(pool, "resource labels").desired,
            json!({"cost": "1", "team": "b", "gpuc-labels": "466ujs-kgch42"})
        );
    }

    #[test]
    fn every_field_is_in_the_table() {
        let pool = pool(json!({"name": "gpu", "machine": "a3-megagpu-8g", "nodes": {"count": 1}}));
        assert!(
            pool.fields
                .iter()
                .all(|field| POOL.fields.contains(field.kind))
        );
    }
}
