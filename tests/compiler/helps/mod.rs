//! The help of a finding, followed as it says, resolves the finding.
//!
//! The tests read the help as a user does: "write `X`" writes X at the place of the finding, "remove it" removes it,
//! "set `a: b`" sets a key of a mapping there. An alternative that only the user can complete, such as "lower the
//! requests", is not followed.

mod follow;
mod instruction;
mod mutations;

use std::collections::{BTreeMap, BTreeSet};

use gpuc_syntax::diag::{Diagnostic, Severity, TERRAFORM_SEPARATOR, split_example};
use rayon::prelude::*;

use crate::support::{Outcome, compile_text, files_below, repository};
use crate::{manifests, sample};
use follow::follow;
use instruction::{Instruction, instructions};

/// Findings that the user sees after following a help: the help chose a value that requires another setting.
const FOLLOW_UPS: &[(&str, &str)] = &[
    // gpuc-runtime needs an image.
    ("*", "GPUC2025"),
    // Only a pod that requests an existing resource needs its pool's tolerations.
    ("GPUC4001", "GPUC4004"),
    ("GPUC4032", "GPUC4004"),
    ("GPUC4033", "GPUC4004"),
    ("GPUC4035", "GPUC4004"),
    // Pods that fit alone are counted together.
    ("GPUC4004", "GPUC4044"),
    // A quota may have the correct name as well.
    ("GPUC4001", "GPUC0004"),
    // A field with a valid type is compared with Pod Security.
    ("GPUC4035", "GPUC4050"),
    // Gibibytes instead of bytes can be more than a node has.
    ("GPUC4060", "GPUC4008"),
    // A location that is a region has several zones.
    ("GPUC2602", "GPUC2605"),
    // Disks of type io2 need a number of operations.
    ("GPUC2100", "GPUC2102"),
];

/// A cluster file, and a manifest if the finding is in one.
struct Files<'t> {
    /// Whether only problems of the form count as new: unknown keys, wrong types, and so on.
    is_mutated: bool,
    cluster: &'t str,
    manifest: Option<(&'t str, &'t str)>,
    /// The output of `terraform show -json`.
    terraform: Option<&'t str>,
}

impl Files<'_> {
    fn check(&self) -> Outcome {
        let mut outcome = match self.terraform {
            None => compile_text(self.cluster),
            Some(terraform) => {
                compile_text(&format!("{}{TERRAFORM_SEPARATOR}{terraform}", self.cluster))
            }
        };
        let is_built = outcome.compilations.iter().all(|one| one.cluster.is_some());
        if let Some(manifest) = self
            .manifest
            .filter(|_| is_built && !outcome.compilations.is_empty())
        {
            outcome.add_manifests(&[manifest]);
        }
        outcome
    }
}

/// Follows an instruction. Returns an error with the result of each place if it resolves the finding in none.
fn try_to_follow(
    files: &Files<'_>,
    before: &Outcome,
    found: &Diagnostic,
    instruction: &Instruction,
) -> Result<(), String> {
    let mut results = String::new();
    for (source, text) in follow(&before.sources, found, instruction) {
        let changed = match files.manifest {
            Some((path, _)) if source != 0 => Files {
                is_mutated: false,
                cluster: files.cluster,
                manifest: Some((path, &text)),
                terraform: None,
            },
            manifest => Files {
                is_mutated: false,
                cluster: &text,
                manifest,
                terraform: files.terraform,
            },
        };
        let after = changed.check();
        let count = |outcome: &Outcome, id: &str| {
            outcome
                .findings
                .iter()
                .filter(|it| it.code.id == id)
                .count()
        };
        let is_same = |it: &&Diagnostic| it.code.id == found.code.id && it.message == found.message;
        let count_same = |outcome: &Outcome| outcome.findings.iter().filter(is_same).count();
        let is_follow_up = |id: &str| {
            let mut follow_ups = FOLLOW_UPS.iter();
            follow_ups.any(|(code, next)| (*code == "*" || *code == found.code.id) && *next == id)
        };
        // A message may contain a path that the edit changes.
        let is_new = |it: &&Diagnostic| {
            let id = it.code.id;
            let is_more = count(&after, id) + usize::from(id == found.code.id) > count(before, id);
            it.severity == Severity::Error
                && (!files.is_mutated || id < "GPUC1000")
                && is_more
                && !is_follow_up(id)
                && before.findings.iter().all(|old| old.message != it.message)
        };
        let new: Vec<_> = after.findings.iter().filter(is_new).collect();
        let is_resolved = count_same(&after) < count_same(before);
        if is_resolved && (new.is_empty() || are_fixed(&changed, &after, &new)) {
            return Ok(());
        }
        let unresolved = if is_resolved { "" } else { "not resolved " };
        let new: Vec<_> = new
            .iter()
            .map(|it| format!("{} {}", it.code.id, it.message))
            .collect();
        results += &format!("\n      {unresolved}{}", new.join(" | "));
    }
    Err(results)
}

