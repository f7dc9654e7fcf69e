//! Whether things that are there at the same time fit together.
//!
//! Each thing may be put into some of several places, and takes so much of them. That the things which fit nowhere but
//! in certain places take more than these have is certain proof that they do not fit; which places to look at together
//! follows from the things.

use std::collections::BTreeSet;

/// More unions of places are not looked at: it takes a cluster that nobody has to need them.
const MANY: usize = 256;

/// Things that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The places.
    pub places: BTreeSet<usize>,
    /// The things that fit nowhere else, by their index.
    pub things: Vec<usize>,
    /// How much they take.
    pub asked: u64,
    /// How much there is.
    pub has: u64,
}

/// The smallest sets of places that are asked for more than they have. `things` are the places of each and how much it
/// takes, `has` is how much of a place there is, where that is known. What has no place takes nothing.
pub fn excesses(
    things: &[(BTreeSet<usize>, u64)],
    has: impl Fn(usize) -> Option<u64>,
) -> Vec<Excess> {
    let mut found: Vec<Excess> = Vec::new();
    for places in unions(things.iter().map(|(places, _)| places)) {
        if found
            .iter()
            .any(|smaller| smaller.places.is_subset(&places))
        {
            continue;
        }
        let room: Option<Vec<u64>> = places.iter().map(|place| has(*place)).collect();
        let Some(room) = room else {
            continue;
        };
        let room = room.into_iter().fold(0, u64::saturating_add);
        let inside = things.iter().enumerate();
        let inside =
            inside.filter(|(_, (of, count))| *count > 0 && !of.is_empty() && of.is_subset(&places));
        let inside: Vec<_> = inside.collect();
        let asked = inside.iter().map(|(_, (_, count))| *count);
        let asked = asked.fold(0, u64::saturating_add);
        if asked > room {
            found.push(Excess {
                things: inside.into_iter().map(|(index, _)| index).collect(),
                places,
                asked,
                has: room,
            });
        }
    }
    found
}

/// Every union of some of these sets, the smallest first.
fn unions<'s>(sets: impl Iterator<Item = &'s BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    let mut unions: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
    for set in sets.filter(|set| !set.is_empty()) {
        let more: Vec<_> = unions.iter().map(|union| union | set).collect();
        unions.insert(set.clone());
        for union in more {
            if unions.len() < MANY {
                unions.insert(union);
            }
        }
    }
    let mut unions: Vec<_> = unions.into_iter().collect();
    unions.sort_by_key(BTreeSet::len);
    unions
}

/// How many nodes pods need at least, where a node has `room` of something: each of so many pods asks for so much. A
/// pod is on one node, so that two that take more than half of it are not on the same.
///
/// Which part of a node a pod is worth is judged by several scales: by the scale of n a pod that leaves room for no
/// more than n of its size is worth 1/n. Source: Fekete and Schepers, «New classes of fast lower bounds for bin
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
        let worth = pods.iter().map(|(count, each)| {
            let (count, each) = (u128::from(*count), u128::from(*each));
            let times = (scale + 1) * each;
            let parts = if times % room == 0 {
                scale * each
            } else {
                times / room * room
            };
            count.saturating_mul(parts)
        });
        let worth = worth.fold(0, u128::saturating_add);
        worth.div_ceil(scale * room)
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
    fn places_are_looked_at_together_where_things_may_choose() {
        let has = |place: usize| [Some(4), Some(2), None].get(place).copied().flatten();
        let fits = [(set(&[0]), 4), (set(&[1]), 1), (set(&[0, 1]), 1)];
        assert_eq!(excesses(&fits, has), []);
        let over = [(set(&[0]), 4), (set(&[1]), 1), (set(&[0, 1]), 2)];
        let found = excesses(&over, has);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].asked, found[0].has), (7, 6));
        assert_eq!(found[0].things, [0, 1, 2]);
        // Where one place is enough to say it, no others are named.
        let one = [(set(&[1]), 3), (set(&[0, 1]), 2)];
        let found = excesses(&one, has);
        assert_eq!((found[0].asked, found[0].has), (3, 2));
        assert_eq!(found[0].things, [0]);
        // What has no place takes nothing of others'.
        assert_eq!(excesses(&[(set(&[]), 9), (set(&[0]), 4)], has), []);
        // Of what is not known nothing is said.
        assert_eq!(excesses(&[(set(&[2]), 9), (set(&[0, 2]), 9)], has), []);
    }

    #[test]
    fn a_pod_is_on_one_node() {
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
