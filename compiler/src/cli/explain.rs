//! `gpuc explain`: the page of a finding, or the documentation of a key.

use std::fmt::Write;

use anyhow::Result;
use gpuc::diag::Code;
use gpuc::diag::words;
use gpuc::schema::{self, Key};

use super::args::ExplainArgs;
use super::{Exit, output};

/// Prints it.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit> {
    let what = args.what.trim();
    let codes = gpuc::codes();
    let found = codes
        .iter()
        .find(|code| code.id.eq_ignore_ascii_case(what) || code.name.eq_ignore_ascii_case(what));
    if let Some(code) = found {
        output::data(&page(code))?;
        return Ok(Exit::Fine);
    }
    match schema::key(what) {
        Ok(key) => {
            output::data(&key_page(what, &key))?;
            Ok(Exit::Fine)
        }
        Err((part, keys)) => {
            let names = codes.iter().flat_map(|code| [code.id, code.name]);
            let names = names.chain(keys.iter().map(String::as_str));
            let help = match words::nearest(&part, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there is: {}", keys.join(", ")),
            };
            output::say(&format!(
                "error: `{part}` is neither a finding nor a key\nhelp: {help}"
            ));
            Ok(Exit::Invalid)
        }
    }
}

fn page(code: &Code) -> String {
    format!(
        "# {} {}\n\n{}: {}\n\n{}\n### Example\n\nThis raises it:\n\n```yaml\n{}```\n\nThis does not:\n\n```yaml\n{}```\n",
        code.id,
        code.name,
        code.severity.word(),
        code.summary,
        code.explain,
        code.bad,
        code.good,
    )
}

fn key_page(path: &str, key: &Key) -> String {
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
            let _ = writeln!(page, "  {name:width$}  {description}");
        }
    }
    page
}
