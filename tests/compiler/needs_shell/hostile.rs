//! Any user text is rejected at its location, or reaches programs unchanged.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_syntax::diag::Severity;
use serde_json::Value;

use super::environment::{Environment, RunResult};
use super::lifecycle::Case;
use super::verify;
use crate::support::compile_text;

/// Texts with special meaning to a shell, jq, YAML, printf, or command-line parsers.
fn hostile_texts() -> Vec<String> {
    let mut texts = [
        "it's \"quoted\" `touch pwned`",
        "$(touch pwned)",
        "'; touch pwned; '",
        "\\(now) ${HOME} \\$HOME \\",
        "first\nsecond; touch pwned\n",
        "ünïcödé 🚀 \u{202e}İı",
        "--help",
        "%s%n%d",
        "a=b,c=d;e:f|g&h>pwned",
        "*?[a-z]{a,b}~",
        " ",
        "",
        "@file",
        "null",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("x'\"$(touch pwned)\\ ".repeat(540));
    texts
}

/// Replaces each text below a key of the file or in the whole file, including label and tag keys, with hostile texts.
/// If gpuc accepts the file, its scripts run: no text may be executed, and programs must get exactly the arguments in
/// the plan.
pub(crate) fn assert_hostile_texts_are_safe(case: &Case, below: Option<&str>) {
    let config: Value = serde_yaml::from_str(case.config).unwrap();
    let mut locations = Vec::new();
    walk(&config, &mut Vec::new(), &mut locations);
    locations.retain(|(path, _)| below.is_none_or(|below| path[0] == below));
    assert!(locations.len() > 8, "{locations:?}");
    let mut taken: BTreeMap<String, Vec<(TextLocation, String)>> = BTreeMap::new();
    let texts = hostile_texts();
    for (number, location) in locations.iter().enumerate() {
        // One third of the texts for each location, so that similar locations together get all texts.
        for text in texts.iter().skip(number % 3).step_by(3).cloned() {
            let Some(changed) = replaced(&config, location, &text) else {
                continue;
            };
            if is_accepted(&changed, location, &text) {
                taken
                    .entry(text.clone())
                    .or_default()
                    .push((location.clone(), text));
            }
        }
    }
    // Each run combines as many texts as possible, because a run takes seconds.
    while let Some((mut changed, renamed)) = next_combined_file(&config, &mut taken) {
        assert_applies(case, &mut changed, &renamed);
    }
}

/// A path, and whether its last key is replaced instead of the value.
type TextLocation = (Vec<String>, bool);

fn walk(value: &Value, path: &mut Vec<String>, locations: &mut Vec<TextLocation>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| (at.to_string(), item))
            .collect(),
        Value::String(_) => {
            locations.push((path.clone(), false));
            return;
        }
        _ => return,
    };
    for (key, child) in children {
        path.push(key);
        if value.is_object() {
            locations.push((path.clone(), true));
        }
        walk(child, path, locations);
        path.pop();
    }
}

fn replaced(config: &Value, (path, is_key): &TextLocation, text: &str) -> Option<Value> {
    let mut config = config.clone();
    let (last, way) = path.split_last()?;
    let mut parent = &mut config;
    for part in way {
        parent = match parent {
            Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?)?,
            other => other.get_mut(part)?,
        };
    }
    match parent {
        Value::Object(map) if *is_key => {
            let value = map.remove(last)?;
            map.insert(text.to_owned(), value);
        }
        Value::Object(map) => {
            *map.get_mut(last)? = Value::from(text);
        }
        Value::Array(items) => *items.get_mut(last.parse::<usize>().ok()?)? = Value::from(text),
        _ => return None,
    }
    Some(config)
}

/// Whether gpuc accepts the file. If not, a finding must point at the line of the text or contain it.
fn is_accepted(config: &Value, location: &TextLocation, text: &str) -> bool {
    let source = serde_json::to_string_pretty(config).unwrap();
    let outcome = compile_text(&source);
    let errors: Vec<_> = outcome
        .findings
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .collect();
    if errors.is_empty() {
        assert!(outcome.compilations.iter().all(|one| one.output.is_some()));
        return true;
    }
    if text.is_empty() {
        // An empty text has no location. The finding may be about its key.
        return false;
    }
    let quoted = serde_json::to_string(text).unwrap();
    let lines: Vec<usize> = source
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(&quoted))
        .map(|(number, _)| number)
        .collect();
    let line_of = |at: u32| source[..at as usize].matches('\n').count();
    let is_reported = errors.iter().any(|found| {
        let span = found.primary.span;
        let secondary = found.labels.iter().map(|label| label.span);
        let mut spans = secondary.chain([span]);
        spans.any(|span| lines.contains(&line_of(span.start)))
    });
    assert!(
        is_reported,
        "no finding about {location:?} = {quoted}\n{}",
        outcome.text()
    );
    false
}

