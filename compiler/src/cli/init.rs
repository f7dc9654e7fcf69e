//! `gpuc init`: a file to start from.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};

use super::args::{Cli, InitArgs, StarterCloud};
use super::{Exit, output};

/// What the starters' first line names: it tells editors what the file may say, and needs no network.
const SCHEMA_FILE: &str = "gpu-cluster.schema.json";

/// Writes the starter file of a cloud, and the schema for editors beside it. A file that is there is left alone.
pub(crate) fn run(cli: &Cli, args: &InitArgs) -> Result<Exit> {
    if !is_name(&args.name) {
        output::say(&format!(
            "error: `{}` cannot be a cluster's name\nhelp: lower-case letters, digits and -, starting with a letter, at most 40",
            args.name
        ));
        return Ok(Exit::Invalid);
    }
    let text = starter(args.cloud).replace("CLUSTER_NAME", &args.name);
    if args.file.as_os_str() == "-" {
        output::data(&text)?;
        return Ok(Exit::Fine);
    }
    let file = args.file.display();
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).open(&args.file);
    let mut opened = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            output::say(&format!(
                "error: {file} is there already\nhelp: name another file, or remove it first"
            ));
            return Ok(Exit::Invalid);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {file}")),
    };
    let written = opened.write_all(text.as_bytes());
    written.with_context(|| format!("cannot write {file}"))?;
    let schema = schema_beside(&args.file)?;
    if !cli.quiet {
        output::say(&format!(
            "wrote {file}{schema}\nnext: fill in what it marks as yours, which gpuc check {file} lists"
        ));
    }
    Ok(Exit::Fine)
}

/// Writes the schema into the folder of a file, and says what became of it.
fn schema_beside(file: &Path) -> Result<String> {
    let path = file.with_file_name(SCHEMA_FILE);
    let (shown, text) = (path.display(), gpuc::schema::json());
    match fs::read(&path) {
        Ok(there) if there == text.as_bytes() => Ok(String::new()),
        Ok(_) => Ok(format!(
            "\nnote: {shown} is there already and was left as it is; `gpuc schema > {shown}` brings it up to date"
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::write(&path, text).with_context(|| format!("cannot write {shown}"))?;
            Ok(format!(" and {shown}, which your editor reads"))
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {shown}")),
    }
}

/// The file, with `CLUSTER_NAME` where the name goes.
fn starter(cloud: StarterCloud) -> &'static str {
    match cloud {
        StarterCloud::Aws => include_str!("starters/aws.yaml"),
        StarterCloud::Azure => include_str!("starters/azure.yaml"),
        StarterCloud::Gcp => include_str!("starters/gcp.yaml"),
        StarterCloud::OnPrem => include_str!("starters/on-prem.yaml"),
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 40
        && name.chars().all(allowed)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
}
