//! The output of findings: streams and formats.

use serde_json::Value;

use super::{GOOD, Workspace};

fn invalid_cluster() -> String {
    GOOD.replace("model: A30", "model: A31")
        .replace("count: 1", "cuont: 1")
}

fn cluster_with_warning() -> String {
    // The image of a starter template is in no registry.
    gpuc::codes()
        .into_iter()
        .find(|code| code.name == "floating-tags")
        .unwrap()
        .bad
        .to_owned()
}

#[test]
fn check_prints_machine_readable_findings() {
    let workspace = Workspace::with(&invalid_cluster());
    let result = workspace.run(&["check"]).expect_code(2);
    assert_eq!(result.stderr, "");
    assert!(result.stdout.starts_with("error[GPUC"), "{}", result.stdout);
    assert!(
        result.stdout.contains("--> gpu-cluster.yaml:9:"),
        "{}",
        result.stdout
    );
    assert!(
        !result.stdout.contains('\u{1b}'),
        "color without a terminal"
    );
    assert!(!workspace.path("clusters").exists());
    let result = Workspace::with(GOOD).run(&["check"]).expect_code(0);
    assert_eq!(result.stdout, "");
    assert_eq!(result.stderr, "1 cluster checked: no problems found\n");
    let result = Workspace::with(&cluster_with_warning())
        .run(&["check"])
        .expect_code(0);
    assert!(
        result.stdout.starts_with("warning[GPUC"),
        "{}",
        result.stdout
    );
    assert_eq!(result.stderr, "1 cluster checked: no errors\n");
    Workspace::with(GOOD)
        .run(&["check", "-q"])
        .expect_silent_success();
}

#[test]
fn invalid_suffix_of_a_quota_has_its_location_and_a_fix() {
    let text = format!("{GOOD}teams:\n  - {{name: research, quota: {{cpu: 1K}}}}\n");
    let workspace = Workspace::with(&text);
    let result = workspace.run(&["check"]).expect_code(2);
    assert!(
        result.stdout.starts_with(
            "error[GPUC2157 team-amount-invalid]: invalid quantity `1K` for CPU cores\n   --> gpu-cluster.yaml:11:35\n"
        ) && result.stdout.contains("help: write `1k`\n"),
        "{}",
        result.stdout
    );
    let result = workspace.run(&["check", "--format", "json"]).expect_code(2);
    let findings: Value = serde_json::from_str(&result.stdout).unwrap();
    let edit = &findings["findings"][0]["fix"][0];
    assert_eq!(edit["text"], "1k", "{}", result.stdout);
}

#[test]
fn only_gpu_models_of_the_cloud_are_suggested() {
    let aws = "{aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}}";
    let azure = "{azure: {subscription: 11111111-2222-3333-4444-555555555555, resourceGroup: ml, location: eastus, \
                 cluster: {existing: {}}}}";
    let gcp = "{gcp: {project: acme-demo, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-demo.iam.gserviceaccount.com, cluster: {existing: {}}}}";
    for (cloud, model, help) in [
        (
            aws,
            "A100",
            "write one of `a100-sxm4-40gb`, `a100-sxm4-80gb`",
        ),
        (
            gcp,
            "A100",
            "write one of `a100-sxm4-40gb`, `a100-sxm4-80gb`",
        ),
        (
            azure,
            "A100",
            "write one of `a100-pcie-80gb`, `a100-sxm4-40gb`, `a100-sxm4-80gb`",
        ),
        (gcp, "V100", "write `v100-sxm2-16gb`"),
        (aws, "A3O", "run `gpuc catalog machines aws`"),
    ] {
        let text = GOOD
            .replace("{onPrem: {context: lab}}", cloud)
            .replace("hosts: [node-1], ", "machine: replaced, ")
            .replace("hosts: [node-2], ", "")
            .replace("model: A30", &format!("model: {model}"));
        let result = Workspace::with(&text).run(&["check"]).expect_code(2);
        let found = result
            .stdout
            .split("error[")
            .find(|part| part.contains("gpu-model-"));
        let found = found.unwrap_or_else(|| panic!("{}", result.stdout));
        assert!(found.contains(&format!("help: {help}")), "{found}");
    }
}

