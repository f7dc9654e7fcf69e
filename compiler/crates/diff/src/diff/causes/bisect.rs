//! Attributes differences to many edits with few trial compilations. Each edit has a number. For each bit, one trial
//! applies all edits with the bit set, and another all edits without it. A difference that appears in only one of the
//! two trials is caused by an edit of that half, so that all bits together identify the edit.
//!
//! A difference caused by two edits appears in both trials of each bit in which their numbers differ. Neighbouring
//! edits are the most likely to act together, and their numbers differ in one bit (Gray code): they are distinguished
//! from all other edits, though not from each other.

use rayon::prelude::*;

/// For each difference, the numbers of the edits that may have caused it. The actual causes are always included, and a
/// single cause is exact. `None` if too many trials are invalid inputs.
pub(super) fn candidate_causes(
    edits: usize,
    differences: usize,
    differ: impl Fn(&dyn Fn(usize) -> bool) -> Option<Vec<bool>> + Sync,
) -> Option<Vec<Vec<usize>>> {
    let bits = usize::BITS - edits.saturating_sub(1).leading_zeros();
    let halves: Vec<(u32, bool)> = (0..bits)
        .flat_map(|bit| [(bit, false), (bit, true)])
        .collect();
    let half = |(bit, with): &(u32, bool)| differ(&|number| has_bit(number, *bit) == *with);
    let tried: Vec<Option<Vec<bool>>> = halves.par_iter().map(half).collect();
    let invalid = tried.iter().filter(|it| it.is_none()).count();
    if invalid > halves.len() / 4 {
        return None;
    }
    let of = |difference: usize| -> Vec<usize> {
        let known = |bit: &u32| {
            let side = |with: bool| {
                let at = halves.iter().position(|half| *half == (*bit, with))?;
                tried[at].as_ref().map(|differ| differ[difference])
            };
            match (side(false), side(true)) {
                (Some(true) | None, Some(false)) => Some((*bit, false)),
                (Some(false), Some(true) | None) => Some((*bit, true)),
                _ => None,
            }
        };
        let known: Vec<(u32, bool)> = (0..bits).filter_map(|bit| known(&bit)).collect();
        let fits = |number: &usize| {
            known
                .iter()
                .all(|(bit, with)| has_bit(*number, *bit) == *with)
        };
        (0..edits).filter(fits).collect()
    };
    Some((0..differences).map(of).collect())
}

/// Whether the number of an edit has a bit.
fn has_bit(edit: usize, bit: u32) -> bool {
    let number = edit ^ (edit >> 1);
    number >> bit & 1 == 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn causes_are_complete_and_single_ones_exact(
            edits in 2..200_usize,
            makers in proptest::collection::vec(proptest::collection::btree_set(0..200_usize, 1..4), 1..20),
        ) {
            let makers: Vec<BTreeSet<usize>> =
                makers.iter().map(|of| of.iter().map(|it| it % edits).collect()).collect();
            let trials = AtomicUsize::new(0);
            let found = candidate_causes(edits, makers.len(), |is_tried| {
                trials.fetch_add(1, Ordering::Relaxed);
                Some(makers.iter().map(|of| of.iter().any(|it| is_tried(*it))).collect())
            });
            for (found, makers) in found.unwrap().iter().zip(&makers) {
                prop_assert!(makers.iter().all(|it| found.contains(it)));
                let first = *makers.first().unwrap();
                let neighbours = makers.iter().eq(&[first, first + 1]);
                if makers.len() == 1 || neighbours {
                    prop_assert!(found.iter().eq(makers.iter()), "{found:?} {makers:?}");
                }
            }
            prop_assert!(trials.into_inner() <= 16);
        }
    }

    #[test]
    fn invalid_trials_yield_no_causes() {
        assert_eq!(candidate_causes(20, 1, |_| None), None);
    }
}
