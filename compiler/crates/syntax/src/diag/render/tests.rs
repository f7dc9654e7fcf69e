//! Findings, rendered.

use serde_json::{Value, json};

use super::location::normalize_path;
use super::*;
use crate::decode::codes::{UNKNOWN_KEY, WRONG_TYPE};
use crate::diag::{Diagnostic, Report, Severity};
use crate::source::{Sources, Span};

/// Two files with two findings, given in the wrong order.
fn findings() -> (Sources, Vec<Diagnostic>) {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let main = sources.add(
        "a/gpu, cluster.yaml",
        "kind: GpuCluster\nnodePools:\n  - nam: \u{1b}[31mü\tx\n    nodes: four\n",
    );
    let base = sources.add("base.yaml", "stack: {}\n");
    let at = |source: u32, text: &str| {
        let file = sources.get(source).expect("a file");
        let start = crate::source::to_offset(file.text().find(text).expect("the text"));
        Span {
            source,
            start,
            end: start + crate::source::to_offset(text.len()),
        }
    };
    let (nam, four, stack) = (at(main, "nam"), at(main, "four"), at(base, "stack"));
    report
        .diagnostic(
            &WRONG_TYPE,
            four,
            "`nodePools[0].nodes` needs 100% of a number",
        )
        .primary_label("expected a number")
        .label(nam, "in this pool")
        .label(stack, "because of this")
        .emit();
    report
        .diagnostic(&UNKNOWN_KEY, nam, "`nodePools[0]` has no key `nam`")
        .primary_label("unknown key")
        .help("did you mean `name`?\nor a|b, <c>")
        .replace(nam, "name")
        .emit();
    report
        .diagnostic(&WRONG_TYPE, Span::NONE, "about nothing that was written")
        .emit();
    report.diagnostics_mut()[2].severity = Severity::Warning;
    let found = report.diagnostics().to_vec();
    (sources, found)
}

fn check(format: Format, expected: &str) {
    let (sources, found) = findings();
    assert_eq!(
        render(format, &sources, &found, Options::default()),
        expected
    );
}