#[test]
fn build_prints_human_readable_findings() {
    let result = Workspace::with(&invalid_cluster())
        .run(&["build", "-q"])
        .expect_code(2);
    assert_eq!(result.stdout, "");
    assert!(result.stderr.starts_with("error[GPUC"), "{}", result.stderr);
    let workspace = Workspace::with(&cluster_with_warning());
    let result = workspace.run(&["build", "-q"]).expect_code(0);
    assert!(
        result.stdout.is_empty() && result.stderr.starts_with("warning[GPUC"),
        "{}",
        result.stderr
    );
}

#[test]
fn warning_can_be_denied_by_name_code_or_all() {
    let workspace = Workspace::with(&cluster_with_warning());
    workspace.run(&["check"]).expect_code(0);
    let code = gpuc::codes()
        .into_iter()
        .find(|code| code.name == "floating-tags");
    for word in ["floating-tags", code.unwrap().id, "warnings"] {
        let result = workspace.run(&["check", "--deny", word]).expect_code(2);
        assert!(result.stdout.starts_with("error[GPUC"), "{}", result.stdout);
    }
    workspace
        .run(&["check", "--deny", "machine-preview"])
        .expect_code(0);
}

#[test]
fn names_that_can_be_new_are_allowed_in_spite_of_deny() {
    let codes = gpuc::codes();
    for name in ["machine-mistyped", "region-unknown"] {
        let bad = codes.iter().find(|it| it.name == name).unwrap().bad;
        let allowed = bad.replacen("\ncloud:", &format!("\nallow: [{name}]\ncloud:"), 1);
        for deny in ["warnings", name] {
            Workspace::with(bad)
                .run(&["check", "--deny", deny])
                .expect_code(2);
            Workspace::with(&allowed)
                .run(&["check", "--deny", deny])
                .expect_code(0);
        }
    }
}

#[test]
fn machines_without_data_are_explained() {
    let bad = gpuc::codes()
        .into_iter()
        .find(|it| it.name == "machine-name-invalid");
    let bad = bad.unwrap().bad;
    for (machine, message, help) in [
        (
            "p3dn",
            "`p3dn` is not an EC2 instance type",
            "add a size: `p3dn.24xlarge`",
        ),
        (
            "p2.xlarge",
            "gpuc has no data about `p2.xlarge`, which has NVIDIA Tesla K80 GPUs",
            "write a machine type that `gpuc catalog machines aws` lists, such as `g",
        ),
        (
            "g9.xlarge",
            "unknown GPU machine type `g9.xlarge`",
            "a newer machine requires a newer gpuc",
        ),
    ] {
        let file = bad.replacen("Standard_NC4as_T4_v3", machine, 1);
        let result = Workspace::with(&file).run(&["check"]).expect_code(2);
        for text in [message, help] {
            assert!(result.stdout.contains(text), "{}", result.stdout);
        }
    }
}

#[test]
fn former_name_of_a_finding_is_accepted() {
    let codes = gpuc::codes();
    let code = codes.iter().find(|it| it.name == "guarantee-violated");
    let bad = code.unwrap().bad;
    let workspace = Workspace::with(bad);
    let result = workspace.run(&["check"]).expect_code(0);
    let title = "[GPUC2132 guarantee-violated]";
    assert!(result.stdout.starts_with(&format!("warning{title}")));
    let result = workspace
        .run(&["check", "--deny", "promise-taken"])
        .expect_code(2);
    assert!(result.stdout.starts_with(&format!("error{title}")));
    let allowed = bad.replacen("\ncloud:", "\nallow: [promise-taken]\ncloud:", 1);
    Workspace::with(&allowed)
        .run(&["check", "-q"])
        .expect_silent_success();
    let current = workspace
        .run(&["explain", "guarantee-violated"])
        .expect_code(0);
    let former = workspace.run(&["explain", "promise-taken"]).expect_code(0);
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
    let workspace = Workspace::with(&misspelled);
    let suggestion = "did you mean `guarantee-violated`?";
    let result = workspace.run(&["check"]).expect_code(2);
    assert!(result.stdout.contains(suggestion), "{}", result.stdout);
    for args in [
        &["check", "--deny", "promise-takn"][..],
        &["explain", "promise-takn"],
    ] {
        let result = workspace.run(args).expect_code(2);
        assert!(result.stderr.contains(suggestion), "{}", result.stderr);
    }
}

