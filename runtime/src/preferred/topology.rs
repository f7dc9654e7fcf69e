//! Full GPUs: chooses the set with the best links.

use std::cmp::Reverse;

use crate::device::{Share, Topology};

/// Up to this number of GPUs, the search is exhaustive: at most 12,870 sets of eight.
const EXACT: usize = 16;

/// Returns the GPUs with the best links to one another and to those already taken, by the sum of the scores of all
/// pairs.
///
/// Ties are resolved by the fewest NUMA nodes, then by the best links among the remaining GPUs, that is, by separating
/// the weakest pairs, and then by order. NVIDIA's plugin takes the set from the best partition of all GPUs into sets of
/// one size. That preserves the rest too, but this container may get a set that is not the best, and there are
/// 2,627,625 partitions of 16 GPUs into fours.
///
/// Beyond [`EXACT`] GPUs, the search is greedy: sets grow from each GPU by the best link.
pub(super) fn choose<'s>(
    topology: &Topology,
    taken: &[&'s Share],
    candidates: &[&'s Share],
    wanted: usize,
) -> Vec<&'s Share> {
    let gpus: Vec<&Share> = taken.iter().chain(candidates).copied().collect();
    let scores = Scores::new(topology, &gpus);
    let mut search = Search {
        set: Set::default(),
        best: None,
        first: taken.len(),
        scores: &scores,
    };
    for member in 0..taken.len() {
        search.set.add(&scores, member);
    }
    if gpus.len() <= EXACT {
        search.all(taken.len(), wanted);
    } else {
        search.search_greedily(wanted);
    }
    let best = search.best.unwrap_or_default();
    let mut members: Vec<usize> = best.members.into_iter().skip(taken.len()).collect();
    members.sort_unstable();
    members.into_iter().map(|member| gpus[member]).collect()
}

/// The scores of all pairs of GPUs, by their position in a list.
struct Scores {
    pairs: Vec<Vec<u64>>,
    /// The sum of each row.
    sums: Vec<u64>,
    /// A bit for each GPU's NUMA node, in order of appearance.
    numas: Vec<u64>,
}

impl Scores {
    fn new(topology: &Topology, gpus: &[&Share]) -> Self {
        let score = |one: &Share, other: &Share| {
            if one.gpu == other.gpu {
                return 0;
            }
            topology.link(one.gpu, other.gpu).score()
        };
        let row = |one: &&Share| gpus.iter().map(|other| score(one, other)).collect();
        let pairs: Vec<Vec<u64>> = gpus.iter().map(row).collect();
        let numa = |gpu: &&Share| {
            let same = |other: &&Share| other.numa == gpu.numa;
            let first = gpus.iter().position(same).unwrap_or_default();
            // Beyond 64 nodes, some share a bit, which only affects a tie-break.
            1 << (first % 64)
        };
        Self {
            sums: pairs.iter().map(|row| row.iter().sum()).collect(),
            pairs,
            numas: gpus.iter().map(numa).collect(),
        }
    }
}

/// A set of GPUs and its rank.
#[derive(Clone, Default)]
struct Set {
    /// In insertion order.
    members: Vec<usize>,
    /// The sum of the scores of all pairs in it.
    inside: u64,
    /// The sum of its members' rows: twice the scores inside, and those of the pairs that it separates. Of two sets
    /// with the same score inside, the one with the smaller sum separates weaker pairs.
    sums: u64,
    /// The bits of its NUMA nodes.
    numas: u64,
}

impl Set {
    fn add(&mut self, scores: &Scores, member: usize) {
        let row = &scores.pairs[member];
        self.inside += self.members.iter().map(|other| row[*other]).sum::<u64>();
        self.sums += scores.sums[member];
        self.numas |= scores.numas[member];
        self.members.push(member);
    }

    fn rank(&self) -> (u64, Reverse<u32>, Reverse<u64>) {
        let numas = self.numas.count_ones();
        (self.inside, Reverse(numas), Reverse(self.sums))
    }
}

/// A search for the best set.
struct Search<'s> {
    /// The current set.
    set: Set,
    /// The best so far.
    best: Option<Set>,
    /// The number of GPUs already taken, which come first.
    first: usize,
    scores: &'s Scores,
}

impl Search<'_> {
    /// Tries every set with `wanted` more members, from position `next` on.
    fn all(&mut self, next: usize, wanted: usize) {
        if wanted == 0 {
            self.compare();
            return;
        }
        let count = self.scores.sums.len();
        for member in next..(count + 1).saturating_sub(wanted) {
            let Set {
                inside,
                sums,
                numas,
                ..
            } = self.set;
            self.set.add(self.scores, member);
            self.all(member + 1, wanted - 1);
            self.set.members.pop();
            self.set.inside = inside;
            self.set.sums = sums;
            self.set.numas = numas;
        }
    }

    /// Grows a set from each GPU by the best link (greedy).
    fn search_greedily(&mut self, wanted: usize) {
        let count = self.scores.sums.len();
        let start = self.set.clone();
        for seed in self.first..count {
            self.set = start.clone();
            let mut open: Vec<usize> = (self.first..count).collect();
            let mut gains = vec![0; count];
            let mut next = Some(seed);
            for _ in 0..wanted {
                let Some(member) = next else { break };
                self.set.add(self.scores, member);
                open.retain(|other| *other != member);
                for (gain, score) in gains.iter_mut().zip(&self.scores.pairs[member]) {
                    *gain += score;
                }
                let rank = |it: &usize| {
                    let nearest = gains[*it];
                    (nearest, Reverse(self.scores.sums[*it]), Reverse(*it))
                };
                next = open.iter().copied().max_by_key(rank);
            }
            self.compare();
        }
    }

    /// Keeps the current set if it is better than the best so far; the first of equal sets is kept.
    fn compare(&mut self) {
        let better = |best: &Set| self.set.rank() > best.rank();
        if self.best.as_ref().is_none_or(better) {
            self.best = Some(self.set.clone());
        }
    }
}
