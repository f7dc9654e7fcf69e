//! Provisioning to shell scripts, in `cloud/`.
//!
//! This part alone knows about quoting, order, and what a script does twice. Clouds say what there shall be.

#![expect(
    clippy::format_push_string,
    reason = "a script reads best as the lines it is made of, and is short"
)]

mod command;
mod install;
mod resource;
mod teardown;
mod verify;

use std::collections::BTreeMap;

use super::header::Header;
use super::{name, yaml_file};
use crate::plan::{Command, Contents, Delivery, File, IdentityCheck, Plan, Provisioning};
use crate::shell::{is_unseen, quote};
use crate::tree::Tree;
use command::{call, lines};

/// What every script reads.
const LIBRARY: &str = include_str!("../lib.sh");

/// The scripts of a cluster and the files beside them.
pub(super) fn emit(plan: &Plan, header: &Header, tree: &mut Tree) {
    let provisioning = &plan.provisioning;
    let mut add = |name: &str, text: String| tree.add_script(format!("cloud/{name}.sh"), text);
    let scripts = resource::scripts(provisioning, header);
    for (name, text) in &scripts {
        add(name, text.clone());
    }
    if !scripts.is_empty() {
        add(
            "apply",
            apply(plan, header, scripts.iter().map(|(name, _)| name.as_str())),
        );
        add("teardown", teardown::teardown(plan, header));
    }
    add("verify", verify::verify(plan, header));
    tree.add("cloud/lib.sh", format!("{}{LIBRARY}", header.comment()));
    let kinds = provisioning.resources.iter().map(|resource| resource.kind);
    let definitions: BTreeMap<_, _> = kinds.filter_map(resource::definitions).collect();
    for (name, text) in definitions {
        tree.add(
            format!("cloud/{name}"),
            format!("{}{text}", header.comment()),
        );
    }
    for file in &provisioning.files {
        add_file(file, header, tree);
    }
    if has_install(plan) {
        tree.add_script(INSTALL, install::install(plan, header));
    }
}

/// The script that brings to the cluster what runs in it.
pub(super) const INSTALL: &str = "install.sh";

/// Whether there is something for that script to bring.
pub(super) fn has_install(plan: &Plan) -> bool {
    matches!(plan.delivery, Delivery::Script) && !plan.steps.is_empty()
}

/// Whether there is something for scripts to make.
pub(super) fn has_apply(plan: &Plan) -> bool {
    !plan.provisioning.resources.is_empty()
}

/// A command as one line that a user can copy. What is known only at run time cannot be in it.
pub(super) fn line(command: &Command) -> String {
    call(command, &[]).concat().join(" ")
}

/// The path of a file beside the scripts, from the cluster's folder.
pub(super) fn path(file: &File) -> String {
    let parts = file.path.split('/').map(name::part).collect::<Vec<_>>();
    format!("cloud/{}", parts.join("/"))
}

fn add_file(file: &File, header: &Header, tree: &mut Tree) {
    let path = path(file);
    match &file.contents {
        Contents::Yaml(node) => tree.add(path, yaml_file(header, node)),
        Contents::Script(text) => tree.add_script(path, format!("{}\n{text}", strict(header, &[]))),
        Contents::Text(text) => tree.add(path, text.clone()),
    }
}

/// What follows the list of scripts.
const APPLY: &str = include_str!("apply.sh");

/// The script that runs all others.
fn apply<'a>(plan: &Plan, header: &Header, scripts: impl Iterator<Item = &'a str>) -> String {
    let about = format!(
        "Makes and changes what cluster {} needs, in order.",
        plan.cluster
    );
    let mut text = head(header, &[&about]);
    text += &flags(&about);
    text.push('\n');
    let scripts: Vec<_> = scripts.map(quote).collect();
    text += &format!("scripts=({})\n{APPLY}", scripts.join(" "));
    text
}

/// The first lines of a script that reads the library: what it is, and that errors end it.
fn head(header: &Header, about: &[&str]) -> String {
    head_with(header, about, "lib.sh")
}

/// The same for a script that has the library elsewhere, as seen from its own folder.
fn head_with(header: &Header, about: &[&str], library: &str) -> String {
    let mut head = strict(header, about);
    head += "here=$(CDPATH='' cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" && pwd)\n";
    head +=
        &format!("# shellcheck source-path=SCRIPTDIR source={library}\n. \"$here/{library}\"\n\n");
    head
}

/// The first lines of any script.
fn strict(header: &Header, about: &[&str]) -> String {
    let mut head = String::from("#!/usr/bin/env bash\n");
    for line in about {
        head += &format!("# {}\n", one_line(line));
    }
    head += &header.comment();
    // Values and jq programs stand in single quotes; to shellcheck they look like shell that was meant to be run.
    head +=
        "# shellcheck disable=SC1003,SC2016 # what stands in single quotes is not for the shell\n";
    head += "set -euo pipefail\nexport LC_ALL=C\n";
    head
}

/// The call that reads the flags of a script for resources.
fn flags(about: &str) -> String {
    let about = one_line(about);
    format!("resource_flags {} \"$@\"\n", quote(&about))
}

/// Asks for tools, and whether this is the right account.
fn preconditions(provisioning: &Provisioning) -> String {
    let tools = provisioning.tools.iter().copied();
    tools_needed(tools) + &identities(provisioning)
}

/// The call that asks for programs; every script needs jq.
fn tools_needed<'t>(tools: impl Iterator<Item = &'t str>) -> String {
    let mut all = vec!["tools", "jq"];
    for tool in tools {
        if !all.contains(&tool) {
            all.push(tool);
        }
    }
    all.join(" ") + "\n"
}

/// The calls that ask whether this is the right account.
fn identities(provisioning: &Provisioning) -> String {
    provisioning.identity.iter().map(identity).collect()
}

fn identity(check: &IdentityCheck) -> String {
    let words = [check.what, &check.want, &check.otherwise];
    let mut groups = vec![
        vec!["identity".to_owned(), quote(words[0]), quote(words[1])],
        vec![quote(words[2])],
    ];
    groups.extend(call(&check.ask, &[]));
    lines(0, &groups)
}

/// Text for a comment or a message: whatever is in it, it does not end the line.
fn one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if is_unseen(c) { ' ' } else { c })
        .collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests;
