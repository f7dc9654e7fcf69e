//! Node pools, created and updated with `az aks nodepool`.

mod fields;
mod flags;
mod kinds;
mod values;

use gpuc_model::plan::{Command, CreatedWith, Observation, Resource};
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Map, Value};

pub(super) use kinds::POOL;

use super::{az_command, cluster, cluster_name, state};

/// A node pool.
pub(super) fn resource(cluster: &Cluster, pool: &Pool) -> Resource {
    let settings = PoolSettings::new(cluster, pool);
    Resource {
        kind: &POOL,
        name: pool.name.value.clone(),
        script: format!("pool-{}", pool.name),
        description: format!("Creates and updates AKS node pool {}.", pool.name),
        observation: Observation {
            command: settings
                .command("show")
                .with_arguments(["--output", "json"]),
            absent_pattern: "\\(((Parent)?Resource(Group)?)?NotFound\\)",
        },
        create: vec![settings.add_command()],
        contents: None,
        manual_delete: vec![settings.delete_command()],
        remnant: None,
        recovery: state::recovery(
            settings
                .command("start")
                .with_arguments(["--output", "none"]),
        ),
        created_with: settings.comes_with(),
        fields: settings.fields(),
        delete: settings.delete_commands(),
        origin: settings.origin(),
    }
}

/// Flags with which `az aks create` creates the first pool of the cluster. They are the flags of a pool, some under
/// other names, without those that only a later pool accepts.
pub(super) fn first_pool_flags(cluster: &Cluster, pool: &Pool) -> Vec<String> {
    let mut words = vec!["--nodepool-name".to_owned(), pool.name.value.clone()];
    for (flag, values) in PoolSettings::new(cluster, pool).flags() {
        let flag = match flag {
            "--labels" => "--nodepool-labels",
            "--node-taints" => "--nodepool-taints",
            "--tags" => "--nodepool-tags",
            // The first pool always consists of regular Linux machines in system mode; a later update sets the rest.
            "--mode" | "--priority" | "--os-type" | "--max-surge" | "--max-unavailable" => continue,
            flag => flag,
        };
        words.push(flag.to_owned());
        words.extend(values);
    }
    words
}

/// Settings of a pool as AKS expects them.
struct PoolSettings<'c> {
    cluster: &'c Cluster,
    pool: &'c Pool,
}

impl<'c> PoolSettings<'c> {
    fn new(cluster: &'c Cluster, pool: &'c Pool) -> Self {
        Self { cluster, pool }
    }

    /// An `az aks nodepool` command for this pool.
    fn command(&self, verb: &str) -> Command {
        az_command(&self.cluster.config, &["aks", "nodepool", verb]).with_arguments([
            "--cluster-name",
            cluster_name(self.cluster),
            "--name",
            &self.pool.name,
        ])
    }

    fn origin(&self) -> Origin {
        Origin::derived([self.pool.name.span], DerivationReason::Written)
    }

    /// The cluster, for the pool that AKS creates with it.
    fn comes_with(&self) -> Option<CreatedWith> {
        if self.mode() != "System" {
            return None;
        }
        let cluster = cluster::observe_cluster(self.cluster);
        let upgrade = self.upgrade().filter(|upgrade| !upgrade.is_default());
        let updates = upgrade.map(|upgrade| self.upgrade_command(&upgrade));
        Some(CreatedWith {
            title: format!("{} {}", cluster::CLUSTER.name, self.cluster.name),
            observation: cluster,
            follow_up: updates.into_iter().collect(),
        })
    }

    fn update_command(&self) -> Command {
        self.command("update").with_arguments(["--output", "none"])
    }

    fn upgrade_command(&self, upgrade: &values::Upgrade) -> Command {
        let flags = upgrade.flags().into_iter();
        self.update_command()
            .with_arguments(flags.flat_map(|(flag, value)| [flag.to_owned(), value]))
    }

    fn add_command(&self) -> Command {
        let flags = self.flags().into_iter();
        let words = flags.flat_map(|(flag, values)| std::iter::once(flag.to_owned()).chain(values));
        self.command("add")
            .with_arguments(["--output", "none"])
            .with_arguments(words)
    }

