//! Checks whether items fit together in bins with limited capacity.
//!
//! Each item can be assigned to some of several bins, and uses an amount of their capacity. If the items that fit only
//! in certain bins need more than the capacity of these bins, they do not fit. The sets of bins to check follow from
//! the items.

use std::collections::BTreeSet;

/// The maximum number of unions of bins to check. No realistic cluster exceeds it.
const MAX_UNIONS: usize = 256;

/// Items that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oversubscription {
    /// The bins.
    pub bins: BTreeSet<usize>,
    /// The indexes of the items that fit only in these bins.
    pub items: Vec<usize>,
    /// The amount that they need.
    pub requested: u64,
    /// The capacity of the bins.
    pub capacity: u64,
}

/// The smallest sets of bins whose capacity is exceeded. `items` contains the bins of each item and the amount that it
/// needs, `capacity_of` returns the capacity of a bin, if it is known. An item without bins is ignored.
pub fn find_oversubscriptions(
    items: &[(BTreeSet<usize>, u64)],
    capacity_of: impl Fn(usize) -> Option<u64>,
) -> Vec<Oversubscription> {
    let mut found: Vec<Oversubscription> = Vec::new();
    for bins in unions(items.iter().map(|(bins, _)| bins)) {
        if found.iter().any(|smaller| smaller.bins.is_subset(&bins)) {
            continue;
        }
        let capacity = bins.iter().try_fold(0_u64, |total, bin| {
            Some(total.saturating_add(capacity_of(*bin)?))
        });
        let Some(capacity) = capacity else {
            continue;
        };
        let affected: Vec<_> = items
            .iter()
            .enumerate()
            .filter(|(_, (own, count))| *count > 0 && !own.is_empty() && own.is_subset(&bins))
            .collect();
        let requested = affected
            .iter()
            .map(|(_, (_, count))| *count)
            .fold(0, u64::saturating_add);
        if requested > capacity {
            found.push(Oversubscription {
                items: affected.into_iter().map(|(index, _)| index).collect(),
                bins,
                requested,
                capacity,
            });
        }
    }
    found
}

/// Every union of these sets, the smallest first.
fn unions<'s>(sets: impl Iterator<Item = &'s BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    let mut unions: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
    for set in sets.filter(|set| !set.is_empty()) {
        let larger: Vec<_> = unions.iter().map(|union| union | set).collect();
        unions.insert(set.clone());
        for union in larger {
            if unions.len() < MAX_UNIONS {
                unions.insert(union);
            }
        }
    }
    let mut unions: Vec<_> = unions.into_iter().collect();
    unions.sort_by_key(BTreeSet::len);
    unions
}

/// A lower bound of the number of nodes for pods, if a node has a capacity of `room`. `pods` contains numbers of pods
/// and the request of each. A pod runs on one node, so that two pods that need more than half of a node cannot share
/// it.
///
/// The part of a node that a pod counts as is computed with several scales: with scale n, a pod of which at most n fit
/// on a node counts as 1/n. Source: Fekete and Schepers, «New classes of fast lower bounds for bin
/// packing problems», 2001, the function u^(k) (from memory).
pub(super) fn nodes_needed(pods: &[(u64, u64)], capacity: u64) -> u64 {
    let pods = pods.iter().filter(|(count, each)| *count > 0 && *each > 0);
    let pods: Vec<_> = pods.collect();
    if capacity == 0 || pods.is_empty() {
        return 0;
    }
    let scales = pods
        .iter()
        .map(|(_, each)| (capacity / each).clamp(1, 1000));
    let scales: BTreeSet<u64> = scales.chain([1]).collect();
    let node_counts = scales.into_iter().map(|scale| {
        let (scale, capacity) = (u128::from(scale), u128::from(capacity));
        let parts = pods.iter().map(|(count, each)| {
            let (count, each) = (u128::from(*count), u128::from(*each));
            let times = (scale + 1) * each;
            let parts = if times % capacity == 0 {
                scale * each
            } else {
                times / capacity * capacity
            };
            count.saturating_mul(parts)
        });
        let parts = parts.fold(0, u128::saturating_add);
        parts.div_ceil(scale * capacity)
    });
    u64::try_from(node_counts.max().unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(bins: &[usize]) -> BTreeSet<usize> {
        bins.iter().copied().collect()
    }

    #[test]
    fn oversubscribed_unions_of_bins_are_found() {
        let capacity = |bin: usize| [Some(4), Some(2), None].get(bin).copied().flatten();
        let fits = [(set(&[0]), 4), (set(&[1]), 1), (set(&[0, 1]), 1)];
        assert_eq!(find_oversubscriptions(&fits, capacity), []);
        let over = [(set(&[0]), 4), (set(&[1]), 1), (set(&[0, 1]), 2)];
        let found = find_oversubscriptions(&over, capacity);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].requested, found[0].capacity), (7, 6));
        assert_eq!(found[0].items, [0, 1, 2]);
        // If one place is exceeded, larger sets are not reported.
        let one = [(set(&[1]), 3), (set(&[0, 1]), 2)];
        let found = find_oversubscriptions(&one, capacity);
        assert_eq!((found[0].requested, found[0].capacity), (3, 2));
        assert_eq!(found[0].items, [0]);
        // An item without bins is ignored.
        assert_eq!(
            find_oversubscriptions(&[(set(&[]), 9), (set(&[0]), 4)], capacity),
            []
        );
        // Places of unknown capacity are not reported.
        assert_eq!(
            find_oversubscriptions(&[(set(&[2]), 9), (set(&[0, 2]), 9)], capacity),
            []
        );
    }

    #[test]
    fn pods_are_not_split_across_nodes() {
        assert_eq!(nodes_needed(&[(4, 2)], 8), 1);
        assert_eq!(nodes_needed(&[(5, 2)], 8), 2);
        assert_eq!(nodes_needed(&[(2, 5)], 8), 2);
        assert_eq!(nodes_needed(&[(4, 3)], 8), 2);
        assert_eq!(nodes_needed(&[(5, 3)], 8), 3);
        assert_eq!(nodes_needed(&[(1, 6), (1, 3), (1, 7)], 8), 3);
        assert_eq!(nodes_needed(&[(1, 8), (1, 1)], 8), 2);
        assert_eq!(nodes_needed(&[(3, 0)], 8), 0);
        assert_eq!(nodes_needed(&[(3, 1)], 0), 0);
        assert_eq!(nodes_needed(&[(u64::MAX, u64::MAX)], u64::MAX), u64::MAX);
    }
}