#[test]
fn color_is_optional() {
    let workspace = Workspace::with(&invalid_cluster());
    let result = workspace
        .run(&["check", "--color", "always"])
        .expect_code(2);
    assert!(result.stdout.contains("\u{1b}["), "{}", result.stdout);
    let plain = workspace.run(&["check"]).expect_code(2).stdout;
    for args in [&["check"][..], &["check", "--color", "never"]] {
        let output = workspace
            .command(args)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), plain);
    }
}

#[test]
fn json_output_is_valid() {
    let workspace = Workspace::with(&invalid_cluster());
    for command in ["check", "build", "expand"] {
        let result = workspace.run(&[command, "--format", "json"]).expect_code(2);
        // `expand` prints the file to standard output.
        let text = if command == "expand" {
            &result.stderr
        } else {
            &result.stdout
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
    let result = Workspace::with(GOOD)
        .run(&["check", "--format", "json"])
        .expect_code(0);
    let all: Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!(all, serde_json::json!({"version": 1, "findings": []}));
    assert_eq!(result.stderr, "");
}

#[test]
fn sarif_output_is_valid() {
    let result = Workspace::with(&invalid_cluster())
        .run(&["check", "--format", "sarif"])
        .expect_code(2);
    let all: Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!(all["version"], "2.1.0");
    let run = &all["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        assert!(
            rules.iter().any(|rule| rule["id"] == result["ruleId"]),
            "{result}"
        );
        let location = &result["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "gpu-cluster.yaml");
        assert!(location["region"]["startLine"].as_u64().unwrap() > 7);
    }
    assert!(run["results"].as_array().unwrap().len() > 1);
}

#[test]
fn misspelled_key_is_one_finding() {
    for wrong in ["{cuont: 1}", "{mni: 0, max: 2}", "{count: 1, maxx: 2}"] {
        let workspace = Workspace::with(&GOOD.replace("{count: 1}", wrong));
        let result = workspace.run(&["check", "--format", "json"]).expect_code(2);
        let all: Value = serde_json::from_str(&result.stdout).unwrap();
        let findings = all["findings"].as_array().unwrap();
        let codes: Vec<_> = findings.iter().map(|found| found["name"].clone()).collect();
        assert_eq!(codes, ["unknown-key", "unknown-key"], "{wrong}");
    }
}

#[test]
fn long_value_is_complete_only_in_json() {
    let value = "x".repeat(10_000);
    let workspace = Workspace::with(&GOOD.replace("model: A30", &format!("model: {value}")));
    for format in ["text", "github", "markdown"] {
        let result = workspace.run(&["check", "--format", format]).expect_code(2);
        let bytes = result.stdout.len();
        assert!(
            bytes < 1500,
            "{format} has {bytes} bytes:\n{}",
            result.stdout
        );
        assert!(result.stdout.contains('…'), "{format}");
    }
    for format in ["json", "sarif"] {
        let result = workspace.run(&["check", "--format", format]).expect_code(2);
        assert!(result.stdout.contains(&value), "{format}");
    }
}

#[test]
fn annotations_and_tables_are_formatted() {
    let workspace = Workspace::with(&invalid_cluster());
    let result = workspace
        .run(&["check", "--format", "github"])
        .expect_code(2);
    let lines: Vec<_> = result.stdout.lines().collect();
    assert!(lines.len() > 1);
    for line in lines {
        assert!(
            line.starts_with("::error file=gpu-cluster.yaml,line="),
            "{line}"
        );
    }
    let result = workspace
        .run(&["check", "--format", "markdown"])
        .expect_code(2);
    let rows = result.stdout.lines().filter(|line| line.starts_with('|'));
    assert!(rows.count() > 3, "{}", result.stdout);
}

#[test]
fn usage_error_exits_with_2() {
    let workspace = Workspace::with(GOOD);
    for args in [
        &[][..],
        &["bulid"],
        &["build", "--chek"],
        &["build", "--check", "--force"],
        &["check", "--format", "xml"],
        &["init", "--cloud", "oracle"],
        &["catalog", "gpu-s"],
    ] {
        let result = workspace.run(args).expect_code(2);
        assert!(
            result.stdout.is_empty() && !result.stderr.is_empty(),
            "{args:?}"
        );
    }
    let result = workspace.run(&["--help"]).expect_code(0);
    assert!(result.stderr.is_empty() && result.stdout.contains("Usage: gpuc"));
    let result = workspace.run(&["--version"]).expect_code(0);
    assert_eq!(
        result.stdout,
        format!("gpuc {}\n", env!("CARGO_PKG_VERSION"))
    );
}
