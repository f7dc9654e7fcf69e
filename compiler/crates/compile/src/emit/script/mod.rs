//! Emits shell scripts in `cloud/` from the provisioning plan.
//!
//! Quoting, order and idempotence are handled only here. Clouds declare the desired resources.

#![expect(
    clippy::format_push_string,
    reason = "scripts are short, and formatted lines are easier to read"
)]

mod command;
mod install;
mod resource;
mod segments;
mod teardown;
mod verify;

use std::collections::BTreeMap;

use gpuc_model::plan::{
    Command, Contents, Delivery, ErrorResponse, File, IdentityCheck, Plan, Provisioning,
    ResourceKind,
};
use gpuc_syntax::shell::{is_invisible, quote};
use gpuc_syntax::tree::Tree;

use super::header::Header;
use super::{name, yaml_file};
use command::{format_command, quoted_groups, quoted_program};
pub use segments::{Operation, Segment, Segments};

/// The shell library that every script sources.
const LIBRARY: &str = include_str!("../lib.sh");

/// Writes the scripts of a cluster and the other files in `cloud/`.
pub(super) fn emit(plan: &Plan, header: &Header, tree: &mut Tree) {
    for (path, segments) in scripts(plan, header) {
        tree.add_script(path, segments.text());
    }
    let errors = error_calls(&plan.provisioning);
    tree.add(
        LIBRARY_FILE,
        format!("{}{LIBRARY}{errors}", header.as_comment()),
    );
    for (path, kind) in definitions(plan) {
        let text = format!("{}{}", header.as_comment(), kind.definitions);
        tree.add(path, text);
    }
    for file in &plan.provisioning.files {
        add_file(file, header, tree);
    }
}

/// The library's path.
pub(super) const LIBRARY_FILE: &str = "cloud/lib.sh";

/// Every script by its path, as segments.
pub(super) fn scripts<'p>(plan: &'p Plan, header: &Header) -> Vec<(String, Segments<'p>)> {
    let provisioning = &plan.provisioning;
    let own = resource::scripts(provisioning, header);
    let mut scripts = Vec::new();
    if !own.is_empty() {
        let names = own.iter().map(|(name, _)| name.as_str());
        scripts.push(("apply".to_owned(), apply_script(plan, header, names)));
        scripts.push((
            "teardown".to_owned(),
            teardown::teardown_script(plan, header),
        ));
    }
    scripts.push(("verify".to_owned(), verify::verify_script(plan, header)));
    let all = own.into_iter().chain(scripts);
    let mut scripts: Vec<_> = all
        .map(|(name, segments)| (format!("cloud/{name}.sh"), segments))
        .collect();
    for file in &provisioning.files {
        if let Contents::Script(text) = &file.contents {
            let mut segments = strict_head(header, &[]);
            segments.push(Segment::File(file), format!("\n{text}"));
            scripts.push((file_path(file), segments));
        }
    }
    if has_install(plan) {
        scripts.push((INSTALL.to_owned(), install::install_script(plan, header)));
    }
    scripts
}

/// The files with jq definitions, by path, each with its kind of resource.
pub(super) fn definitions(plan: &Plan) -> BTreeMap<String, &'static ResourceKind> {
    let kinds = plan.provisioning.resources.iter().map(|one| one.kind);
    let files = kinds.filter_map(|kind| {
        let (name, _) = resource::definitions(kind)?;
        Some((format!("cloud/{name}"), kind))
    });
    files.collect()
}

/// The path of the script that deploys manifests and charts.
pub(super) const INSTALL: &str = "install.sh";

/// Whether the tree has an `install.sh`: it has objects or releases to deploy, and no GitOps controller deploys them.
pub fn has_install(plan: &Plan) -> bool {
    matches!(plan.delivery, Delivery::Script) && !plan.steps.is_empty()
}

/// Whether the scripts manage any resource.
pub fn has_apply(plan: &Plan) -> bool {
    !plan.provisioning.resources.is_empty()
}

/// A command as one line that a user can copy. It cannot contain words that are known only at run time.
pub(super) fn single_line(command: &Command) -> String {
    quoted_groups(command, &[]).concat().join(" ")
}

/// The path of a file next to the scripts, relative to the cluster's folder.
pub(super) fn file_path(file: &File) -> String {
    let segments = file
        .path
        .split('/')
        .map(name::file_name_part)
        .collect::<Vec<_>>();
    format!("cloud/{}", segments.join("/"))
}

fn add_file(file: &File, header: &Header, tree: &mut Tree) {
    let path = file_path(file);
    match &file.contents {
        Contents::Yaml(node) => tree.add(path, yaml_file(header, node)),
        Contents::Json(node) => {
            let text = serde_json::to_string_pretty(node).expect("a tree serialises to JSON");
            tree.add(path, text + "\n");
        }
        // `scripts` contains it.
        Contents::Script(_) => {}
        Contents::Text(text) => tree.add(path, text.clone()),
    }
}

/// The shell code after the list of scripts.
const APPLY: &str = include_str!("apply.sh");

