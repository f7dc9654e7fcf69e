//! Large inputs are tested in groups. The result is the same as for a test of every value.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpuc_compile::compile::{Compilation, Options};
use gpuc_diff::why::{
    Index, Query, ResolvedQuery, explain, find_suspects, input_leaves, resolve, run_experiments,
};
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::Levels;
use rayon::prelude::*;

use crate::support::compile_text;

/// A cluster with this number of pools, of several kinds.
fn mixed_cluster(pools: usize) -> String {
    let mut text = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: many}\n\
                    kubernetes: {version: \"1.36\"}\n\
                    cloud: {gcp: {project: acme-ml, location: us-central1-a, cluster: {existing: {name: a}}}}\n\
                    stack: {runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}\nnodePools:\n"
        .to_owned();
    for pool in 0..pools {
        let rest = match pool % 3 {
            0 => "",
            1 => ", diskGiB: 200, sharing: {timeSlicing: {replicas: 4}}",
            _ => ", labels: {purpose: tests}",
        };
        let max_nodes = 2 + pool % 7;
        writeln!(
            text,
            "  - {{name: p{pool}, machine: g2-standard-8, nodes: {{min: 0, max: {max_nodes}}}{rest}}}"
        )
        .unwrap();
    }
    text
}

fn options() -> Options<'static> {
    Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &|_| Choices::default(),
    }
}

/// The causes of a value, and the number of compilations in groups.
fn find_causes(
    compilation: &Compilation,
    index: &Index<'_>,
    query: &ResolvedQuery,
    in_groups: bool,
) -> (Vec<String>, usize) {
    let all = input_leaves(index.input(), &[]);
    let count = AtomicUsize::new(0);
    let tick = || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let tried = if in_groups {
        let (tried, unknown) = find_suspects(compilation, all, query, &options(), &tick);
        assert_eq!(unknown, 0, "{}", query.file);
        tried
    } else {
        all.all
    };
    let trials: Vec<_> = tried
        .par_iter()
        .flat_map_iter(|leaf| run_experiments(compilation, leaf, &options()))
        .collect();
    let causes = explain(index, query, &trials).causes;
    let causes = causes
        .iter()
        .map(|it| format!("{} {}", it.leaf.path, it.effect));
    (causes.collect(), count.into_inner())
}

#[test]
fn group_testing_finds_all_values() {
    let outcome = compile_text(&mixed_cluster(20));
    let compilation = &outcome.compilations[0];
    let index = [Index::new(compilation).unwrap()];
    for question in [
        "cloud/pool-p3.sh:45",
        "manifests/gpuc-runtime/gpuc-system/configmap-gpuc-runtime-p4.yaml#data",
        "DaemonSet/gpuc-runtime-p4#spec.template.spec.containers[0].image",
    ] {
        let query = resolve(
            &Query::parse(question, &|_| false).unwrap(),
            &index,
            "clusters",
        )
        .unwrap();
        let (each, _) = find_causes(compilation, &index[0], &query, false);
        let (groups, count) = find_causes(compilation, &index[0], &query, true);
        assert!(!each.is_empty(), "{question} has no cause");
        assert_eq!(each, groups, "{question}");
        assert!(count > 0, "{question} was not tested in groups");
    }
}

/// Every experiment compiles the whole document, so that their number determines the duration of a query.
#[test]
fn ninety_pools_need_few_compilations() {
    let outcome = compile_text(&mixed_cluster(90));
    let compilation = &outcome.compilations[0];
    let index = [Index::new(compilation).unwrap()];
    let question = "DaemonSet/gpuc-runtime-p4#spec.template.spec.containers[0].image";
    let question = Query::parse(question, &|_| false).unwrap();
    let query = resolve(&question, &index, "clusters").unwrap();
    let (causes, count) = find_causes(compilation, &index[0], &query, true);
    assert!(count < 100, "{count}");
    assert!(
        causes
            .iter()
            .any(|it| it.starts_with("stack.runtimeImage ")),
        "{causes:?}"
    );
    assert!(
        causes.iter().any(|it| it.starts_with("nodePools[4]")),
        "{causes:?}"
    );
}