/// Whether the fixes of the new findings resolve them: the value of a corrected key can have another type.
fn are_fixed(files: &Files<'_>, outcome: &Outcome, new: &[&Diagnostic]) -> bool {
    if files.manifest.is_some() {
        return false;
    }
    new.iter().all(|found| {
        let texts = follow(&outcome.sources, found, &Instruction::ApplyFix);
        texts.into_iter().any(|(_, text)| {
            let fixed = Files {
                cluster: &text,
                ..*files
            };
            let mut findings = fixed.check().findings.into_iter();
            findings.all(|it| it.severity != Severity::Error)
        })
    })
}

/// The helps of a case.
struct Helps {
    /// The helps that do not work, each with what happened.
    wrong: Vec<String>,
    /// The codes of findings whose help has no instruction.
    unread: Vec<&'static str>,
}

fn check_helps(files: &Files<'_>) -> Helps {
    let outcome = files.check();
    let (mut wrong, mut unread) = (Vec::new(), Vec::new());
    for found in &outcome.findings {
        let help = found.help.clone().unwrap_or_default();
        let mut instructions = instructions(&help);
        if found.fix.is_some() {
            instructions.push(Instruction::ApplyFix);
        }
        if instructions.is_empty() {
            unread.push(found.code.id);
        }
        for instruction in instructions {
            if let Err(results) = try_to_follow(files, &outcome, found, &instruction) {
                let place = outcome.sources.locate(found.primary.span);
                let line = place.map_or(0, |(_, position)| position.line);
                wrong.push(format!(
                    "{} line {line}: {}\n    help: {help}\n    {instruction:?}{results}",
                    found.code.id, found.message
                ));
            }
        }
    }
    Helps { wrong, unread }
}

/// Codes of examples whose help only the user can complete, such as "lower the requests" or "rename one of the pools".
/// The correction of the example is one way to follow it.
const COMPLETED_BY_USER: &[&str] = &[
    "GPUC0001", "GPUC0002", "GPUC0003", "GPUC0004", "GPUC0005", "GPUC0006", "GPUC0007", "GPUC0102",
    "GPUC0104", "GPUC0105", "GPUC0106", "GPUC0107", "GPUC0201", "GPUC1003", "GPUC1005", "GPUC1006",
    "GPUC1007", "GPUC1015", "GPUC1017", "GPUC1019", "GPUC1020", "GPUC2002", "GPUC2003", "GPUC2004",
    "GPUC2006", "GPUC2008", "GPUC2009", "GPUC2017", "GPUC2018", "GPUC2019", "GPUC2026", "GPUC2027",
    "GPUC2039", "GPUC2040", "GPUC2044", "GPUC2045", "GPUC2047", "GPUC2048", "GPUC2052", "GPUC2060",
    "GPUC2061", "GPUC2073", "GPUC2082", "GPUC2083", "GPUC2085", "GPUC2091", "GPUC2093", "GPUC2094",
    "GPUC2101", "GPUC2102", "GPUC2120", "GPUC2126", "GPUC2127", "GPUC2132", "GPUC2143", "GPUC2144",
    "GPUC2146", "GPUC2147", "GPUC2154", "GPUC2155", "GPUC2156", "GPUC2166", "GPUC2167", "GPUC2174",
    "GPUC2175", "GPUC2176", "GPUC2177", "GPUC2180", "GPUC2181", "GPUC2184", "GPUC2185", "GPUC2187",
    "GPUC2188", "GPUC2192", "GPUC2195", "GPUC2196", "GPUC2200", "GPUC2202", "GPUC2204", "GPUC2212",
    "GPUC2213", "GPUC2214", "GPUC2217", "GPUC2227", "GPUC2230", "GPUC2245", "GPUC2246", "GPUC2247",
    "GPUC2251", "GPUC2501", "GPUC2505", "GPUC2511", "GPUC2517", "GPUC2520", "GPUC2523", "GPUC2524",
    "GPUC2527", "GPUC2528", "GPUC2529", "GPUC2531", "GPUC2532", "GPUC2533", "GPUC2534", "GPUC2536",
    "GPUC2544", "GPUC2547", "GPUC2548", "GPUC2561", "GPUC2570", "GPUC2601", "GPUC2604", "GPUC2605",
    "GPUC2611", "GPUC2612", "GPUC2615", "GPUC2616", "GPUC2620", "GPUC2622", "GPUC2623", "GPUC2629",
    "GPUC2650", "GPUC2654", "GPUC2660", "GPUC2662", "GPUC2666", "GPUC2667", "GPUC2690", "GPUC2692",
    "GPUC2694", "GPUC2695", "GPUC2701", "GPUC2702", "GPUC2706", "GPUC2707", "GPUC2710", "GPUC2714",
    "GPUC2715", "GPUC2717", "GPUC2718", "GPUC2719", "GPUC2720", "GPUC2721", "GPUC2723", "GPUC2725",
    "GPUC2732", "GPUC2734", "GPUC2737", "GPUC2757", "GPUC2759", "GPUC2760", "GPUC2803", "GPUC2808",
    "GPUC2809", "GPUC2823", "GPUC2901", "GPUC2902", "GPUC2903", "GPUC3002", "GPUC3004", "GPUC3005",
    "GPUC3006", "GPUC3010", "GPUC3011", "GPUC4003", "GPUC4008", "GPUC4009", "GPUC4010", "GPUC4011",
    "GPUC4012", "GPUC4016", "GPUC4018", "GPUC4019", "GPUC4020", "GPUC4022", "GPUC4023", "GPUC4028",
    "GPUC4034", "GPUC4038", "GPUC4039", "GPUC4040", "GPUC4043", "GPUC4044", "GPUC4052", "GPUC4055",
    "GPUC4057", "GPUC4061", "GPUC4067", "GPUC4076", "GPUC4080", "GPUC4081", "GPUC4085", "GPUC4086",
    "GPUC4087", "GPUC4088", "GPUC4090", "GPUC4092", "GPUC4094", "GPUC4095", "GPUC4099", "GPUC4100",
    "GPUC4103", "GPUC4105", "GPUC4106", "GPUC4108", "GPUC4112", "GPUC5001", "GPUC5002", "GPUC5003",
    "GPUC5007", "GPUC5008",
];

