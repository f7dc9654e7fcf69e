//! `gpuc explain`: the list of findings, the explanation of a finding or an alert, or the documentation of a key.

use std::fmt::Write;

use anyhow::Result;
use gpuc_compile::lower::monitoring::{alert_names, alert_page};
use gpuc_syntax::diag::{Code, phrases, split_files, split_objects};
use gpuc_syntax::schema::{self, KeyDocumentation};

use super::args::ExplainArgs;
use super::drift::TREE_STALE;
use super::{Exit, output};

/// Prints the explanation, or the list of all findings.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit> {
    let mut codes = gpuc::codes();
    codes.push(&TREE_STALE);
    codes.extend(gpuc::doctor_codes());
    let Some(query) = args.what.as_deref().map(str::trim) else {
        output::print_data(&code_list(codes))?;
        return Ok(Exit::Success);
    };
    if let Some(code) = find_code(query, &codes) {
        if code
            .former_names()
            .any(|name| name.eq_ignore_ascii_case(query))
        {
            output::print_message(&format!("note: `{query}` is now named `{}`", code.name));
        }
        output::print_data(&code_page(code))?;
        return Ok(Exit::Success);
    }
    if let Some(page) = alert_page(query) {
        output::print_data(&page)?;
        return Ok(Exit::Success);
    }
    match schema::describe_key(query) {
        Ok(key) => {
            output::print_data(&key_page(query, &key))?;
            Ok(Exit::Success)
        }
        Err((part, keys)) => {
            let paths = schema::paths_with_suffix(query);
            if !paths.is_empty() {
                if let [only] = paths.as_slice() {
                    output::print_message(&interpretation_note(query, only));
                }
                output::print_data(&key_pages(query, &paths))?;
                return Ok(Exit::Success);
            }
            let help = if is_code_number(query) {
                "run `gpuc explain` to list all findings".to_owned()
            } else {
                suggestion(query, &part, &keys, &codes)
            };
            output::print_message(&format!(
                "error: unknown finding, alert or key `{query}`\nhelp: {help}"
            ));
            Ok(Exit::Invalid)
        }
    }
}

/// A note about the key that a part of a path is interpreted as, and a similar top-level key.
fn interpretation_note(query: &str, path: &str) -> String {
    let top = schema::describe_key("")
        .map(|key| key.keys)
        .unwrap_or_default();
    let near = phrases::closest_match(query, top.iter().map(|(name, _)| name.as_str()));
    let other = near.map_or_else(String::new, |near| {
        format!("; there is also a key `{near}`")
    });
    format!("note: `{query}` is interpreted as `{path}`{other}")
}

/// The finding with this name, former name, code, or digits of the code.
fn find_code<'c>(query: &str, codes: &[&'c Code]) -> Option<&'c Code> {
    let same = |name: &str| name.eq_ignore_ascii_case(query);
    let digits = |id: &str| id.strip_prefix(CODE_PREFIX).is_some_and(same);
    let mut codes = codes.iter().copied();
    codes.find(|code| {
        same(code.id) || digits(code.id) || same(code.name) || code.former_names().any(same)
    })
}

/// The prefix of all codes.
const CODE_PREFIX: &str = "GPUC";

