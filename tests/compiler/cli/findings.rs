//! The output of findings: streams and formats.

use serde_json::Value;

use super::{GOOD, Workspace};

fn invalid_cluster() -> String {
    GOOD.replace("model: A30", "model: A31")
        .replace("count: 1", "cuont: 1")
}

fn cluster_with_warning() -> String {
    // A template's image is in no registry.
    gpuc::codes()
        .into_iter()
        .find(|code| code.name == "floating-tags")
        .unwrap()
        .bad
        .to_owned()
}

#[test]
fn check_prints_machine_readable_findings() {
    let place = Workspace::with(&invalid_cluster());
    let ran = place.run(&["check"]).expect_code(2);
    assert_eq!(ran.stderr, "");
    assert!(ran.stdout.starts_with("error[GPUC"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("--> gpu-cluster.yaml:9:"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains('\u{1b}'), "no colour off a terminal");
    assert!(!place.path("clusters").exists());
    let ran = Workspace::with(GOOD).run(&["check"]).expect_code(0);
    assert_eq!(ran.stdout, "");
    assert_eq!(ran.stderr, "1 cluster checked: no problems found\n");
    let ran = Workspace::with(&cluster_with_warning())
        .run(&["check"])
        .expect_code(0);
    assert!(ran.stdout.starts_with("warning[GPUC"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "1 cluster checked: no errors\n");
    Workspace::with(GOOD)
        .run(&["check", "-q"])
        .expect_silent_success();
}

#[test]
fn build_prints_human_readable_findings() {
    let ran = Workspace::with(&invalid_cluster())
        .run(&["build", "-q"])
        .expect_code(2);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("error[GPUC"), "{}", ran.stderr);
    let place = Workspace::with(&cluster_with_warning());
    let ran = place.run(&["build", "-q"]).expect_code(0);
    assert!(
        ran.stdout.is_empty() && ran.stderr.starts_with("warning[GPUC"),
        "{}",
        ran.stderr
    );
}

#[test]
fn warning_can_be_denied_by_name_code_or_all() {
    let place = Workspace::with(&cluster_with_warning());
    place.run(&["check"]).expect_code(0);
    let code = gpuc::codes()
        .into_iter()
        .find(|code| code.name == "floating-tags");
    for word in ["floating-tags", code.unwrap().id, "warnings"] {
        let ran = place.run(&["check", "--deny", word]).expect_code(2);
        assert!(ran.stdout.starts_with("error[GPUC"), "{}", ran.stdout);
    }
    place
        .run(&["check", "--deny", "machine-preview"])
        .expect_code(0);
}

#[test]
fn former_name_of_a_finding_is_accepted() {
    let codes = gpuc::codes();
    let code = codes.iter().find(|it| it.name == "guarantee-violated");
    let bad = code.unwrap().bad;
    let place = Workspace::with(bad);
    let ran = place.run(&["check"]).expect_code(0);
    let title = "[GPUC2132 guarantee-violated]";
    assert!(ran.stdout.starts_with(&format!("warning{title}")));
    let ran = place
        .run(&["check", "--deny", "promise-taken"])
        .expect_code(2);
    assert!(ran.stdout.starts_with(&format!("error{title}")));
    let allowed = bad.replacen("\ncloud:", "\nallow: [promise-taken]\ncloud:", 1);
    Workspace::with(&allowed)
        .run(&["check", "-q"])
        .expect_silent_success();
    let current = place.run(&["explain", "guarantee-violated"]).expect_code(0);
    let former = place.run(&["explain", "promise-taken"]).expect_code(0);
    assert!(current.stdout.contains("\nFormer name: `promise-taken`.\n"));
    assert_eq!(
        (current.stderr.as_str(), &current.stdout),
        ("", &former.stdout)
    );
    let note = "note: `promise-taken` is now named `guarantee-violated`\n";
    assert_eq!(former.stderr, note);
}

#[test]
fn misspelled_former_name_suggests_the_current_name() {
    let misspelled = GOOD.replacen("\ncloud:", "\nallow: [promise-takn]\ncloud:", 1);
    let place = Workspace::with(&misspelled);
    let suggestion = "did you mean `guarantee-violated`?";
    let ran = place.run(&["check"]).expect_code(2);
    assert!(ran.stdout.contains(suggestion), "{}", ran.stdout);
    for args in [
        &["check", "--deny", "promise-takn"][..],
        &["explain", "promise-takn"],
    ] {
        let ran = place.run(args).expect_code(2);
        assert!(ran.stderr.contains(suggestion), "{}", ran.stderr);
    }
}

#[test]
fn color_is_optional() {
    let place = Workspace::with(&invalid_cluster());
    let ran = place.run(&["check", "--color", "always"]).expect_code(2);
    assert!(ran.stdout.contains("\u{1b}["), "{}", ran.stdout);
    let plain = place.run(&["check"]).expect_code(2).stdout;
    for args in [&["check"][..], &["check", "--color", "never"]] {
        let output = place.command(args).env("NO_COLOR", "1").output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), plain);
    }
}