#[test]
fn helps_of_examples_work() {
    let codes = gpuc::codes();
    let results: Vec<_> = codes
        .par_iter()
        .map(|code| {
            let (bad, terraform) = match code.bad.split_once(TERRAFORM_SEPARATOR) {
                Some((bad, terraform)) => (bad, Some(terraform)),
                None => (code.bad, None),
            };
            let (cluster, manifest) = split_example(bad);
            let manifest = manifest.map(|text| ("manifest.yaml", text));
            check_helps(&Files {
                is_mutated: false,
                cluster,
                manifest,
                terraform,
            })
        })
        .collect();
    expect_none(results.iter().flat_map(|result| result.wrong.clone()));
    let unread = results.iter().flat_map(|result| result.unread.clone());
    let unread: BTreeSet<_> = unread.collect();
    assert_eq!(unread, COMPLETED_BY_USER.iter().copied().collect());
}

#[test]
fn helps_of_mistakes_in_manifests_work() {
    let files = manifests::files("mistakes");
    let results = files.par_iter().map(|(path, text)| {
        let cluster = manifests::cluster_text(path);
        let result = check_helps(&Files {
            is_mutated: false,
            cluster,
            manifest: Some((path, text)),
            terraform: None,
        });
        result
            .wrong
            .into_iter()
            .map(|it| format!("{path}: {it}"))
            .collect::<Vec<_>>()
    });
    expect_none(results.flatten_iter().collect::<Vec<_>>());
}

#[test]
fn sampled_helps_of_single_mistakes_work() {
    expect_none(wrong_helps_of_single_mistakes(192));
}

#[test]
#[ignore = "many cases: minutes; .ci/run runs it"]
fn needs_minutes_helps_of_single_mistakes_work() {
    expect_none(wrong_helps_of_single_mistakes(24));
}

/// The helps that do not work for about one in `n` single mistakes in the clusters that use all settings.
fn wrong_helps_of_single_mistakes(n: u64) -> Vec<String> {
    let folder = repository().join("tests/compiler/rich");
    let mut cases = BTreeMap::new();
    for (file, text) in files_below(&folder) {
        for mutation in mutations::mutations(&text) {
            cases
                .entry(mutation.name)
                .or_insert((file.clone(), mutation.text));
        }
    }
    cases.retain(|name, _| sample::is_one_in(n, name));
    assert!(cases.len() > 20, "only {} cases", cases.len());
    let results = cases.par_iter().map(|(name, (file, text))| {
        let result = check_helps(&Files {
            is_mutated: true,
            cluster: text,
            manifest: None,
            terraform: None,
        });
        result
            .wrong
            .into_iter()
            .map(|it| format!("{file} {name}: {it}"))
            .collect::<Vec<_>>()
    });
    results.flatten_iter().collect()
}

fn expect_none(wrong: impl IntoIterator<Item = String>) {
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(
        wrong.is_empty(),
        "{} helps do not work:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
