//! Conventions of the source code: layers of crates, names, terms, lengths of files and lines.

mod code;
mod crates;
mod terms;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use gpuc_schema::gpu::MODELS;

use crate::support::{files_below, repository};
use code::{SourceText, words};

/// Names and abbreviations of clouds.
const CLOUD_WORDS: &[&str] = &["aws", "eks", "gke", "gcp", "azure", "aks"];

#[test]
fn clouds_do_not_name_other_clouds() {
    let own: &[(&str, &[&str])] = &[
        ("aws", &["aws", "eks"]),
        ("azure", &["azure", "aks"]),
        ("existing", &[]),
        ("gcp", &["gcp", "gke"]),
        ("onprem", &[]),
    ];
    let mut wrong = Vec::new();
    for (path, code) in compiler_sources() {
        let folder = path
            .strip_prefix("clouds/")
            .and_then(|rest| rest.split('/').next());
        let Some((_, own)) = own.iter().find(|(name, _)| Some(*name) == folder) else {
            continue;
        };
        for name in &code.names {
            let others = words(name)
                .into_iter()
                .filter(|word| CLOUD_WORDS.contains(&word.as_str()));
            for other in others.filter(|word| !own.contains(&word.as_str())) {
                wrong.push(format!("{path}: {name} ({other})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn gpu_models_are_named_only_in_tables() {
    let keys: BTreeSet<_> = MODELS
        .iter()
        .map(|model| model.key.to_lowercase())
        .collect();
    let constants: BTreeSet<_> = keys
        .iter()
        .map(|key| key.to_uppercase().replace('-', "_"))
        .collect();
    let mut wrong = Vec::new();
    for (path, code) in compiler_sources() {
        let is_table = path.starts_with("clouds/") && path.contains("machine");
        // The tables of the GPUs that GKE attaches or partitions.
        let gpu_tables = ["attachable_gpus", "partitions", "zones", "accelerator"];
        let mut gpu_tables = gpu_tables.iter().map(|it| format!("gcp/{it}.rs"));
        if is_table || gpu_tables.any(|end| path.ends_with(&end)) {
            continue;
        }
        let names = code.names.iter().filter(|name| constants.contains(*name));
        let texts = code
            .texts
            .iter()
            .filter(|text| keys.contains(&text.to_lowercase()));
        wrong.extend(names.chain(texts).map(|found| format!("{path}: {found}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Code reads the resolved pools instead of the file's pools, except rules about the user's settings.
#[test]
fn only_rules_read_pools_of_the_file() {
    let mut wrong = Vec::new();
    for (path, code) in compiler_sources() {
        let is_rule = path.starts_with("checks/") || path.contains("/rules/");
        if is_rule || path.starts_with("model/") || path.starts_with("syntax/") {
            continue;
        }
        let names = ["node_pools", "pool_in_file"].into_iter();
        let found = names.filter(|name| code.names.contains(*name));
        wrong.extend(found.map(|name| format!("{path}: {name}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_are_declared_as_modules() {
    let mut wrong = Vec::new();
    let crates = fs::read_dir(repository().join("compiler/crates")).unwrap();
    let crates = crates.map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        format!("compiler/crates/{name}/src")
    });
    let others = [
        "compiler/src",
        "schema/src",
        "runtime/src",
        "tests/compiler",
        "tests/golden",
    ];
    for root in crates.chain(others.map(str::to_owned)) {
        let files = files_below(&repository().join(&root));
        let sources = files.keys().filter(|path| is_rust(path));
        for path in sources {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let (folder, name) = match name {
                "main.rs" | "lib.rs" => continue,
                "mod.rs" => folder.rsplit_once('/').unwrap_or(("", folder)),
                name => (folder, name.trim_end_matches(".rs")),
            };
            let above = format!("{folder}.rs");
            let lists = ["mod.rs", "lib.rs", "main.rs"].map(|list| format!("{folder}/{list}"));
            let lists = lists
                .iter()
                .map(|list| list.trim_start_matches('/'))
                .chain([above.as_str()]);
            let mut lists = lists.filter_map(|list| files.get(list));
            let declared = [format!("mod {name};"), format!("mod {name} ")];
            if !lists.any(|list| declared.iter().any(|line| list.contains(line))) {
                wrong.push(format!("{root}/{path}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "no module declares these files: {wrong:#?}"
    );
}

#[test]
fn rules_are_sorted_and_in_their_blocks() {
    let number = |id: &str| id.trim_start_matches("GPUC").parse::<u32>().unwrap();
    let of_manifests = gpuc_manifests::RULES
        .iter()
        .map(|rule| number(rule.code.id));
    let of_manifests: Vec<_> = of_manifests.collect();
    assert!(of_manifests.is_sorted_by(|a, b| a < b), "{of_manifests:?}");
    assert!(of_manifests.iter().all(|id| (4000..4200).contains(id)));
    let mut lists = vec![(2000..2500, gpuc_checks::RULES)];
    for cloud in gpuc_clouds::CLOUDS {
        let block = match cloud.facts().key {
            "aws" => 2500..2600,
            "gcp" => 2600..2700,
            "azure" => 2700..2800,
            "onPrem" | "existing" => 2800..2900,
            other => panic!("cloud {other} has no block of ids"),
        };
        lists.push((block, cloud.rules()));
    }
    for (block, rules) in lists {
        let ids: Vec<_> = rules.iter().map(|rule| number(rule.code.id)).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        assert!(
            ids.iter().all(|id| block.contains(id)),
            "{block:?} has {ids:?}"
        );
    }
}

#[test]
fn modules_begin_with_a_doc_comment() {
    let files = tracked_files(".rs");
    let undocumented = files.iter().filter(|(_, text)| !text.starts_with("//! "));
    let undocumented: Vec<_> = undocumented.map(|(path, _)| path).collect();
    assert!(undocumented.is_empty(), "{undocumented:#?}");
}

/// Files with more than 500 lines before their tests, with the reason.
const LONG_FILES: &[(&str, &str)] = &[
    (
        "compiler/crates/compile/src/emit/script/tests/mod.rs",
        "tests",
    ),
    ("runtime/src/kubelet/api/v1beta1.rs", "generated"),
];

/// Programs and packages of others do not belong into the repository.
#[test]
fn files_are_text() {
    let output = Command::new("git")
        .args(["ls-files", "--eol"])
        .current_dir(repository())
        .output();
    let output = output.unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    let is_text = |line: &&str| !line.starts_with("i/-text") || line.contains("\tfuzz/corpus/");
    let binary = list.lines().filter(|line| !is_text(line));
    let binary: Vec<_> = binary.collect();
    assert!(binary.is_empty(), "{binary:#?}");
}

#[test]
fn files_are_short() {
    let count = |text: &str| {
        text.split("\n#[cfg(test)]\nmod tests")
            .next()
            .unwrap()
            .lines()
            .count()
    };
    let files = tracked_files(".rs");
    let long = files.iter().filter(|(_, text)| count(text) > 500);
    let long: Vec<_> = long.map(|(path, _)| path.as_str()).collect();
    let listed: Vec<_> = LONG_FILES.iter().map(|(path, _)| *path).collect();
    let new: Vec<_> = long.iter().filter(|path| !listed.contains(path)).collect();
    assert!(new.is_empty(), "{new:#?}");
    let short: Vec<_> = listed.iter().filter(|path| !long.contains(path)).collect();
    assert!(short.is_empty(), "no longer long: {short:#?}");
}

#[test]
fn lines_have_at_most_120_characters() {
    let mut wide = Vec::new();
    for (path, text) in tracked_files(".rs") {
        for (index, line) in SourceText::parse(&text).without_texts.lines().enumerate() {
            if line.chars().count() > 120 {
                wide.push(format!("{path}:{}", index + 1));
            }
        }
    }
    for (path, text) in tracked_files(".md") {
        let generated = text.contains("This file is generated.") || path.starts_with("golden/");
        let mut quoted = false;
        let prose = text.lines().enumerate().filter(|(_, line)| {
            let fence = line.trim_start().starts_with("```");
            quoted ^= fence;
            !quoted && !fence && !line.contains('|') && !line.contains("://")
        });
        let long = prose.filter(|(_, line)| !generated && line.chars().count() > 125);
        wide.extend(long.map(|(index, _)| format!("{path}:{}", index + 1)));
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn no_todos_and_no_machine_names() {
    let later = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("FIX", "ME"),
    ];
    let machines = [
        concat!("/wo", "rk/"),
        concat!("/tmp/", "wt"),
        concat!("/ro", "ot/"),
    ];
    let mut wrong = Vec::new();
    for (path, text) in tracked_files("") {
        for (index, line) in text.lines().enumerate() {
            let found = later
                .iter()
                .chain(&machines)
                .filter(|word| line.contains(**word));
            wrong.extend(found.map(|word| format!("{path}:{}: {word}", index + 1)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn examples_are_in_the_table() {
    let table = fs::read_to_string(repository().join("examples/README.md")).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ["));
    let rows: BTreeSet<_> = rows
        .map(|row| row[3..].split(']').next().unwrap().to_owned())
        .collect();
    let folders = fs::read_dir(repository().join("examples")).unwrap();
    let folders = folders
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    let folders: BTreeSet<_> = folders
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(rows, folders);
}

#[test]
fn links_have_targets() {
    let mut broken = Vec::new();
    for (path, text) in tracked_files(".md") {
        if path.starts_with("golden/") {
            continue;
        }
        let folder = repository().join(&path).parent().unwrap().to_owned();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let target = link.split('#').next().unwrap();
            let is_path = !target.is_empty() && !target.contains("://") && !target.contains(' ');
            if is_path && !folder.join(target).exists() {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The compiler's sources without tests. A file of a crate has the key `<crate>/<path below src>`, any other file its
/// path below `compiler/src`.
fn compiler_sources() -> BTreeMap<String, SourceText> {
    let crates = files_below(&repository().join("compiler/crates"))
        .into_iter()
        .map(|(path, text)| (path.replacen("/src/", "/", 1), text));
    let files = files_below(&repository().join("compiler/src"))
        .into_iter()
        .chain(crates);
    let is_test = |path: &str| {
        path.ends_with("tests.rs") || path.ends_with("testing.rs") || path.contains("/tests/")
    };
    files
        .filter(|(path, _)| is_rust(path) && !is_test(path))
        .map(|(path, text)| {
            let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
            (path, SourceText::parse(text))
        })
        .collect()
}

/// Every path of a source file in the documentation for contributors is the path of a file, or its end.
#[test]
fn documentation_names_existing_files() {
    let paths: Vec<_> = tracked_files(".rs")
        .into_iter()
        .map(|(path, _)| format!("/{path}"))
        .collect();
    let mut unknown = Vec::new();
    for page in ["docs/architecture.md", "docs/contributing.md"] {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        for name in text.split('`').skip(1).step_by(2) {
            let is_file = !name.contains(['<', '*', ' ']) && is_rust(name);
            if is_file && !paths.iter().any(|path| path.ends_with(&format!("/{name}"))) {
                unknown.push(format!("{page}: {name}"));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// The files in git whose names end with `end`, with their contents.
fn tracked_files(end: &str) -> Vec<(String, String)> {
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "-z",
    ]);
    let output = git.current_dir(repository()).output().unwrap();
    assert!(output.status.success(), "git ls-files failed");
    let list = String::from_utf8(output.stdout).unwrap();
    let paths = list
        .split('\0')
        .filter(|path| !path.is_empty() && path.ends_with(end));
    paths
        .filter_map(|path| {
            let text = fs::read_to_string(repository().join(path)).ok()?;
            Some((path.to_owned(), text))
        })
        .collect()
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "rs")
}