/// The old and the new text.
type Replacements = Vec<(String, String)>;

/// A file with as many hostile texts as possible, at most one at each location.
fn next_combined_file(
    config: &Value,
    taken: &mut BTreeMap<String, Vec<(TextLocation, String)>>,
) -> Option<(Value, Replacements)> {
    let mut changed = config.clone();
    let mut renamed = Replacements::new();
    let mut used: Vec<TextLocation> = Vec::new();
    for locations in taken.values_mut() {
        locations.retain(|(location, text)| {
            // A path through a replaced key no longer exists.
            if used.iter().any(|(other, _)| other == &location.0) {
                return true;
            }
            let Some(next) = replaced(&changed, location, text) else {
                return true;
            };
            let outcome = compile_text(&serde_json::to_string_pretty(&next).unwrap());
            if outcome.compilations.iter().any(|one| one.output.is_none()) {
                return true;
            }
            if let Some(was) = value_at(&changed, &location.0)
                .and_then(Value::as_str)
                .filter(|_| !location.1)
            {
                renamed.push((was.to_owned(), text.clone()));
            }
            changed = next;
            used.push(location.clone());
            false
        });
    }
    (!used.is_empty()).then_some((changed, renamed))
}

fn value_at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

/// The state with the new names: existing resources that the file names must exist under their new names.
fn rename_in_state(state: &Value, renamed: &Replacements) -> Value {
    let new = |text: &String| {
        let parts = text.split('/').map(|part| {
            let found = renamed.iter().find(|(was, _)| was == part);
            found.map_or(part, |(_, is)| is)
        });
        parts.collect::<Vec<_>>().join("/")
    };
    match state {
        Value::String(text) => Value::String(new(text)),
        Value::Array(items) => items
            .iter()
            .map(|item| rename_in_state(item, renamed))
            .collect(),
        Value::Object(map) => {
            let entries = map.iter();
            entries
                .map(|(key, value)| (new(key), rename_in_state(value, renamed)))
                .collect()
        }
        other => other.clone(),
    }
}

fn assert_applies(case: &Case, config: &mut Value, renamed: &Replacements) {
    config["allow"] = Value::Array(Vec::new());
    let findings = compile_text(&serde_json::to_string_pretty(config).unwrap()).findings;
    let allowed: BTreeSet<_> = findings.iter().map(|found| found.code.id).collect();
    config["allow"] = allowed.into_iter().collect();
    let environment = Environment::new(&serde_json::to_string_pretty(config).unwrap(), case.before);
    environment.set_state(&rename_in_state(&environment.state(), renamed));
    let run = environment.run("apply.sh", &[]).expect_success();
    assert_no_syntax_error(&run);
    let resources = environment.plan.provisioning.resources.iter();
    for resource in resources.filter(|it| !it.is_only_deleted()) {
        let called = |command| {
            run.calls
                .iter()
                .any(|call| environment.matches_command(call, command))
        };
        assert!(
            called(&resource.observation.command),
            "{}\n{:#?}",
            resource.name,
            run.calls
        );
        let comes = resource.created_with.is_some();
        for command in resource.create.iter().filter(|_| !comes) {
            assert!(called(command), "{command:#?}\n{:#?}", run.calls);
        }
    }
    let second = environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert_no_syntax_error(&second);
    let state = verify::healthy_state(&environment);
    environment.set_state(&state);
    assert_no_syntax_error(
        &environment
            .run("verify.sh", &["--no-pods"])
            .expect_success(),
    );
    let name: &str = &environment.plan.cluster;
    assert_no_syntax_error(
        &environment
            .run("teardown.sh", &["--yes", name])
            .expect_success(),
    );
}

/// Asserts that no shell reported a syntax error.
fn assert_no_syntax_error(run: &RunResult) {
    for message in [
        "command not found",
        "syntax error",
        "unbound variable",
        "parse error",
    ] {
        assert!(!run.stderr.contains(message), "{}", run.stderr);
    }
}
