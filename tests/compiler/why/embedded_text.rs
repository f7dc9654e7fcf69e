//! Embedded documents can be queried by field and by line, and each line has its own causes.

use std::fs;

use gpuc_compile::compile::Options;
use gpuc_diff::why::{
    Experiment, Index, Path, Query, QueryTarget, explain, input_leaves, resolve, run_experiments,
};
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::Levels;
use rayon::prelude::*;

use crate::support::{Outcome, compile_text, repository};

/// The fields that the experiments change, which is enough to find the causes.
const TRIED_VALUES: &[&str] = &[
    "cloud.aws.region",
    "kueue.fairSharing",
    "nodePools[1].name",
    "nodePools[1].network.efa",
    "teams[0].weight",
    "teams[0].quota.gpus[0].pool",
    "teams[1].quota.gpus[0].pool",
];

fn experiments(outcome: &Outcome) -> Vec<Experiment> {
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    let compilation = &outcome.compilations[0];
    let mut all = input_leaves(&compilation.loaded.root, &[]).all;
    all.retain(|leaf| TRIED_VALUES.contains(&leaf.path.to_string().as_str()));
    assert_eq!(
        all.len(),
        TRIED_VALUES.len(),
        "the example lacks a field of TRIED_VALUES"
    );
    let experiments = all.par_iter();
    experiments
        .flat_map_iter(|leaf| run_experiments(compilation, leaf, &options))
        .collect()
}

#[test]
fn line_of_embedded_text_leads_to_its_source() {
    let path = repository().join("examples/eks-queues/gpu-cluster.yaml");
    let outcome = compile_text(&fs::read_to_string(path).unwrap());
    let experiments = experiments(&outcome);
    let index = [Index::new(&outcome.compilations[0]).unwrap()];
    let causes = |file: &str, place: &str| {
        let question = Query::parse(&format!("{file}{place}"), &|_| false).unwrap();
        let query = resolve(&question, &index, "clusters").unwrap();
        let causes = explain(&index[0], &query, &experiments).causes;
        let causes = causes
            .iter()
            .map(|it| format!("{}: {}", it.leaf.path, it.effect));
        causes.collect::<Vec<_>>()
    };
    let line = |file: &str, text: &str| {
        let page = index[0].document(file).unwrap();
        let at = page.text().lines().position(|line| line.trim() == text);
        causes(file, &format!(":{}", at.unwrap() + 1))
    };
    let values = "helm/kueue/values.yaml";
    let config = "#managerConfig.controllerManagerConfigYaml";
    assert_eq!(
        line(values, "fairSharing:"),
        ["kueue.fairSharing: it disappears"]
    );
    let strategies = causes(values, &format!("{config}.fairSharing"));
    let preemption = "kueue.fairSharing: `preemptionStrategies[0]` disappears";
    assert_eq!(strategies, [preemption]);
    let efa = line(values, "- vpc.amazonaws.com/efa");
    assert_eq!(efa, ["nodePools[1].network.efa: it disappears"]);
    assert!(line(values, "- pod").is_empty());
    assert_eq!(
        causes(values, config),
        [
            "nodePools[1].network.efa: in it, `resources.excludeResourcePrefixes[2]` disappears",
            "kueue.fairSharing: in it, `fairSharing.preemptionStrategies[0]` disappears",
        ]
    );
    // The quota names the pool. The script has the pool's name in its file name only.
    let region = line("cloud/pool-train.sh", r"--region us-east-1 \");
    assert_eq!(
        region,
        [r"cloud.aws.region: it becomes `--region us-east-2 \`"]
    );
    let pool = line("cloud/pool-train.sh", r"--nodegroup-name train \");
    assert!(
        pool.iter().any(|it| it.starts_with("nodePools[1].name: ")),
        "{pool:?}"
    );
    assert!(!pool.iter().any(|it| it.contains("quota")), "{pool:?}");
}

/// Text that is not a document can be queried only by line.
#[test]
fn embedded_script_has_only_lines() {
    let path = repository().join("examples/eks-queues/gpu-cluster.yaml");
    let outcome = compile_text(&fs::read_to_string(path).unwrap());
    let index = Index::new(&outcome.compilations[0]).unwrap();
    let page = gpuc_diff::why::IndexedDocument::new(
        "a.yaml",
        "run: |\n  set -e\n  echo: not found\n  exit\n",
    );
    assert!(page.find(&Path::parse("run.echo").unwrap()).is_none());
    let reasons = index.reasons("helm/kueue/values.yaml", &page, &QueryTarget::Line(3));
    assert!(!reasons.is_empty());
}
