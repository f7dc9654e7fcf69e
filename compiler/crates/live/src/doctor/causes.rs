//! The causes of findings: which finding explains which others.
//!
//! A finding explains another one if it is in an earlier layer, or in the same layer and no symptom, and if the other
//! one depends on one of its objects. Symptoms also depend on their own objects: a node without allocatable GPUs is
//! explained by the driver on that node. A finding without a cause is a root.

use std::collections::BTreeMap;

use super::finding::{Finding, Layer};
use crate::objects::ObjectRef;

/// A root cause and the findings that it explains.
#[derive(Clone, Debug)]
pub struct Cause {
    /// The root.
    pub finding: Finding,
    /// The findings that it explains, by layer.
    pub consequences: Vec<Finding>,
}

impl Cause {
    /// The pods that wait for the root cause.
    pub fn waiting_pods(&self) -> Vec<&ObjectRef> {
        let explained = self.consequences.iter();
        let subjects = explained.flat_map(|finding| &finding.subjects);
        let mut pods: Vec<_> = subjects.filter(|it| it.kind == "Pod").collect();
        pods.sort();
        pods.dedup();
        pods
    }
}

/// Links findings about single objects to their causes, and merges equal ones.
pub(super) fn link(findings: Vec<Finding>) -> Vec<Cause> {
    let mut by_object: BTreeMap<&ObjectRef, Vec<usize>> = BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        for subject in &finding.subjects {
            by_object.entry(subject).or_default().push(index);
        }
    }
    let parents: Vec<Option<usize>> = (0..findings.len())
        .map(|index| parent(&findings, &by_object, index))
        .collect();
    let roots: Vec<usize> = (0..findings.len())
        .map(|index| {
            let mut root = index;
            // Layers decrease, and symptoms end, along this path, so that it has no cycle.
            while let Some(parent) = parents[root] {
                root = parent;
            }
            root
        })
        .collect();
    merge(findings, &roots)
}

/// The key by which a finding is nearer to the root: symptoms are after other findings of their layer.
fn rank(finding: &Finding) -> (Layer, bool) {
    (finding.layer, finding.is_symptom)
}

fn parent(
    findings: &[Finding],
    by_object: &BTreeMap<&ObjectRef, Vec<usize>>,
    index: usize,
) -> Option<usize> {
    let finding = &findings[index];
    let own: &[ObjectRef] = if finding.is_symptom {
        &finding.subjects
    } else {
        &[]
    };
    let objects = finding.depends_on.iter().chain(own);
    let candidates = objects.filter_map(|object| by_object.get(object));
    candidates
        .flatten()
        .copied()
        .filter(|other| rank(&findings[*other]) < rank(finding))
        .min_by_key(|other| (rank(&findings[*other]), *other))
}

/// What findings with one line have in common.
type GroupKey = (&'static str, String, String);

/// Merges equal findings with equal roots, and roots that are equal themselves.
fn merge(findings: Vec<Finding>, roots: &[usize]) -> Vec<Cause> {
    let key = |finding: &Finding| -> GroupKey {
        (
            finding.code.id,
            finding.message.clone(),
            finding.help.clone(),
        )
    };
    let root_keys: Vec<GroupKey> = roots.iter().map(|root| key(&findings[*root])).collect();
    let mut causes: BTreeMap<GroupKey, (Option<Finding>, BTreeMap<GroupKey, Finding>)> =
        BTreeMap::new();
    for (index, finding) in findings.into_iter().enumerate() {
        let own = key(&finding);
        let (root, consequences) = causes.entry(root_keys[index].clone()).or_default();
        if roots[index] == index {
            match root {
                Some(root) => root.subjects.extend(finding.subjects),
                None => *root = Some(finding),
            }
        } else {
            match consequences.get_mut(&own) {
                Some(same) => same.subjects.extend(finding.subjects),
                None => {
                    consequences.insert(own, finding);
                }
            }
        }
    }
    let mut causes: Vec<Cause> = causes
        .into_values()
        .filter_map(|(root, consequences)| {
            let mut consequences: Vec<_> = consequences.into_values().collect();
            consequences.sort_by_key(rank);
            let finding = root?;
            Some(Cause {
                finding,
                consequences,
            })
        })
        .collect();
    for cause in &mut causes {
        let findings = std::iter::once(&mut cause.finding).chain(&mut cause.consequences);
        for finding in findings {
            finding.subjects.sort();
            finding.subjects.dedup();
        }
    }
    // The most severe first, then those that explain the most.
    causes.sort_by_key(|cause| {
        let severity = std::cmp::Reverse(cause.finding.code.severity);
        let explained = std::cmp::Reverse(cause.consequences.len());
        (severity, explained, rank(&cause.finding))
    });
    causes
}
