//! Node pools: what `az aks nodepool` makes, compares and changes.

mod fields;
mod flags;
mod kinds;
mod values;

use serde_json::{Map, Value};

pub(super) use kinds::POOL;

use super::{az, cluster, cluster_name};
use crate::model::{Cluster, Pool};
use crate::node::{Because, Origin};
use crate::plan::{ComesWith, Command, Observe, Resource};

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
        by_hand: vec![settings.deletion()],
        comes_with: settings.comes_with(),
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

    fn origin(&self) -> Origin {
        Origin::made([self.pool.name.span], Because::Written)
    }

    /// The cluster, for the pool that it is born with.
    fn comes_with(&self) -> Option<ComesWith> {
        if self.mode() != "System" {
            return None;
        }
        let cluster = cluster::seen(self.cluster);
        let afterwards = self.upgrade().into_iter();
        let afterwards = afterwards.filter(|(_, kind, count)| !kinds::is_default(kind, *count));
        let afterwards =
            afterwards.map(|(flag, _, count)| self.update().with([flag, &count.to_string()]));
        Some(ComesWith {
            what: format!("{} {}", cluster::CLUSTER.name, self.cluster.name),
            observe: cluster,
            afterwards: afterwards.collect(),
        })
    }

    fn update(&self) -> Command {
        self.command("update").with(["--output", "none"])
    }

    fn create(&self) -> Command {
        let flags = self.flags().into_iter();
        let words = flags.flat_map(|(flag, values)| std::iter::once(flag.to_owned()).chain(values));
        self.command("add").with(["--output", "none"]).with(words)
    }

    /// AKS refuses to delete the last system pool; it goes with its cluster. People delete it when there is another.
    fn delete(&self) -> Vec<Command> {
        match self.mode() {
            "System" => Vec::new(),
            _ => vec![self.deletion()],
        }
    }

    fn deletion(&self) -> Command {
        self.command("delete").with(["--output", "none"])
    }
}

/// `key=value`, a word each.
pub(super) fn pairs(map: &Map<String, Value>) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    map.iter()
        .map(|(key, value)| format!("{key}={}", text(value)))
        .collect()
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
            Word::Observed(jq) | Word::ObservedIfAny(jq) | Word::ObservedWords(jq) => {
                format!("$({jq})")
            }
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
        assert!(words(&field(&pool, "taints").update[0]).ends_with(
            r#"["kubernetes.azure.com/scalesetpriority=spot:NoSchedule"] | join(","))"#
        ));
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
             --tags cost center=a=b; c gpuc-tags=cost center gpuc-taints=sku:NoExecute --max-surge 0 --max-unavailable 1"
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
