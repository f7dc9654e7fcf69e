//! Checks whether loads fit together on places with limited capacity.
//!
//! Each thing can be assigned to some of several places, and uses an amount of their capacity. If the things that fit
//! only in certain places need more than the capacity of these places, they do not fit. The sets of places to check
//! follow from the things.

use std::collections::BTreeSet;

/// The maximum number of unions of places to check. No realistic cluster exceeds it.
const MAX_UNIONS: usize = 256;

/// Things that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oversubscription {
    /// The places.
    pub places: BTreeSet<usize>,
    /// The indexes of the things that fit only in these places.
    pub items: Vec<usize>,
    /// The amount that they need.
    pub requested: u64,
    /// The capacity of the places.
    pub capacity: u64,
}

/// The smallest sets of places whose capacity is exceeded. `things` contains the places of each thing and the amount
/// that it needs, `has` returns the capacity of a place, if it is known. A thing without places is ignored.
pub fn find_oversubscriptions(
    things: &[(BTreeSet<usize>, u64)],
    has: impl Fn(usize) -> Option<u64>,
) -> Vec<Oversubscription> {
    let mut found: Vec<Oversubscription> = Vec::new();
    for places in unions(things.iter().map(|(places, _)| places)) {
        if found
            .iter()
            .any(|smaller| smaller.places.is_subset(&places))
        {
            continue;
        }
        let capacity = places.iter().try_fold(0_u64, |total, place| {
            Some(total.saturating_add(has(*place)?))
        });
        let Some(capacity) = capacity else {
            continue;
        };
        let inside: Vec<_> = things
            .iter()
            .enumerate()
            .filter(|(_, (own, count))| *count > 0 && !own.is_empty() && own.is_subset(&places))
            .collect();
        let asked = inside
            .iter()
            .map(|(_, (_, count))| *count)
            .fold(0, u64::saturating_add);
        if asked > capacity {
            found.push(Oversubscription {
                items: inside.into_iter().map(|(index, _)| index).collect(),
                places,
                requested: asked,
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
pub(super) fn nodes_needed(pods: &[(u64, u64)], room: u64) -> u64 {
    let pods = pods.iter().filter(|(count, each)| *count > 0 && *each > 0);
    let pods: Vec<_> = pods.collect();
    if room == 0 || pods.is_empty() {
        return 0;
    }
    let scales = pods.iter().map(|(_, each)| (room / each).clamp(1, 1000));
    let scales: BTreeSet<u64> = scales.chain([1]).collect();
    let needed = scales.into_iter().map(|scale| {
        let (scale, room) = (u128::from(scale), u128::from(room));
        let parts = pods.iter().map(|(count, each)| {
            let (count, each) = (u128::from(*count), u128::from(*each));
            let times = (scale + 1) * each;
            let parts = if times % room == 0 {
                scale * each
            } else {
                times / room * room
            };
            count.saturating_mul(parts)
        });
        let parts = parts.fold(0, u128::saturating_add);
        parts.div_ceil(scale * room)
    });
    u64::try_from(needed.max().unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(places: &[usize]) -> BTreeSet<usize> {
        places.iter().copied().collect()
    }

    #[test]
    fn excesses_over_unions_of_places_are_found() {
        let has = |place: usize| [Some(4), Some(2), None].get(place).copied().flatten();
        let fits = [(set(&[0]), 4), (set(&[1]), 1), (set(&[0, 1]), 1)];
        assert_eq!(find_oversubscriptions(&fits, has), []);
        let over = [(set(&[0]), 4), (set(&[1]), 1), (set(&[0, 1]), 2)];
        let found = find_oversubscriptions(&over, has);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].requested, found[0].capacity), (7, 6));
        assert_eq!(found[0].items, [0, 1, 2]);
        // If one place is exceeded, larger sets are not reported.
        let one = [(set(&[1]), 3), (set(&[0, 1]), 2)];
        let found = find_oversubscriptions(&one, has);
        assert_eq!((found[0].requested, found[0].capacity), (3, 2));
        assert_eq!(found[0].items, [0]);
        // A thing without places is ignored.
        assert_eq!(
            find_oversubscriptions(&[(set(&[]), 9), (set(&[0]), 4)], has),
            []
        );
        // Places of unknown capacity are not reported.
        assert_eq!(
            find_oversubscriptions(&[(set(&[2]), 9), (set(&[0, 2]), 9)], has),
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