    /// AKS refuses to delete the last system pool; deleting the cluster deletes it. Users can delete it if there is
    /// another system pool.
    fn delete_commands(&self) -> Vec<Command> {
        match self.mode() {
            "System" => Vec::new(),
            _ => vec![self.delete_command()],
        }
    }

    fn delete_command(&self) -> Command {
        self.command("delete").with_arguments(["--output", "none"])
    }
}

/// Entries as `key=value`, one word each.
pub(super) fn key_value_pairs(map: &Map<String, Value>) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    map.iter()
        .map(|(key, value)| format!("{key}={}", text(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::azure::testing::{cluster, provision, with_pools};
    use gpuc_model::plan::{Argument, Change, Command, Field, Resource};
    use gpuc_syntax::diag::Report;

    fn pool(yaml: &str) -> Resource {
        let resources = provision(&with_pools(yaml)).resources;
        resources.into_iter().last().expect("the file has pools")
    }

    fn command_line(command: &Command) -> String {
        let word = |word: &Argument| match word {
            Argument::Text(text) => text.clone(),
            Argument::Observed(jq)
            | Argument::ObservedOptional(jq)
            | Argument::ObservedList(jq) => {
                format!("$({jq})")
            }
            Argument::CloudFile(file) => file.clone(),
            Argument::UpdateId => unreachable!("az waits for its updates"),
        };
        let words: Vec<_> = command.0.iter().map(word).collect();
        words.join(" ").replace(
            "--subscription 00000000-1111-2222-3333-444444444444 --resource-group demo",
            "-",
        )
    }

    fn field<'r>(pool: &'r Resource, name: &str) -> &'r Field {
        let found = pool.fields.iter().find(|field| field.kind.name == name);
        found.unwrap_or_else(|| panic!("no field {name}"))
    }

    fn desired(pool: &Resource, name: &str) -> Value {
        field(pool, name).desired.clone()
    }

    #[test]
    fn spot_pool_scales_from_zero() {
        let pool = pool(
            "- {name: infer, machine: Standard_NC4as_T4_v3, nodes: {min: 0, max: 8}, capacity: {spot: {}}}",
        );
        assert_eq!(
            command_line(&pool.create[0]),
            "az aks nodepool add - --cluster-name demo --name infer --output none --mode User \
             --node-vm-size Standard_NC4as_T4_v3 --os-type Linux --os-sku Ubuntu --node-count 0 \
             --enable-cluster-autoscaler --min-count 0 --max-count 8 --node-osdisk-size 100 \
             --gpu-driver Install --priority Spot --eviction-policy Delete --spot-max-price -1 \
             --labels gpuc.dev/pool=infer"
        );
        assert_eq!(desired(&pool, "taints"), json!([]));
        assert_eq!(desired(&pool, "maximum spot price"), json!(-1));
        // The update of the taints includes the taint that AKS itself sets.
        assert!(command_line(&field(&pool, "taints").update[0]).ends_with(
            r#"["kubernetes.azure.com/scalesetpriority=spot:NoSchedule"] | join(","))"#
        ));
        assert!(pool.fields.iter().all(|field| field.kind.name != "nodes"));
    }

    #[test]
    fn taint_that_aks_sets_is_not_set_twice() {
        let pool = pool(
            "- {name: infer, machine: Standard_NC4as_T4_v3, nodes: {min: 0, max: 8}, capacity: {spot: {}}, taints: \
             [{key: kubernetes.azure.com/scalesetpriority, value: spot, effect: NoSchedule}]}",
        );
        assert_eq!(desired(&pool, "taints"), json!([]));
        assert!(!command_line(&pool.create[0]).contains("--node-taints"));
    }

    #[test]
    fn fixed_pool_with_all_settings() {
        let pool = pool(
            r#"- {name: train, machine: Standard_ND96isr_H100_v5, nodes: {count: 2}, zones: ["2", "1"],
                  maxPods: 60, diskGiB: 500, dedicatedTo: research,
                  taints: [{key: sku, value: gpu, effect: NoExecute}],
                  tags: {cost center: "a=b; c"}, upgrade: {maxUnavailable: 1}}"#,
        );
        assert_eq!(
            command_line(&pool.create[0]),
            "az aks nodepool add - --cluster-name demo --name train --output none --mode User \
             --node-vm-size Standard_ND96isr_H100_v5 --os-type Linux --os-sku Ubuntu --node-count 2 \
             --node-osdisk-size 500 --max-pods 60 --gpu-driver Install --zones 1 2 \
             --labels gpuc.dev/dedicated-to=research gpuc.dev/pool=train \
             --node-taints gpuc.dev/dedicated-to=research:NoSchedule,sku=gpu:NoExecute \
             --tags cost center=a=b; c gpuc-tags=cost center gpuc-taints=sku:NoExecute --max-surge 0 --max-unavailable 1"
        );
        let create = &pool.create[0].0;
        assert!(create.contains(&Argument::Text("cost center=a=b; c".to_owned())));
        assert_eq!(desired(&pool, "zones"), json!(["1", "2"]));
        assert_eq!(desired(&pool, "autoscaling"), json!({"enabled": false}));
        assert_eq!(
            command_line(&field(&pool, "nodes").update[0]),
            "az aks nodepool scale - --cluster-name demo --name train --output none --node-count 2"
        );
    }

    #[test]
    fn mig_is_managed_by_aks_or_the_operator() {
        let mig_pool = |stack: &str| {
            let pool = format!(
                "- {{name: slices, machine: Standard_NC24ads_A100_v4, nodes: {{count: 1}}, stack: {stack}, \
                 sharing: {{mig: {{strategy: mixed, perGpu: [{{layout: [{{profile: 2g.20gb, count: 3}}]}}]}}}}}}"
            );
            let cluster = cluster(&with_pools(&pool), &mut Report::default());
            super::resource(&cluster, &cluster.pools[1])
        };
        let aks = mig_pool("{}");
        assert_eq!(desired(&aks, "GPU instance profile"), json!("MIG2g"));
        assert_eq!(desired(&aks, "GPU driver"), json!("Install"));
        let operator = mig_pool("{devicePlugin: operator}");
        assert_eq!(desired(&operator, "GPU instance profile"), Value::Null);
        assert_eq!(desired(&operator, "GPU driver"), json!("None"));
    }

    #[test]
    fn pool_without_upgrade_settings_returns_to_the_defaults() {
        let upgrade = |settings: &str| {
            let pool = pool(&format!(
                "- {{name: train, machine: Standard_ND96isr_H100_v5, nodes: {{count: 2}}{settings}}}"
            ));
            let flag = |word: &Argument| *word == Argument::Text("--max-surge".to_owned());
            let update = command_line(&field(&pool, "upgrade settings").update[0]);
            let (_, flags) = update.split_once("none ").expect("the command has flags");
            (pool.create[0].0.iter().any(flag), flags.to_owned())
        };
        let flags =
            |surge, unavailable| format!("--max-surge {surge} --max-unavailable {unavailable}");
        assert_eq!(upgrade(""), (false, flags("10%", "0")));
        let cases = [
            ("{maxSurge: 2}", "2", "0"),
            ("{maxUnavailable: 3}", "0", "3"),
            ("{maxSurge: 0, maxUnavailable: 1}", "0", "1"),
            ("{maxSurge: 1, maxUnavailable: 0}", "1", "0"),
        ];
        for (settings, surge, unavailable) in cases {
            let found = upgrade(&format!(", upgrade: {settings}"));
            assert_eq!(found, (true, flags(surge, unavailable)), "{settings}");
        }
        let zero = upgrade(", upgrade: {maxUnavailable: 0}");
        assert_eq!(zero, (false, flags("10%", "0")));
    }

    #[test]
    fn spot_pool_has_no_upgrade_settings() {
        let pool = pool(
            "- {name: infer, machine: Standard_NC4as_T4_v3, nodes: {min: 0, max: 8}, capacity: {spot: {}}}",
        );
        let mut names = pool.fields.iter().map(|field| field.kind.name);
        assert!(names.all(|name| name != "upgrade settings"));
    }

    #[test]
    fn immutable_fields_have_no_command() {
        let pool = pool(
            "- {name: train, machine: Standard_ND96isr_H100_v5, nodes: {count: 2}, upgrade: {maxSurge: 1}}",
        );
        for field in &pool.fields {
            let replaces = matches!(field.kind.change, Change::Replacement { .. });
            assert_eq!(replaces, field.update.is_empty(), "{}", field.kind.name);
        }
    }
}
