//! Properties that hold for all inputs, tested with random inputs. `fuzz/` tests the same properties for longer.

use proptest::prelude::*;
use proptest::test_runner::Config;
use rayon::prelude::*;

use crate::fuzzed::promises;
use crate::support::examples::examples;
use crate::support::{Outcome, compile_text, repository};

/// Unusual content for a file.
const HOSTILE: &[&str] = &[
    "",
    "~",
    "!!binary aGk=",
    "!!set {a, b}",
    "!<tag:example.com,2000:x> y",
    "*nowhere",
    "&a [*a]",
    "<<: {a: 1}",
    "\u{202e}reversed",
    "e\u{301}\u{feff}",
    "\"\\0\\x1b[31m\\u2028\"",
    "'; rm -rf / #",
    "\"$(reboot) `reboot` ${HOME}\"",
    "\"../../../etc/passwd\"",
    "-1",
    "1e400",
    "0x7fffffffffffffff",
    "99999999999999999999999999999999999999999",
    "4294967295",
    "1.34",
    "2024-02-30",
    "on",
    "[]",
    "{}",
    "[[[[[[[[]]]]]]]]",
    "{? [a, b] : c}",
    "|\n  more\n than one\n",
    "\t",
    "---\nkind: GpuCluster",
    "\"line\\nline\"",
];

fn texts() -> Vec<String> {
    let paths = examples().into_values().flatten();
    let texts = paths.map(|path| std::fs::read_to_string(repository().join(path)).unwrap());
    texts.collect()
}

/// A change to a text.
#[derive(Clone, Debug)]
enum Change {
    Delete(prop::sample::Index),
    Repeat(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Indent(prop::sample::Index),
    Replace(prop::sample::Index, String),
    Cut(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let hostile = prop_oneof![
        8 => prop::sample::select(HOSTILE).prop_map(str::to_owned),
        1 => "\\PC{0,20}",
        1 => Just("x".repeat(100_000)),
        1 => any::<i64>().prop_map(|number| number.to_string()),
    ];
    let index = any::<prop::sample::Index>;
    prop_oneof![
        2 => index().prop_map(Change::Delete),
        1 => index().prop_map(Change::Repeat),
        1 => (index(), index()).prop_map(|(one, other)| Change::Swap(one, other)),
        1 => index().prop_map(Change::Indent),
        6 => (index(), hostile).prop_map(|(index, text)| Change::Replace(index, text)),
        1 => index().prop_map(Change::Cut),
    ]
}

fn apply_changes(text: &str, changes: &[Change]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for change in changes {
        if lines.is_empty() {
            break;
        }
        let count = lines.len();
        match change {
            Change::Delete(index) => drop(lines.remove(index.index(count))),
            Change::Repeat(index) => {
                let line = lines[index.index(count)].clone();
                lines.insert(index.index(count), line);
            }
            Change::Swap(one, other) => lines.swap(one.index(count), other.index(count)),
            Change::Indent(index) => lines[index.index(count)].insert(0, ' '),
            Change::Replace(index, with) => replace_scalar(&mut lines, index, with),
            Change::Cut(index) => {
                let line = &mut lines[index.index(count)];
                let middle = line.chars().count() / 2;
                *line = line.chars().take(middle).collect();
            }
        }
    }
    lines.join("\n") + "\n"
}

/// Replaces a value, which begins after a colon and ends at a comma, a bracket or the end of the line.
fn replace_scalar(lines: &mut [String], index: &prop::sample::Index, with: &str) {
    let starts = lines.iter().enumerate().flat_map(|(number, line)| {
        let after = line.match_indices(": ").map(|(at, found)| at + found.len());
        after.map(move |at| (number, at)).collect::<Vec<_>>()
    });
    let starts: Vec<(usize, usize)> = starts.collect();
    if starts.is_empty() {
        return;
    }
    let (number, start) = starts[index.index(starts.len())];
    let line = &mut lines[number];
    let end = line[start..].find([',', '}', ']']);
    let end = end.map_or(line.len(), |end| start + end);
    line.replace_range(start..end, with);
}

fn config_with_cases(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config_with_cases(400))]

    #[test]
    fn any_text_builds_or_is_reported(text in "(\\PC|[\\n\\t :{}\\[\\],&*!|>#'\"%@-]){0,200}") {
        promises::parse(text.as_bytes());
        promises::compile(text.as_bytes());
    }

    #[test]
    fn any_bytes_build_or_are_reported(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        promises::parse(&bytes);
        promises::compile(&bytes);
    }
}

proptest! {
    #![proptest_config(config_with_cases(250))]

    #[test]
    fn mutated_examples_build_or_are_reported(
        text in prop::sample::select(texts()),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let text = apply_changes(&text, &changes);
        promises::parse(text.as_bytes());
        promises::compile(text.as_bytes());
    }

    #[test]
    fn output_is_deterministic(
        text in prop::sample::select(texts()),
        changes in prop::collection::vec(change(), 0..2),
    ) {
        let text = apply_changes(&text, &changes);
        let (one, other) = (compile_text(&text), compile_text(&text));
        prop_assert_eq!(one.files(), other.files());
        prop_assert_eq!(one.text(), other.text());
    }
}

/// The codes of findings, with their counts.
fn codes(outcome: &Outcome) -> Vec<&'static str> {
    let mut codes: Vec<_> = outcome.findings.iter().map(|found| found.code.id).collect();
    codes.sort_unstable();
    codes
}

/// The findings of a pool do not depend on its position in the list.
#[test]
fn order_of_pools_does_not_change_findings() {
    const HEAD: &str = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: demo}\nkubernetes: {version: \
                        \"1.34\"}\ncloud: {aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}}\n\
                        stack: {runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}\nnodePools:\n";
    let mut pools = vec![
        "  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}\n",
        "  - {name: a, machine: p4d.24xlarge, nodes: {count: 1}, sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.10gb, count: 9}]}]}}}\n",
        "  - {name: b, machine: g6.xlarge, nodes: {min: 3, max: 1}}\n",
        "  - {name: c, machine: g6.xlrge, nodes: {count: 1}, labels: {kubernetes.io/os: linux}}\n",
        "  - {name: d, machine: g6.xlarge, nodes: {min: 0, max: 2}, taints: [{key: a b, effect: NoSchedule}]}\n",
    ];
    let expected = codes(&compile_text(&(HEAD.to_owned() + &pools.concat())));
    assert!(expected.len() > 4, "{expected:?}");
    for _ in 0..pools.len() {
        pools.rotate_left(1);
        let found = codes(&compile_text(&(HEAD.to_owned() + &pools.concat())));
        assert_eq!(found, expected, "{pools:?}");
        pools.swap(0, 2);
        let found = codes(&compile_text(&(HEAD.to_owned() + &pools.concat())));
        assert_eq!(found, expected, "{pools:?}");
    }
}

#[test]
fn number_of_threads_does_not_change_output() {
    let texts = texts();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let outcomes = texts.par_iter().map(|text| {
                let outcome = compile_text(text);
                (outcome.files(), outcome.text())
            });
            outcomes.collect::<Vec<_>>()
        })
    };
    assert_eq!(with(1), with(8));
}
