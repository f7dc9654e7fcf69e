//! `gpuc init`: creates a starter file.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};

use super::args::{Cli, InitArgs, StarterCloud};
use super::{Exit, output};

/// The schema file that the first line of the starters names. Editors use it without network access.
const SCHEMA_FILE: &str = "gpu-cluster.schema.json";

/// Writes the starter file of a cloud and, next to it, the schema for editors. Existing files are not changed.
pub(crate) fn run(cli: &Cli, args: &InitArgs) -> Result<Exit> {
    if !is_valid_name(&args.name) {
        output::print_message(&format!(
            "error: invalid cluster name `{}`\n\
             help: use at most 40 lower-case letters, digits and `-`, starting with a letter",
            args.name
        ));
        return Ok(Exit::Invalid);
    }
    let text = starter_file(args.cloud).replace("CLUSTER_NAME", &args.name);
    if args.file.as_os_str() == "-" {
        output::print_data(&text)?;
        return Ok(Exit::Success);
    }
    let file = args.file.display();
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).open(&args.file);
    let mut opened = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            output::print_message(&format!(
                "error: {file} already exists\nhelp: name another file, or delete it first"
            ));
            return Ok(Exit::Invalid);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {file}")),
    };
    let written = opened.write_all(text.as_bytes());
    written.with_context(|| format!("cannot write {file}"))?;
    let schema = write_schema_next_to(&args.file)?;
    if !cli.quiet {
        output::print_message(&format!(
            "wrote {file}{schema}\nnext: replace the placeholder values, which `gpuc check {file}` lists"
        ));
    }
    Ok(Exit::Success)
}

/// Writes the schema into the folder of a file, and returns a message about it.
fn write_schema_next_to(file: &Path) -> Result<String> {
    let path = file.with_file_name(SCHEMA_FILE);
    let (shown, text) = (path.display(), gpuc_syntax::schema::schema_json());
    match super::write::read_regular(&path) {
        Ok(existing) if existing == text.as_bytes() => Ok(String::new()),
        Ok(_) => Ok(format!(
            "\nnote: {shown} already exists and was not changed; `gpuc schema > {shown}` updates it"
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::write(&path, text).with_context(|| format!("cannot write {shown}"))?;
            Ok(format!(" and {shown} (for your editor)"))
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {shown}")),
    }
}

/// The starter file, with `CLUSTER_NAME` as placeholder for the name.
fn starter_file(cloud: StarterCloud) -> &'static str {
    match cloud {
        StarterCloud::Aws => include_str!("starters/aws.yaml"),
        StarterCloud::Azure => include_str!("starters/azure.yaml"),
        StarterCloud::Gcp => include_str!("starters/gcp.yaml"),
        StarterCloud::OnPrem => include_str!("starters/on-prem.yaml"),
    }
}

fn is_valid_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 40
        && name.chars().all(allowed)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
}