#[test]
fn text_reads_like_rustc() {
    check(
        Format::Text,
        "\
error[GPUC0103 unknown-key]: `nodePools[0]` has no key `nam`
  --> a/gpu, cluster.yaml:3:5
 2 | nodePools:
 3 |   - nam: ␛[31mü x
   :     ^|^
   :      `-- unknown key
 4 |     nodes: four
help: did you mean `name`?
      or a|b, <c>

error[GPUC0101 wrong-type]: `nodePools[0].nodes` needs 100% of a number
  --> a/gpu, cluster.yaml:4:12
 2 | nodePools:
 3 |   - nam: ␛[31mü x
   :     ^|^
   :      `-- in this pool
 4 |     nodes: four
   :            ^^|^
   :              `-- expected a number
  --> base.yaml:1:1
 1 | stack: {}
   : ^^|^^
   :   `-- because of this

warning[GPUC0101 wrong-type]: about nothing that was written

2 errors, 1 warning
",
    );
    assert_eq!(
        render(Format::Text, &Sources::default(), &[], Options::default()),
        ""
    );
}

#[test]
fn color_does_not_change_text() {
    let (sources, found) = findings();
    let options = Options {
        color: true,
        ..Options::default()
    };
    let colored = render(Format::Text, &sources, &found, options);
    let mut plain = String::new();
    for (number, part) in colored.split('\u{1b}').enumerate() {
        let (_, text) = part.split_once('m').unwrap_or(("", part));
        plain.push_str(if number == 0 { part } else { text });
    }
    assert_eq!(
        plain,
        render(Format::Text, &sources, &found, Options::default())
    );
    assert!(colored.starts_with("\u{1b}[1;31merror"));
}

#[test]
fn long_lines_are_shortened_around_their_labels() {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let text = format!("{}here{}\n", "a".repeat(1_000_000), "b".repeat(1_000_000));
    let source = sources.add("long.yaml", &text);
    let span = Span {
        source,
        start: 1_000_000,
        end: 1_000_004,
    };
    report
        .diagnostic(&WRONG_TYPE, span, "m")
        .primary_label("this")
        .emit();
    let options = Options {
        width: 18,
        ..Options::default()
    };
    assert_eq!(
        render(Format::Text, &sources, report.diagnostics(), options),
        "\
error[GPUC0101 wrong-type]: m
  --> long.yaml:1:1000001
 1 | …aaaaaahereaaaaaaaa…
   :        ^^|^
   :          `-- this

1 error
"
        .replace("hereaaaaaaaa", "herebbbbbbbb")
    );
}

#[test]
fn primary_label_is_visible_on_a_long_line() {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let text = format!("note{}here{}\n", "a".repeat(100), "b".repeat(100));
    let source = sources.add("long.yaml", &text);
    let span = |start, end| Span { source, start, end };
    report
        .diagnostic(&WRONG_TYPE, span(104, 108), "m")
        .primary_label("this")
        .label(span(0, 4), "that")
        .emit();
    let options = Options {
        width: 18,
        ..Options::default()
    };
    assert_eq!(
        render(Format::Text, &sources, report.diagnostics(), options),
        "\
error[GPUC0101 wrong-type]: m
  --> long.yaml:1:105
 1 | …aaaaaahereaaaaaaaa…
   : |      ^^|^
   : |        `-- this
   : `-- that

1 error
"
        .replace("hereaaaaaaaa", "herebbbbbbbb")
    );
}

#[test]
fn any_span_can_be_drawn() {
    let text = "a: \"ü\u{202e}\r\n\tb\"\n\n漢: x";
    let mut sources = Sources::default();
    let source = sources.add("a.yaml", text);
    let length = crate::source::to_offset(sources.get(source).expect("a file").text().len());
    for start in 0..=length + 1 {
        for end in [start, start + 1, length, length + 9] {
            let span = Span { source, start, end };
            let mut report = Report::default();
            report
                .diagnostic(&WRONG_TYPE, span, "m")
                .primary_label("x")
                .label(span.empty_at_start(), "y")
                .emit();
            let drawn = render(
                Format::Text,
                &sources,
                report.diagnostics(),
                Options::default(),
            );
            assert!(
                drawn.contains("--> a.yaml:") && !drawn.contains('\u{202e}'),
                "{drawn}"
            );
        }
    }
}

#[test]
fn json_has_the_documented_keys() {
    let (sources, found) = findings();
    let json = render(Format::Json, &sources, &found, Options::default());
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["version"], 1);
    assert_eq!(
        json["findings"][0],
        json!({
            "code": "GPUC0103", "name": "unknown-key", "severity": "error",
            "message": "`nodePools[0]` has no key `nam`",
            "file": "a/gpu, cluster.yaml", "line": 3, "column": 5, "endLine": 3, "endColumn": 8,
            "label": "unknown key", "help": "did you mean `name`?\nor a|b, <c>", "related": [],
            "fix": [{
                "file": "a/gpu, cluster.yaml", "line": 3, "column": 5, "endLine": 3, "endColumn": 8,
                "text": "name",
            }],
            "applicability": "unsafe",
        })
    );
    assert_eq!(
        json["findings"][1]["related"][1],
        json!({
            "file": "base.yaml", "line": 1, "column": 1, "endLine": 1, "endColumn": 6,
            "message": "because of this",
        })
    );
    assert_eq!(json["findings"][2]["file"], Value::Null);
    assert_eq!(json["findings"][2]["help"], Value::Null);
}

#[test]
fn sarif_has_rules_locations_and_fixes() {
    let (sources, found) = findings();
    let sarif = render(Format::Sarif, &sources, &found, Options::default());
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    let run = &sarif["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for result in run["results"].as_array().expect("results") {
        let index = result["ruleIndex"].as_u64().expect("an index");
        let rule = usize::try_from(index)
            .ok()
            .and_then(|index| rules.get(index))
            .expect("a rule");
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(result["partialFingerprints"]["gpuc/v1"].is_string());
    }
    let location = &run["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(
        location["artifactLocation"]["uri"],
        "a/gpu%2C%20cluster.yaml"
    );
    assert_eq!(
        location["region"],
        json!({"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 8})
    );
    assert_eq!(run["results"][2]["level"], "warning");
    // Code scanning rejects a document with a result without a location, so such results are at the start of the file.
    let head = &run["results"][2]["locations"][0]["physicalLocation"];
    assert_eq!(head["artifactLocation"], location["artifactLocation"]);
    assert_eq!(
        head["region"],
        json!({"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1})
    );
}

#[test]
fn sarif_meets_code_scanning_requirements() {
    let (sources, found) = findings();
    let sarif = render(Format::Sarif, &sources, &found, Options::default());
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    let run = &sarif["runs"][0];
    for rule in run["tool"]["driver"]["rules"].as_array().expect("rules") {
        for text in ["shortDescription", "fullDescription", "help"] {
            let text = rule[text]["text"].as_str().expect("a text");
            assert!(!text.is_empty() && !text.starts_with('#'), "{text}");
        }
        let full = rule["fullDescription"]["text"].as_str().expect("a text");
        assert!(
            full.chars().count() <= 1024 && !full.contains('\n'),
            "{full}"
        );
        let page = rule["help"]["markdown"].as_str().expect("a page");
        let fences = page.matches("```").count();
        assert!(
            page.contains("### Fixed example\n\n```yaml\n") && fences == 4,
            "{page}"
        );
        assert_eq!(rule["properties"]["tags"], json!(["reading"]));
    }
    // A related place is shown where the message links to it.
    let second = &run["results"][1];
    let text = second["message"]["text"].as_str().expect("a text");
    assert!(
        text.ends_with(
            "\nin this pool: [a/gpu, cluster.yaml:3](1)\nbecause of this: [base.yaml:1](2)"
        ),
        "{text}"
    );
    let related = second["relatedLocations"].as_array().expect("places");
    let ids: Vec<_> = related
        .iter()
        .map(|location| location["id"].clone())
        .collect();
    assert_eq!(ids, [json!(1), json!(2)]);
    let name = &second["partialFingerprints"]["primaryLocationLineHash"];
    assert!(name.as_str().is_some_and(|name| name.ends_with(":1")));
    assert!(
        run["invocations"][0]
            .get("toolExecutionNotifications")
            .is_none()
    );
}

#[test]
fn sarif_results_are_limited() {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let source = sources.add("a.yaml", "x\n");
    let span = Span {
        source,
        start: 0,
        end: 1,
    };
    for _ in 0..25_003 {
        report.diagnostic(&WRONG_TYPE, span, "m").emit();
    }
    // No diagnostic is dropped.
    assert_eq!(report.diagnostics().len(), 25_003);
    for found in &mut report.diagnostics_mut()[..10] {
        found.severity = Severity::Warning;
    }
    let sarif = render(
        Format::Sarif,
        &sources,
        report.diagnostics(),
        Options::default(),
    );
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().expect("results");
    let warnings = results.iter().filter(|result| result["level"] == "warning");
    assert_eq!((results.len(), warnings.count()), (25_000, 7));
    let note = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(
        note.as_str()
            .is_some_and(|note| note.starts_with("3 more findings")),
        "{note}"
    );
}

#[test]
fn paths_are_relative_to_the_repository() {
    for (path, expected) in [
        ("a.yaml", "a.yaml"),
        ("./a/./b.yaml", "a/b.yaml"),
        ("a/../b/c/../d.yaml", "b/d.yaml"),
        ("../../a.yaml", "../../a.yaml"),
        ("/a/../b.yaml", "/b.yaml"),
        ("/../b.yaml", "/../b.yaml"),
    ] {
        assert_eq!(normalize_path(path), expected, "{path}");
    }
}

#[test]
fn gitlab_report_has_unique_fingerprints() {
    let (sources, found) = findings();
    let report = render(Format::Gitlab, &sources, &found, Options::default());
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let issues = report.as_array().expect("a list");
    assert_eq!(
        issues[0],
        json!({
            "description": "`nodePools[0]` has no key `nam`; did you mean `name`? or a|b, <c>",
            "check_name": "GPUC0103 unknown-key",
            "fingerprint": issues[0]["fingerprint"],
            "severity": "critical",
            "location": {"path": "a/gpu, cluster.yaml", "lines": {"begin": 3, "end": 3}},
        })
    );
    assert_eq!(issues[2]["severity"], "minor");
    assert_eq!(issues[2]["location"]["lines"]["begin"], 1);
    let mut names: Vec<_> = issues
        .iter()
        .map(|issue| issue["fingerprint"].to_string())
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3);
    assert_eq!(
        render(Format::Gitlab, &sources, &[], Options::default()),
        "[]\n"
    );
}