#[test]
fn json_output_is_valid() {
    let place = Workspace::with(&invalid_cluster());
    for command in ["check", "build", "expand"] {
        let ran = place.run(&[command, "--format", "json"]).expect_code(2);
        // Standard output of `expand` is for the file.
        let text = if command == "expand" {
            &ran.stderr
        } else {
            &ran.stdout
        };
        let all: Value = serde_json::from_str(text).unwrap();
        assert_eq!(all["version"], 1);
        let findings = all["findings"].as_array().unwrap();
        assert!(findings.len() > 1);
        for finding in findings {
            for key in [
                "code", "name", "severity", "message", "file", "label", "help",
            ] {
                assert!(finding[key].is_string(), "{key} of {finding}");
            }
            for key in ["line", "column", "endLine", "endColumn"] {
                assert!(
                    finding[key].as_u64().is_some_and(|count| count > 0),
                    "{key} of {finding}"
                );
            }
            assert!(finding["related"].is_array());
            assert_eq!(finding["file"], "gpu-cluster.yaml");
            assert_eq!(finding["severity"], "error");
        }
    }
    let ran = Workspace::with(GOOD)
        .run(&["check", "--format", "json"])
        .expect_code(0);
    let all: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(all, serde_json::json!({"version": 1, "findings": []}));
    assert_eq!(ran.stderr, "");
}

#[test]
fn sarif_output_is_valid() {
    let ran = Workspace::with(&invalid_cluster())
        .run(&["check", "--format", "sarif"])
        .expect_code(2);
    let all: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(all["version"], "2.1.0");
    let run = &all["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        assert!(
            rules.iter().any(|rule| rule["id"] == result["ruleId"]),
            "{result}"
        );
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "gpu-cluster.yaml");
        assert!(place["region"]["startLine"].as_u64().unwrap() > 7);
    }
    assert!(run["results"].as_array().unwrap().len() > 1);
}

#[test]
fn misspelled_key_is_one_finding() {
    for wrong in ["{cuont: 1}", "{mni: 0, max: 2}", "{count: 1, maxx: 2}"] {
        let place = Workspace::with(&GOOD.replace("{count: 1}", wrong));
        let ran = place.run(&["check", "--format", "json"]).expect_code(2);
        let all: Value = serde_json::from_str(&ran.stdout).unwrap();
        let findings = all["findings"].as_array().unwrap();
        let codes: Vec<_> = findings.iter().map(|found| found["name"].clone()).collect();
        assert_eq!(codes, ["unknown-key", "unknown-key"], "{wrong}");
    }
}

#[test]
fn long_value_is_complete_only_in_json() {
    let value = "x".repeat(10_000);
    let place = Workspace::with(&GOOD.replace("model: A30", &format!("model: {value}")));
    for format in ["text", "github", "markdown"] {
        let ran = place.run(&["check", "--format", format]).expect_code(2);
        let bytes = ran.stdout.len();
        assert!(bytes < 1500, "{format} has {bytes} bytes:\n{}", ran.stdout);
        assert!(ran.stdout.contains('…'), "{format}");
    }
    for format in ["json", "sarif"] {
        let ran = place.run(&["check", "--format", format]).expect_code(2);
        assert!(ran.stdout.contains(&value), "{format}");
    }
}

#[test]
fn annotations_and_tables_are_formatted() {
    let place = Workspace::with(&invalid_cluster());
    let ran = place.run(&["check", "--format", "github"]).expect_code(2);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines.len() > 1);
    for line in lines {
        assert!(
            line.starts_with("::error file=gpu-cluster.yaml,line="),
            "{line}"
        );
    }
    let ran = place.run(&["check", "--format", "markdown"]).expect_code(2);
    let rows = ran.stdout.lines().filter(|line| line.starts_with('|'));
    assert!(rows.count() > 3, "{}", ran.stdout);
}

#[test]
fn usage_error_exits_with_2() {
    let place = Workspace::with(GOOD);
    for args in [
        &[][..],
        &["bulid"],
        &["build", "--chek"],
        &["build", "--check", "--force"],
        &["check", "--format", "xml"],
        &["init", "--cloud", "oracle"],
        &["catalog", "gpu-s"],
    ] {
        let ran = place.run(args).expect_code(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{args:?}");
    }
    let ran = place.run(&["--help"]).expect_code(0);
    assert!(ran.stderr.is_empty() && ran.stdout.contains("Usage: gpuc"));
    let ran = place.run(&["--version"]).expect_code(0);
    assert_eq!(ran.stdout, format!("gpuc {}\n", env!("CARGO_PKG_VERSION")));
}
