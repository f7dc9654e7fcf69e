//! A text that is a document is asked about by its fields and lines, and a name's doing is no one else's.

use std::fs;

use gpuc::compile::Options;
use gpuc::diag::Levels;
use gpuc::resolve::Choices;
use gpuc::why::{At, Index, Path, Question, Trial, answer, find, leaves, try_one};
use rayon::prelude::*;

use crate::support::{Outcome, compile_text, repository};

/// What is changed here: enough to see what is blamed.
const CHANGED: &[&str] = &[
    "cloud.aws.region",
    "kueue.fairSharing",
    "nodePools[1].name",
    "nodePools[1].network.efa",
    "teams[0].weight",
    "teams[0].quota.gpus[0].pool",
    "teams[1].quota.gpus[0].pool",
];

fn trials(outcome: &Outcome) -> Vec<Trial> {
    let choices = |_: &str| Choices::default();
    let options = Options {
        levels: Levels::default(),
        choices: &choices,
    };
    let compilation = &outcome.compilations[0];
    let mut all = leaves(&compilation.loaded.root, &[]).all;
    all.retain(|leaf| CHANGED.contains(&leaf.path.to_string().as_str()));
    assert_eq!(all.len(), CHANGED.len(), "the example has them all");
    let trials = all.par_iter();
    trials
        .flat_map_iter(|leaf| try_one(compilation, leaf, &options))
        .collect()
}

#[test]
fn a_line_within_a_text_leads_to_what_moves_it() {
    let path = repository().join("examples/eks-queues/gpu-cluster.yaml");
    let outcome = compile_text(&fs::read_to_string(path).unwrap());
    let trials = trials(&outcome);
    let index = [Index::new(&outcome.compilations[0]).unwrap()];
    let movers = |file: &str, place: &str| {
        let question = Question::read(&format!("{file}{place}"), &|_| false).unwrap();
        let asked = find(&question, &index, "clusters").unwrap();
        let causes = answer(&index[0], &asked, &trials).causes;
        let causes = causes
            .iter()
            .map(|it| format!("{}: {}", it.leaf.path, it.then));
        causes.collect::<Vec<_>>()
    };
    let line = |file: &str, text: &str| {
        let page = index[0].page(file).unwrap();
        let at = page.text().lines().position(|line| line.trim() == text);
        movers(file, &format!(":{}", at.unwrap() + 1))
    };
    let values = "helm/kueue/values.yaml";
    let config = "#managerConfig.controllerManagerConfigYaml";
    assert_eq!(
        line(values, "fairSharing:"),
        ["kueue.fairSharing: it is not there"]
    );
    let strategies = movers(values, &format!("{config}.fairSharing"));
    let gone = "kueue.fairSharing: `preemptionStrategies[0]` is not there";
    assert_eq!(strategies, [gone]);
    let efa = line(values, "- vpc.amazonaws.com/efa");
    assert_eq!(efa, ["nodePools[1].network.efa: it is not there"]);
    assert!(line(values, "- pod").is_empty());
    assert_eq!(
        movers(values, config),
        [
            "nodePools[1].network.efa: in it `resources.excludeResourcePrefixes[2]` is not there",
            "kueue.fairSharing: in it `fairSharing.preemptionStrategies[0]` is not there",
        ]
    );
    // A quota names the pool. That its script is called by the name is not the quota's doing.
    let region = line("cloud/pool-train.sh", r"--region us-east-1 \");
    assert_eq!(region, [r"cloud.aws.region: it is `--region us-east-2 \`"]);
    let pool = line("cloud/pool-train.sh", r"--nodegroup-name train \");
    assert!(
        pool.iter().any(|it| it.starts_with("nodePools[1].name: ")),
        "{pool:?}"
    );
    assert!(!pool.iter().any(|it| it.contains("quota")), "{pool:?}");
}

/// Whatever a text in a file is, each of its lines is asked about as before where it is no document.
#[test]
fn a_script_in_a_text_has_lines_only() {
    let path = repository().join("examples/eks-queues/gpu-cluster.yaml");
    let outcome = compile_text(&fs::read_to_string(path).unwrap());
    let index = Index::new(&outcome.compilations[0]).unwrap();
    let page = gpuc::why::Page::new("a.yaml", "run: |\n  set -e\n  echo: not found\n  exit\n");
    assert!(page.find(&Path::read("run.echo").unwrap()).is_none());
    let reasons = index.reasons("helm/kueue/values.yaml", &page, &At::Line(3));
    assert!(!reasons.is_empty());
}