#[test]
fn sarif_fingerprints_do_not_depend_on_lines_above() {
    let fingerprints = |text: &str| {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let source = sources.add("a.yaml", text);
        for (byte, _) in text.match_indices('x') {
            let start = crate::source::to_offset(byte);
            let end = start + 1;
            report
                .diagnostic(&WRONG_TYPE, Span { source, start, end }, "m")
                .emit();
        }
        let sarif = render(
            Format::Sarif,
            &sources,
            report.diagnostics(),
            Options::default(),
        );
        let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
        let results = sarif["runs"][0]["results"]
            .as_array()
            .cloned()
            .expect("results");
        let of = |result: &Value| result["partialFingerprints"]["gpuc/v1"].to_string();
        results.iter().map(of).collect::<Vec<_>>()
    };
    let [first, second] = fingerprints("a: x\nb: 1\na: x\n").try_into().expect("two");
    assert_ne!(first, second);
    assert_eq!(fingerprints("# new\na: x\n"), [first]);
}

#[test]
fn github_has_one_command_per_finding() {
    check(
        Format::Github,
        "\
::error file=a/gpu%2C cluster.yaml,line=3,col=5,endLine=3,endColumn=8,title=GPUC0103 unknown-key::`nodePools[0]` has no key `nam`%0Ahelp: did you mean `name`?%0Aor a|b, <c>
::error file=a/gpu%2C cluster.yaml,line=4,col=12,endLine=4,endColumn=16,title=GPUC0101 wrong-type::`nodePools[0].nodes` needs 100%25 of a number
::warning title=GPUC0101 wrong-type::about nothing that was written
",
    );
}

#[test]
fn markdown_is_a_table() {
    check(
        Format::Markdown,
        "\
**2 errors, 1 warning**

| Severity | Code | Place | Finding |
| --- | --- | --- | --- |
| error | GPUC0103 unknown-key | `a/gpu, cluster.yaml:3` | `nodePools[0]` has no key `nam`<br>help: did you mean `name`?<br>or a\\|b, &lt;c> |
| error | GPUC0101 wrong-type | `a/gpu, cluster.yaml:4` | `nodePools[0].nodes` needs 100% of a number |
| warning | GPUC0101 wrong-type |  | about nothing that was written |
",
    );
}