/// Whether a word has the form of a code: `GPUC9999` or `9999`.
fn is_code_number(query: &str) -> bool {
    let prefix = query.get(..CODE_PREFIX.len()).unwrap_or_default();
    let is_prefixed = prefix.eq_ignore_ascii_case(CODE_PREFIX);
    let digits = if is_prefixed {
        &query[CODE_PREFIX.len()..]
    } else {
        query
    };
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// A suggestion: a key below the resolved part of the path, a finding, or keys anywhere, by their full paths.
fn suggestion(query: &str, part: &str, keys: &[String], codes: &[&Code]) -> String {
    // If two parts are equal, the first one is unknown too; otherwise it would not be `part`.
    let parts = query.split('.').filter(|part| !part.is_empty());
    let reached: Vec<_> = parts
        .map(|part| part.split('[').next().unwrap_or(part))
        .take_while(|name| *name != part)
        .collect();
    let full_path = |key: &str| [&reached[..], &[key]].concat().join(".");
    let below = full_path("");
    let paths = schema::paths_with_suffix(part);
    let matching = paths.iter().filter(|path| path.starts_with(&below));
    let matching: Vec<_> = matching.collect();
    if !matching.is_empty() {
        return format!("did you mean {}?", phrases::quoted_list(&matching, 4));
    }
    if let Some(near) = phrases::closest_match(part, keys.iter().map(String::as_str)) {
        return format!("did you mean `{}`?", full_path(near));
    }
    if !paths.is_empty() {
        return format!("did you mean {}?", phrases::quoted_list(&paths, 4));
    }
    let everywhere = schema::key_paths();
    let alerts: Vec<String> = alert_names().collect();
    let mut names: Vec<&str> = alerts.iter().map(String::as_str).collect();
    for code in codes {
        names.extend([code.id, code.name]);
        for former in code.former_names() {
            names.push(former);
        }
    }
    let mut keys_anywhere: Vec<_> = everywhere.iter().map(|path| last_part(path)).collect();
    for list in [&mut names, &mut keys_anywhere] {
        list.sort_unstable();
        list.dedup();
    }
    // Both together are too many for a suggestion.
    let near = phrases::closest_match(part, keys_anywhere);
    match near.or_else(|| phrases::closest_match(part, names)) {
        Some(near) => {
            let renamed = codes
                .iter()
                .find(|code| code.former_names().any(|name| name == near));
            let near = renamed.map_or(near, |code| code.name);
            let paths: Vec<_> = everywhere
                .iter()
                .filter(|path| last_part(path) == near)
                .collect();
            match paths.as_slice() {
                [] => format!("did you mean `{near}`?"),
                paths => format!("did you mean {}?", phrases::quoted_list(paths, 4)),
            }
        }
        None if keys.is_empty() => {
            format!("`{}` has no nested keys", reached.join("."))
        }
        None => format!("the keys are: {}", keys.join(", ")),
    }
}

/// A line for each code, by id: its id, name, severity and summary.
fn code_list(mut codes: Vec<&Code>) -> String {
    codes.sort_unstable_by_key(|code| code.id);
    let width = codes.iter().map(|code| code.name.len()).max().unwrap_or(0);
    let mut list = String::new();
    for code in codes {
        let severity = code.severity.as_str();
        let _ = writeln!(
            list,
            "{}  {:width$}  {severity:7}  {}",
            code.id, code.name, code.summary
        );
    }
    list
}

fn code_page(code: &Code) -> String {
    let former = code.former_names_sentence();
    let former = former.map_or_else(String::new, |names| format!("{names}\n\n"));
    let head = format!(
        "# {} {}\n\n{}: {}\n\n{former}{}",
        code.id,
        code.name,
        code.severity.as_str(),
        code.summary,
        code.explanation(),
    );
    if code.bad.is_empty() {
        return head;
    }
    if code.is_about_running_clusters() {
        return format!("{head}\n### Example\n\n{}", objects_example(code));
    }
    format!(
        "{head}\n### Example\n\nThis file causes it:\n\n```yaml\n{}```\n\nThis file does not:\n\n```yaml\n{}```\n",
        code.bad,
        code.good(),
    )
}

/// The objects that cause a finding about a running cluster, and those that do not.
fn objects_example(code: &Code) -> String {
    let good = code.good();
    let part = |example: &str| {
        let (configuration, objects) = split_objects(example).unwrap_or(("", example));
        let file = match configuration {
            "" => String::new(),
            text => format!("# gpu-cluster.yaml\n{text}---\n"),
        };
        let files = split_files(objects).into_iter();
        let blocks = files.map(|(path, text)| match path.strip_suffix(".log") {
            None => format!("```yaml\n{file}{text}```\n"),
            Some(_) => format!("\n`{path}`:\n\n```text\n{text}```\n"),
        });
        blocks.collect::<String>()
    };
    format!(
        "These objects cause it:\n\n{}\nThese objects do not:\n\n{}",
        part(code.bad),
        part(&good)
    )
}

/// The documentation of the only key with this suffix, or the list of all such keys.
fn key_pages(query: &str, paths: &[String]) -> String {
    let key = |path: &String| {
        let key = schema::describe_key(path);
        key.unwrap_or_else(|_| unreachable!("a path of the schema is a key of it"))
    };
    if let [only] = paths {
        return key_page(only, &key(only));
    }
    let width = paths.iter().map(String::len).max().unwrap_or(0);
    let mut page = format!("# {query}\n\n{} keys have this name:\n\n", paths.len());
    for path in paths {
        let described = schema::first_paragraph(&key(path).description);
        append_row(&mut page, path, width, &described);
    }
    page
}

/// The last part of a key's path.
fn last_part(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, last)| last)
}

fn key_page(path: &str, key: &KeyDocumentation) -> String {
    let mut page = format!("# {path}\n\n{}\n\nType: {}\n", key.description, key.kind);
    if let Some(default) = &key.default {
        let _ = writeln!(page, "Default: {default}");
    }
    if !key.examples.is_empty() {
        let examples: Vec<_> = key.examples.iter().map(ToString::to_string).collect();
        let _ = writeln!(page, "Examples: {}", examples.join(", "));
    }
    for (title, rows) in [("Values", &key.values), ("Keys", &key.keys)] {
        if rows.is_empty() {
            continue;
        }
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let _ = writeln!(page, "\n{title}:");
        for (name, description) in rows {
            append_row(&mut page, name, width, description);
        }
    }
    page
}

/// The width of a page in columns.
const COLUMNS: usize = 112;

/// Writes a name and its wrapped, indented description.
fn append_row(page: &mut String, name: &str, width: usize, description: &str) {
    let indent = width + 4;
    let _ = write!(page, "  {name:width$} ");
    let mut column = indent - 1;
    for word in description.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > COLUMNS {
            let _ = write!(page, "\n{:indent$}{word}", "");
            column = indent + length;
        } else {
            let _ = write!(page, " {word}");
            column += 1 + length;
        }
    }
    page.push('\n');
}