/// The script that runs the other scripts.
fn apply_script<'p, 'a>(
    plan: &Plan,
    header: &Header,
    scripts: impl Iterator<Item = &'a str>,
) -> Segments<'p> {
    let cluster = &plan.cluster;
    let about = if plan.provisioning.creates_resources() {
        format!("Creates and updates the resources of cluster {cluster}, in order.")
    } else {
        format!("Sets the labels and taints of the nodes of cluster {cluster}.")
    };
    let mut segments = script_head(header, &[&about]);
    segments.push(
        Segment::Boilerplate(APPLY_PURPOSE),
        format!("{}\n", flags_call(&about)),
    );
    let scripts: Vec<_> = scripts.map(quote).collect();
    let list = format!("scripts=({})\n", scripts.join(" "));
    segments.push(Segment::Scripts, list);
    let checks = tool_checks(&plan.provisioning) + "export GPUC_TOOLS_CHECKED=yes\n";
    segments.push(Segment::Tools, checks);
    segments.push(Segment::Boilerplate(APPLY_PURPOSE), APPLY);
    segments
}

/// The purpose of [`APPLY`].
const APPLY_PURPOSE: &str =
    "parses the flags, and runs the checks of every script before the first one changes anything";

/// The first lines of a script that sources the library.
fn script_head<'p>(header: &Header, about: &[&str]) -> Segments<'p> {
    script_head_with_library(header, about, "lib.sh")
}

/// The first lines of a script that sources the library from this path, relative to the script's folder.
fn script_head_with_library<'p>(header: &Header, about: &[&str], library: &str) -> Segments<'p> {
    let mut segments = strict_head(header, about);
    let mut head = String::new();
    head += "here=$(CDPATH='' cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" && pwd)\n";
    head +=
        &format!("# shellcheck source-path=SCRIPTDIR source={library}\n. \"$here/{library}\"\n\n");
    segments.push(Segment::Boilerplate(LIBRARY_PURPOSE), head);
    segments
}

/// The purpose of the lines that source the library.
const LIBRARY_PURPOSE: &str = "sources the functions that all scripts share";

/// The first lines of every script: its description, its origin, and the shell options.
fn strict_head<'p>(header: &Header, about: &[&str]) -> Segments<'p> {
    let mut head = String::from("#!/usr/bin/env bash\n");
    for line in about {
        head += &format!("# {}\n", one_line(line));
    }
    head += &header.as_comment();
    // Values and jq programs are in single quotes; shellcheck takes them for shell expressions.
    head += "# shellcheck disable=SC1003,SC2016 # text in single quotes is not shell code\n";
    head += "set -euo pipefail\nexport LC_ALL=C\n";
    let mut segments = Segments::default();
    segments.push(Segment::Head, head);
    segments
}

/// The call that parses the flags of a script for resources.
fn flags_call(about: &str) -> String {
    let about = one_line(about);
    format!("resource_flags {} \"$@\"\n", quote(&about))
}

/// Checks for the required programs and the right account.
fn preconditions(provisioning: &Provisioning) -> Segments<'_> {
    let mut segments = Segments::default();
    segments.push(Segment::Tools, tool_checks(provisioning));
    segments.extend(identity_calls(provisioning));
    segments
}

/// The calls that check for required programs, and for their versions.
fn tool_checks(provisioning: &Provisioning) -> String {
    let tools = &provisioning.tools;
    let mut text = tools_call(tools.iter().map(|tool| tool.name));
    for tool in tools
        .iter()
        .filter(|tool| !tool.minimum_versions.is_empty())
    {
        let minimums = quote(&tool.minimum_versions.join(" "));
        let prefix = quote(tool.version_prefix);
        let mut words = vec![
            "tool_version".to_owned(),
            tool.name.to_owned(),
            minimums,
            prefix,
        ];
        words.extend(tool.version_arguments.iter().map(|word| quote(word)));
        text += &format!("{}\n", words.join(" "));
    }
    text
}

/// The call that checks for required programs. Every script needs jq.
fn tools_call<'t>(tools: impl Iterator<Item = &'t str>) -> String {
    let mut all = vec!["tools", "jq"];
    for tool in tools {
        if !all.contains(&tool) {
            all.push(tool);
        }
    }
    all.join(" ") + "\n"
}

/// The calls that define the known errors of the cloud's tools, and the program that reads the state of an update.
fn error_calls(provisioning: &Provisioning) -> String {
    let mut text = String::new();
    if !provisioning.known_errors.is_empty() {
        text += "\n# Errors of the cloud's tools.\n";
    }
    for error in provisioning.known_errors {
        let response = match error.response {
            ErrorResponse::Retry => "retry",
            ErrorResponse::Await => "await",
            ErrorResponse::Explain => "explain",
        };
        let words = ["known_error", response].map(str::to_owned);
        let groups = [
            words.to_vec(),
            vec![quote(error.pattern)],
            vec![quote(error.message)],
        ];
        text += &format_command(0, &groups);
    }
    if let Some(state) = provisioning.update_state {
        text += &format!("update_program={}\n", quoted_program(state.read));
    }
    text
}

/// The calls that check for the right account.
fn identity_calls(provisioning: &Provisioning) -> Segments<'_> {
    let mut segments = Segments::default();
    for check in &provisioning.identity {
        segments.push(Segment::Identity(check), identity_call(check));
    }
    segments
}

fn identity_call(check: &IdentityCheck) -> String {
    let words = [check.subject, &check.expected, &check.mismatch_message];
    let mut groups = vec![
        vec!["identity".to_owned(), quote(words[0]), quote(words[1])],
        vec![quote(words[2])],
    ];
    groups.extend(quoted_groups(&check.query, &[]));
    format_command(0, &groups)
}

/// Text on one line for a comment or a message: no character in it ends the line.
fn one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if is_invisible(c) { ' ' } else { c })
        .collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests;
