//! Deterministic samples of large sets of cases. The default tests check a sample; the ignored tests named
//! `needs_minutes_…` check every case.
//!
//! A hash of the case's name selects the sample. The sample is therefore the same on every machine, and a new case does
//! not change the selection of other cases.

use std::collections::BTreeMap;

/// A hash of a name.
fn hash(name: &str) -> u64 {
    // FNV-1a, because the standard library's hashes may change between versions.
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Selects one case of each kind, the one whose name has the smallest hash, and keeps the order.
pub(crate) fn one_of_each<T>(
    cases: Vec<T>,
    name: impl Fn(&T) -> String,
    kind: impl Fn(&T) -> String,
) -> Vec<T> {
    let mut smallest: BTreeMap<String, (u64, usize)> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        let candidate = (hash(&name(case)), index);
        let entry = smallest.entry(kind(case)).or_insert(candidate);
        *entry = candidate.min(*entry);
    }
    let mut chosen: Vec<_> = smallest.into_values().map(|(_, index)| index).collect();
    chosen.sort_unstable();
    let cases = cases.into_iter().enumerate();
    let chosen = cases.filter(|(index, _)| chosen.binary_search(index).is_ok());
    chosen.map(|(_, case)| case).collect()
}

/// Whether a case is in a sample of about one in `n`.
pub(crate) fn is_one_in(n: u64, name: &str) -> bool {
    hash(name).is_multiple_of(n)
}

/// One of the options, which depends on nothing but the name.
pub(crate) fn choose<'o, T>(options: &'o [T], name: &str) -> &'o T {
    let count = u64::try_from(options.len()).unwrap();
    // The low bits of this hash are weak.
    let index = (hash(name) >> 32) % count;
    &options[usize::try_from(index).unwrap()]
}

#[test]
fn samples_contain_every_kind_once() {
    let cases: Vec<_> = (0..100).map(|number| (number % 7, number)).collect();
    let sample = one_of_each(cases, |it| it.1.to_string(), |it| it.0.to_string());
    let mut kinds: Vec<_> = sample.iter().map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, (0..7).collect::<Vec<_>>());
    assert!(sample.is_sorted_by_key(|(_, number)| *number));
    let count = (0..1000).filter(|it| is_one_in(8, &it.to_string())).count();
    assert!((60..250).contains(&count), "{count}");
}
