//! Any user text is rejected at its location, or reaches a program unchanged.

use std::collections::BTreeMap;

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

/// Replaces each text below a key of the file, or in the whole file, including label and tag keys, by hostile ones.
/// Accepted files are applied: no text may be executed, and programs must get exactly the arguments of the plan.
pub(crate) fn assert_hostile_texts_are_safe(case: &Case, below: Option<&str>) {
    let config: Value = serde_yaml::from_str(case.config).unwrap();
    let mut places = Vec::new();
    walk(&config, &mut Vec::new(), &mut places);
    places.retain(|(path, _)| below.is_none_or(|below| path[0] == below));
    assert!(places.len() > 8, "{places:?}");
    let mut taken: BTreeMap<String, Vec<(TextLocation, String)>> = BTreeMap::new();
    let texts = hostile_texts();
    for (number, place) in places.iter().enumerate() {
        // A third of them at each place: all of them together try every text at every kind of place.
        for text in texts.iter().skip(number % 3).step_by(3).cloned() {
            let Some(changed) = replaced(&config, place, &text) else {
                continue;
            };
            if is_accepted(&changed, place, &text) {
                taken
                    .entry(text.clone())
                    .or_default()
                    .push((place.clone(), text));
            }
        }
    }
    // As many at once as go together, so that a few runs try them all.
    while let Some((mut changed, renamed)) = next_combined_file(&config, &mut taken) {
        assert_applies(case, &mut changed, &renamed);
    }
}

/// A path, and whether its last key is replaced instead of the value.
type TextLocation = (Vec<String>, bool);

fn walk(value: &Value, path: &mut Vec<String>, places: &mut Vec<TextLocation>) {
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
            places.push((path.clone(), false));
            return;
        }
        _ => return,
    };
    for (key, child) in children {
        path.push(key);
        if value.is_object() {
            places.push((path.clone(), true));
        }
        walk(child, path, places);
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

/// Whether gpuc takes the file. If not it says so, and a finding stands at the line of the text or speaks of it.
fn is_accepted(config: &Value, place: &TextLocation, text: &str) -> bool {
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
        // Nothing is there to point at: it may be the key that lacks its text.
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
    let told = errors.iter().any(|found| {
        let span = found.primary.span;
        let secondary = found.labels.iter().map(|label| label.span);
        let mut spans = secondary.chain([span]);
        spans.any(|span| lines.contains(&line_of(span.start)))
    });
    assert!(
        told,
        "{place:?} = {quoted} is refused elsewhere\n{}",
        outcome.text()
    );
    false
}

/// The old and the new text.
type Replacements = Vec<(String, String)>;

/// A file with as many hostile texts as can be combined, one at each location.
fn next_combined_file(
    config: &Value,
    taken: &mut BTreeMap<String, Vec<(TextLocation, String)>>,
) -> Option<(Value, Replacements)> {
    let mut changed = config.clone();
    let mut renamed = Replacements::new();
    let mut used: Vec<TextLocation> = Vec::new();
    for places in taken.values_mut() {
        places.retain(|(place, text)| {
            // A key that was replaced is not on the way any more.
            if used.iter().any(|(other, _)| other == &place.0) {
                return true;
            }
            let Some(next) = replaced(&changed, place, text) else {
                return true;
            };
            let outcome = compile_text(&serde_json::to_string_pretty(&next).unwrap());
            if outcome.compilations.iter().any(|one| one.output.is_none()) {
                return true;
            }
            if let Some(was) = value_at(&changed, &place.0)
                .and_then(Value::as_str)
                .filter(|_| !place.1)
            {
                renamed.push((was.to_owned(), text.clone()));
            }
            changed = next;
            used.push(place.clone());
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

/// The world with other names: what the file says is there must be there under its new name.
fn rename_in_state(world: &Value, renamed: &Replacements) -> Value {
    let new = |text: &String| {
        let parts = text.split('/').map(|part| {
            let found = renamed.iter().find(|(was, _)| was == part);
            found.map_or(part, |(_, is)| is)
        });
        parts.collect::<Vec<_>>().join("/")
    };
    match world {
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
    let allowed: Vec<_> = findings.iter().map(|found| found.code.id).collect();
    config["allow"] = allowed.into();
    let stage = Environment::new(&serde_json::to_string_pretty(config).unwrap(), case.before);
    stage.set_state(&rename_in_state(&stage.state(), renamed));
    let run = stage.run("apply.sh", &[]).expect_success();
    assert_no_syntax_error(&run);
    let resources = stage.plan.provisioning.resources.iter();
    for resource in resources.filter(|it| !it.is_only_deleted()) {
        let called = |command| {
            run.calls
                .iter()
                .any(|call| stage.matches_command(call, command))
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
    let second = stage
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert_no_syntax_error(&second);
    let world = verify::healthy_state(&stage);
    stage.set_state(&world);
    assert_no_syntax_error(&stage.run("verify.sh", &["--no-pods"]).expect_success());
    let name: &str = &stage.plan.cluster;
    assert_no_syntax_error(&stage.run("teardown.sh", &["--yes", name]).expect_success());
}

/// No shell reported a syntax error.
fn assert_no_syntax_error(run: &RunResult) {
    for words in [
        "command not found",
        "syntax error",
        "unbound variable",
        "parse error",
    ] {
        assert!(!run.stderr.contains(words), "{}", run.stderr);
    }
}
