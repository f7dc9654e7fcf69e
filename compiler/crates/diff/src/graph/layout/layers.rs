//! Arranges steps in layers: steps without dependencies first, then the steps that depend on them, and so on.
//!
//! Steps that differ only in their pool are merged. Transitive dependencies are omitted. A line that passes a layer has
//! its own slot there, so that it crosses no step.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::StepKind;

use crate::graph::view::StepView;

/// Merged steps.
#[derive(Debug)]
pub(super) struct StepGroup {
    pub(super) stem: String,
    pub(super) kind: StepKind,
    /// The steps, by index.
    pub(super) members: Vec<usize>,
    /// The groups that it depends on.
    dependencies: BTreeSet<usize>,
    layer: usize,
}

/// A slot in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    /// A group, by its index.
    Group(usize),
    /// A line from this group to one in a later layer.
    Line(usize),
}

/// The arrangement of groups.
#[derive(Debug, Default)]
pub(super) struct Layers {
    pub(super) groups: Vec<StepGroup>,
    /// The groups without dependencies and dependents.
    pub(super) independent: Vec<usize>,
    /// The layers from first to last, each from top to bottom.
    pub(super) columns: Vec<Vec<Slot>>,
    /// Lines: the layer of their start, the slot there, and the slot in the next layer.
    pub(super) lines: BTreeSet<(usize, Slot, Slot)>,
}

/// Arranges steps in layers.
pub(super) fn arrange_in_layers(steps: &[StepView]) -> Layers {
    let mut groups = group_steps(steps);
    // Each round moves at least one group to its layer, because dependencies have no cycles.
    for _ in 0..groups.len() {
        for index in 0..groups.len() {
            let before = groups[index]
                .dependencies
                .iter()
                .map(|need| groups[*need].layer + 1);
            groups[index].layer = before.max().unwrap_or(0);
        }
    }
    remove_transitive_dependencies(&mut groups);
    let waited_for: BTreeSet<usize> = groups
        .iter()
        .flat_map(|it| it.dependencies.clone())
        .collect();
    let is_loose =
        |index: &usize| groups[*index].dependencies.is_empty() && !waited_for.contains(index);
    let (loose, tied): (Vec<usize>, Vec<usize>) = (0..groups.len()).partition(is_loose);
    let deepest = tied.iter().map(|index| groups[*index].layer + 1).max();
    let mut columns: Vec<Vec<Slot>> = vec![Vec::new(); deepest.unwrap_or(0)];
    for index in tied {
        columns[groups[index].layer].push(Slot::Group(index));
    }
    let mut lines = BTreeSet::new();
    for (index, group) in groups.iter().enumerate() {
        for need in &group.dependencies {
            let mut from = Slot::Group(*need);
            let first = groups[*need].layer + 1;
            let passed = columns.iter_mut().enumerate();
            for (layer, column) in passed.take(group.layer).skip(first) {
                let pass = Slot::Line(*need);
                if !column.contains(&pass) {
                    column.push(pass);
                }
                lines.insert((layer - 1, from, pass));
                from = pass;
            }
            lines.insert((group.layer.saturating_sub(1), from, Slot::Group(index)));
        }
    }
    let mut layers = Layers {
        groups,
        independent: loose,
        columns,
        lines,
    };
    for _ in 0..4 {
        layers.order_columns();
    }
    layers
}

/// Merges steps of one stem with the same dependencies and dependents.
fn group_steps(steps: &[StepView]) -> Vec<StepGroup> {
    type Key<'s> = (&'s str, StepKind, BTreeSet<&'s str>, BTreeSet<&'s str>);
    let mut dependents = vec![BTreeSet::new(); steps.len()];
    for step in steps {
        for (need, _) in &step.dependencies {
            dependents[*need].insert(step.stem.as_str());
        }
    }
    let mut by_key: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    let mut groups: Vec<StepGroup> = Vec::new();
    let mut group_of = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let needs = step.dependencies.iter();
        let needs = needs.map(|(need, _)| steps[*need].stem.as_str()).collect();
        let key = (
            step.stem.as_str(),
            step.kind,
            needs,
            dependents[index].clone(),
        );
        let group = *by_key.entry(key).or_insert(groups.len());
        if group == groups.len() {
            groups.push(StepGroup {
                stem: step.stem.clone(),
                kind: step.kind,
                members: Vec::new(),
                dependencies: BTreeSet::new(),
                layer: 0,
            });
        }
        groups[group].members.push(index);
        group_of.push(group);
    }
    for (index, step) in steps.iter().enumerate() {
        let needs = step.dependencies.iter().map(|(need, _)| group_of[*need]);
        let own = group_of[index];
        let needs: Vec<_> = needs.filter(|need| *need != own).collect();
        groups[own].dependencies.extend(needs);
    }
    groups
}

