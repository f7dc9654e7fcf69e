//! Which resources Kueue counts together.
//!
//! A ClusterQueue counts resources in groups, and every flavor of a group counts every resource of that group, in one
//! order; a flavor and a resource each stand in one group at most. Pools that offer the same resource must share a
//! group, and so must resources of the same pool: the groups are what hangs together.
//!
//! Source: <https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#resource-groups>, 2026-11-21, and the rules in
//! kubernetes-sigs/kueue@v0.19.2 `kueue.x-k8s.io_clusterqueues.yaml`.

use std::collections::BTreeSet;

/// Resources and the flavors that have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The resources, by name.
    pub resources: Vec<String>,
    /// The pools whose flavors have them, by index.
    pub pools: Vec<usize>,
}

/// The groups of what pools offer, by their first pool.
pub fn groups<'o>(offers: impl IntoIterator<Item = (usize, &'o str)>) -> Vec<Group> {
    let mut parts: Vec<(BTreeSet<usize>, BTreeSet<&str>)> = Vec::new();
    for (pool, resource) in offers {
        let touches = |part: &(BTreeSet<usize>, BTreeSet<&str>)| {
            part.0.contains(&pool) || part.1.contains(resource)
        };
        let (touched, apart) = parts.into_iter().partition::<Vec<_>, _>(touches);
        parts = apart;
        let mut whole = (BTreeSet::from([pool]), BTreeSet::from([resource]));
        for (pools, resources) in touched {
            whole.0.extend(pools);
            whole.1.extend(resources);
        }
        parts.push(whole);
    }
    parts.sort();
    let group = |(pools, resources): (BTreeSet<usize>, BTreeSet<&str>)| Group {
        resources: resources.into_iter().map(str::to_owned).collect(),
        pools: pools.into_iter().collect(),
    };
    parts.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(offers: &[(usize, &str)]) -> Vec<(Vec<String>, Vec<usize>)> {
        let groups = groups(offers.iter().copied()).into_iter();
        groups.map(|group| (group.resources, group.pools)).collect()
    }

    #[test]
    fn pools_with_the_same_resource_share_a_group() {
        let gpu = "nvidia.com/gpu";
        let found = of(&[(0, gpu), (2, gpu), (1, "nvidia.com/gpu.shared")]);
        let expected = vec![
            (vec![gpu.to_owned()], vec![0, 2]),
            (vec!["nvidia.com/gpu.shared".to_owned()], vec![1]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_hangs_together_only_through_a_third_is_one_group() {
        let found = of(&[(0, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "c")]);
        let expected = vec![
            (vec!["a".to_owned(), "b".to_owned()], vec![0, 1, 2]),
            (vec!["c".to_owned()], vec![3]),
        ];
        assert_eq!(found, expected);
    }
}
