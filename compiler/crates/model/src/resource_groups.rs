//! Resource groups of Kueue.
//!
//! A ClusterQueue counts resources in groups. Every flavor of a group counts every resource of the group, in the same
//! order; a flavor and a resource are each in at most one group. Pools that advertise the same resource must share a
//! group, and so must resources of the same pool: the groups are the connected components.
//!
//! Source: <https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#resource-groups>, 2026-11-21, and the rules in
//! kubernetes-sigs/kueue@v0.19.2 `kueue.x-k8s.io_clusterqueues.yaml`.

use std::collections::BTreeSet;

/// Resources and the pools whose flavors have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceGroup {
    /// The resources, by name.
    pub resources: Vec<String>,
    /// The indexes of the pools.
    pub pools: Vec<usize>,
}

/// The groups of the advertised resources of pools, by their first pool.
pub fn resource_groups<'o>(
    advertised: impl IntoIterator<Item = (usize, &'o str)>,
) -> Vec<ResourceGroup> {
    let mut components: Vec<(BTreeSet<usize>, BTreeSet<&str>)> = Vec::new();
    for (pool, resource) in advertised {
        let is_connected = |component: &(BTreeSet<usize>, BTreeSet<&str>)| {
            component.0.contains(&pool) || component.1.contains(resource)
        };
        let (connected, separate) = components.into_iter().partition::<Vec<_>, _>(is_connected);
        components = separate;
        let mut merged = (BTreeSet::from([pool]), BTreeSet::from([resource]));
        for (pools, resources) in connected {
            merged.0.extend(pools);
            merged.1.extend(resources);
        }
        components.push(merged);
    }
    components.sort();
    let group = |(pools, resources): (BTreeSet<usize>, BTreeSet<&str>)| ResourceGroup {
        resources: resources.into_iter().map(str::to_owned).collect(),
        pools: pools.into_iter().collect(),
    };
    components.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups_of(advertised: &[(usize, &str)]) -> Vec<(Vec<String>, Vec<usize>)> {
        let groups = resource_groups(advertised.iter().copied()).into_iter();
        groups.map(|group| (group.resources, group.pools)).collect()
    }

    #[test]
    fn pools_with_the_same_resource_share_a_group() {
        let gpu = "nvidia.com/gpu";
        let found = groups_of(&[(0, gpu), (2, gpu), (1, "nvidia.com/gpu.shared")]);
        let expected = vec![
            (vec![gpu.to_owned()], vec![0, 2]),
            (vec!["nvidia.com/gpu.shared".to_owned()], vec![1]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn indirectly_connected_pools_share_a_group() {
        let found = groups_of(&[(0, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "c")]);
        let expected = vec![
            (vec!["a".to_owned(), "b".to_owned()], vec![0, 1, 2]),
            (vec!["c".to_owned()], vec![3]),
        ];
        assert_eq!(found, expected);
    }
}
