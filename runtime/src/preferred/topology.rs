//! Full GPUs: chooses the set with the best links.

use std::cmp::Reverse;

use crate::device::{KubeletDevice, Topology};

/// Up to this number of GPUs, the search is exhaustive: at most 12,870 sets of eight.
const MAX_EXHAUSTIVE_GPUS: usize = 16;

/// Returns the GPUs with the best links to one another and to those already taken, by the sum of the scores of all
/// pairs.
///
/// Ties are resolved by the fewest NUMA nodes, then by the best links among the remaining GPUs, that is, by separating
/// the weakest pairs, and then by order. NVIDIA's plugin takes the set from the best partition of all GPUs into sets of
/// one size. That preserves the rest too, but this container may get a set that is not the best, and there are
/// 2,627,625 partitions of 16 GPUs into fours.
///
/// Beyond [`MAX_EXHAUSTIVE_GPUS`] GPUs, the search is greedy: sets grow from each GPU by the best link.
pub(super) fn choose<'s>(
    topology: &Topology,
    taken: &[&'s KubeletDevice],
    candidates: &[&'s KubeletDevice],
    wanted: usize,
) -> Vec<&'s KubeletDevice> {
    let gpus: Vec<&KubeletDevice> = taken.iter().chain(candidates).copied().collect();
    let scores = Scores::new(topology, &gpus);
    let mut search = Search {
        set: GpuSet::default(),
        best: None,
        first: taken.len(),
        scores: &scores,
    };
    for member in 0..taken.len() {
        search.set.add(&scores, member);
    }
    if gpus.len() <= MAX_EXHAUSTIVE_GPUS {
        search.search_exhaustively(taken.len(), wanted);
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
    fn new(topology: &Topology, gpus: &[&KubeletDevice]) -> Self {
        let score = |one: &KubeletDevice, other: &KubeletDevice| {
            if one.gpu == other.gpu {
                return 0;
            }
            topology.link(one.gpu, other.gpu).score()
        };
        let row = |one: &&KubeletDevice| gpus.iter().map(|other| score(one, other)).collect();
        let pairs: Vec<Vec<u64>> = gpus.iter().map(row).collect();
        let numa = |gpu: &&KubeletDevice| {
            let same = |other: &&KubeletDevice| other.numa == gpu.numa;
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
struct GpuSet {
    /// In insertion order.
    members: Vec<usize>,
    /// The sum of the scores of all pairs in it.
    inner_score: u64,
    /// The sum of its members' rows: twice the scores inside, and those of the pairs that it separates. Of two sets
    /// with the same score inside, the one with the smaller sum separates weaker pairs.
    sums: u64,
    /// The bits of its NUMA nodes.
    numas: u64,
}

impl GpuSet {
    fn add(&mut self, scores: &Scores, member: usize) {
        let row = &scores.pairs[member];
        self.inner_score += self.members.iter().map(|other| row[*other]).sum::<u64>();
        self.sums += scores.sums[member];
        self.numas |= scores.numas[member];
        self.members.push(member);
    }

    fn rank(&self) -> (u64, Reverse<u32>, Reverse<u64>) {
        let numas = self.numas.count_ones();
        (self.inner_score, Reverse(numas), Reverse(self.sums))
    }
}

/// A search for the best set.
struct Search<'s> {
    /// The current set.
    set: GpuSet,
    /// The best so far.
    best: Option<GpuSet>,
    /// The number of GPUs already taken, which come first.
    first: usize,
    scores: &'s Scores,
}

impl Search<'_> {
    /// Tries every set with `wanted` more members, from position `next` on.
    fn search_exhaustively(&mut self, next: usize, wanted: usize) {
        if wanted == 0 {
            self.keep_if_better();
            return;
        }
        let count = self.scores.sums.len();
        for member in next..(count + 1).saturating_sub(wanted) {
            let GpuSet {
                inner_score: inside,
                sums,
                numas,
                ..
            } = self.set;
            self.set.add(self.scores, member);
            self.search_exhaustively(member + 1, wanted - 1);
            self.set.members.pop();
            self.set.inner_score = inside;
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
            self.keep_if_better();
        }
    }

    /// Keeps the current set if it is better than the best so far; the first of equal sets is kept.
    fn keep_if_better(&mut self) {
        let better = |best: &GpuSet| self.set.rank() > best.rank();
        if self.best.as_ref().is_none_or(better) {
            self.best = Some(self.set.clone());
        }
    }
}
