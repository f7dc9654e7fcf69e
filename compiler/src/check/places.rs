//! What several rules look at, with the place where each was written.

use gpuc_schema::config::Stack;
use gpuc_schema::{Span, Spanned};

use crate::cloud::machine::Machine;
use crate::model::{Cluster, MachineType, Pool};

/// The machines of the catalog that gpuc would create, each with the place where it was named.
pub(super) fn machines(
    cluster: &Cluster,
) -> impl Iterator<Item = (&Pool, &'static Machine, Span)> {
    let made = cluster.pools.iter().filter(|pool| !pool.is_existing());
    made.filter_map(|pool| match pool.machine.get()? {
        MachineType::Catalog(machine) => {
            let name = pool.written.machine.as_ref();
            let span = name.map_or(pool.name.span, |name| name.span);
            Some((pool, *machine, span))
        }
        _ => None,
    })
}

/// The images that were written, the cluster's and the pools'.
pub(super) fn images(cluster: &Cluster) -> impl Iterator<Item = &Spanned<String>> {
    stacks(cluster).flat_map(|stack| stack.runtime_image.iter().chain(&stack.driver_image))
}

/// What was written in `stack`, for the cluster and for each pool.
pub(super) fn stacks(cluster: &Cluster) -> impl Iterator<Item = &Stack> {
    let pools = cluster.pools.iter().map(|pool| &pool.written.stack);
    std::iter::once(&cluster.written.stack).chain(pools)
}

/// Keeps the first of the findings that would point at the same place: what stands once for many pools is wrong once.
#[derive(Default)]
pub(super) struct Once {
    seen: Vec<Span>,
}

impl Once {
    /// Whether nothing was said about this place yet. A place that nobody wrote is always new.
    pub(super) fn is_new(&mut self, span: Span) -> bool {
        let new = !span.is_written() || !self.seen.contains(&span);
        self.seen.push(span);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_new_once() {
        let span = |start| Span {
            source: 0,
            start,
            end: 9,
        };
        let mut once = Once::default();
        assert!(once.is_new(span(1)) && once.is_new(span(2)));
        assert!(!once.is_new(span(1)));
        assert!(once.is_new(Span::NONE) && once.is_new(Span::NONE));
    }
}