/// Removes transitive dependencies.
fn remove_transitive_dependencies(groups: &mut [StepGroup]) {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|index| groups[*index].layer);
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); groups.len()];
    for index in order {
        let needs = &groups[index].dependencies;
        let by_way: BTreeSet<_> = needs.iter().flat_map(|it| before[*it].clone()).collect();
        before[index] = needs.union(&by_way).copied().collect();
        groups[index]
            .dependencies
            .retain(|need| !by_way.contains(need));
    }
}

impl Layers {
    /// Orders each layer by the mean position of its neighbours, first from the left, then from the right.
    fn order_columns(&mut self) {
        let last = self.columns.len();
        for layer in (1..last).chain((0..last.saturating_sub(1)).rev()) {
            let places: BTreeMap<(usize, Slot), usize> = (self.columns.iter().enumerate())
                .flat_map(|(layer, column)| {
                    let slots = column.iter().enumerate();
                    slots.map(move |(position, slot)| ((layer, *slot), position))
                })
                .collect();
            let middle = |slot: &Slot| {
                let tied = self.lines.iter().filter_map(|(at, from, to)| {
                    if (*at + 1, to) == (layer, slot) {
                        places.get(&(*at, *from))
                    } else if (*at, from) == (layer, slot) {
                        places.get(&(*at + 1, *to))
                    } else {
                        None
                    }
                });
                let tied: Vec<usize> = tied.copied().collect();
                match tied.len() {
                    0 => usize::MAX,
                    // In thousandths, so that positions compare exactly.
                    number => tied.iter().sum::<usize>() * 1000 / number,
                }
            };
            let mut column = self.columns[layer].clone();
            column.sort_by_key(middle);
            self.columns[layer] = column;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, stem: &str, needs: &[usize]) -> StepView {
        StepView {
            name: name.to_owned(),
            stem: stem.to_owned(),
            kind: StepKind::Release,
            dependencies: needs.iter().map(|it| (*it, String::new())).collect(),
        }
    }

    #[test]
    fn dependents_follow_and_lines_connect_adjacent_layers() {
        let steps = [
            step("a", "a", &[]),
            step("b", "b", &[0]),
            step("c", "c", &[0, 1]),
            step("d", "d", &[0]),
            step("e", "e", &[3, 2]),
        ];
        let layers = arrange_in_layers(&steps);
        let of: Vec<_> = layers.groups.iter().map(|it| it.layer).collect();
        assert_eq!(of, [0, 1, 2, 1, 3]);
        // a → c is omitted because of a → b → c.
        let into_c: Vec<_> = layers
            .lines
            .iter()
            .filter(|it| it.2 == Slot::Group(2))
            .collect();
        assert_eq!(into_c, [&(1, Slot::Group(1), Slot::Group(2))]);
        // d → e passes c's layer.
        assert!(layers.columns[2].contains(&Slot::Line(3)));
        for (layer, from, to) in &layers.lines {
            assert!(
                layers.columns[*layer].contains(from) && layers.columns[layer + 1].contains(to)
            );
        }
    }

    #[test]
    fn steps_of_pools_with_equal_dependencies_are_merged() {
        let steps = [
            step("namespaces", "namespaces", &[]),
            step("exporter-a", "exporter", &[0]),
            step("exporter-b", "exporter", &[0]),
            step("exporter-c", "exporter", &[]),
        ];
        let members: Vec<_> = arrange_in_layers(&steps)
            .groups
            .into_iter()
            .map(|it| it.members)
            .collect();
        assert_eq!(members, [vec![0], vec![1, 2], vec![3]]);
    }

    #[test]
    fn independent_steps_are_in_no_layer() {
        let steps = [
            step("a", "a", &[]),
            step("b", "b", &[]),
            step("c", "c", &[0]),
        ];
        let layers = arrange_in_layers(&steps);
        assert_eq!(layers.independent, [1]);
        assert_eq!(layers.columns, [vec![Slot::Group(0)], vec![Slot::Group(2)]]);
    }
}
