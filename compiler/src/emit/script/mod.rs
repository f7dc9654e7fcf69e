//! Provisioning to shell scripts, in `cloud/`.
//!
//! This part alone knows about quoting, order, and what a script does twice. Clouds say what there shall be.

#![expect(
    clippy::format_push_string,
    reason = "a script reads best as the lines it is made of, and is short"
)]

mod command;
mod install;
mod parts;
mod resource;
mod teardown;
mod verify;

use std::collections::BTreeMap;

use super::header::Header;
use super::{name, yaml_file};
use crate::plan::{
    Command, Contents, Delivery, File, IdentityCheck, Plan, Provisioning, ResourceKind,
};
use crate::shell::{is_unseen, quote};
use crate::tree::Tree;
use command::{call, lines};
pub use parts::{Doing, Part, Parts};

/// What every script reads.
const LIBRARY: &str = include_str!("../lib.sh");

/// The scripts of a cluster and the files beside them.
pub(super) fn emit(plan: &Plan, header: &Header, tree: &mut Tree) {
    for (path, parts) in scripts(plan, header) {
        tree.add_script(path, parts.text());
    }
    tree.add(LIBRARY_FILE, format!("{}{LIBRARY}", header.comment()));
    for (path, kind) in definitions(plan) {
        let text = format!("{}{}", header.comment(), kind.definitions);
        tree.add(path, text);
    }
    for file in &plan.provisioning.files {
        add_file(file, header, tree);
    }
}

/// The library's path.
pub(super) const LIBRARY_FILE: &str = "cloud/lib.sh";

/// Every script by its path, as its parts.
pub(super) fn scripts<'p>(plan: &'p Plan, header: &Header) -> Vec<(String, Parts<'p>)> {
    let provisioning = &plan.provisioning;
    let own = resource::scripts(provisioning, header);
    let mut scripts = Vec::new();
    if !own.is_empty() {
        let names = own.iter().map(|(name, _)| name.as_str());
        scripts.push(("apply".to_owned(), apply(plan, header, names)));
        scripts.push(("teardown".to_owned(), teardown::teardown(plan, header)));
    }
    scripts.push(("verify".to_owned(), verify::verify(plan, header)));
    let all = own.into_iter().chain(scripts);
    let mut scripts: Vec<_> = all
        .map(|(name, parts)| (format!("cloud/{name}.sh"), parts))
        .collect();
    for file in &provisioning.files {
        if let Contents::Script(text) = &file.contents {
            let mut parts = strict(header, &[]);
            parts.add(Part::File(file), format!("\n{text}"));
            scripts.push((path(file), parts));
        }
    }
    if has_install(plan) {
        scripts.push((INSTALL.to_owned(), install::install(plan, header)));
    }
    scripts
}

/// The files with the definitions of kinds of resources, by path.
pub(super) fn definitions(plan: &Plan) -> BTreeMap<String, &'static ResourceKind> {
    let kinds = plan.provisioning.resources.iter().map(|one| one.kind);
    let files = kinds.filter_map(|kind| {
        let (name, _) = resource::definitions(kind)?;
        Some((format!("cloud/{name}"), kind))
    });
    files.collect()
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
        // It is among the scripts.
        Contents::Script(_) => {}
        Contents::Text(text) => tree.add(path, text.clone()),
    }
}

/// What follows the list of scripts.
const APPLY: &str = include_str!("apply.sh");

/// The script that runs all others.
fn apply<'p, 'a>(
    plan: &Plan,
    header: &Header,
    scripts: impl Iterator<Item = &'a str>,
) -> Parts<'p> {
    let about = format!(
        "Makes and changes what cluster {} needs, in order.",
        plan.cluster
    );
    let mut parts = head(header, &[&about]);
    parts.add(Part::Fixed(RUNS), format!("{}\n", flags(&about)));
    let scripts: Vec<_> = scripts.map(quote).collect();
    let list = format!("scripts=({})\n", scripts.join(" "));
    parts.add(Part::Scripts, list);
    parts.add(Part::Fixed(RUNS), APPLY);
    parts
}

/// What the text is for that every such script has.
const RUNS: &str =
    "reads the flags, and lets every script look before the first one changes anything";

/// The first lines of a script that reads the library: what it is, and that errors end it.
fn head<'p>(header: &Header, about: &[&str]) -> Parts<'p> {
    head_with(header, about, "lib.sh")
}

/// The same for a script that has the library elsewhere, as seen from its own folder.
fn head_with<'p>(header: &Header, about: &[&str], library: &str) -> Parts<'p> {
    let mut parts = strict(header, about);
    let mut head = String::new();
    head += "here=$(CDPATH='' cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" && pwd)\n";
    head +=
        &format!("# shellcheck source-path=SCRIPTDIR source={library}\n. \"$here/{library}\"\n\n");
    parts.add(Part::Fixed(READS), head);
    parts
}

/// What the lines are for that read the library.
const READS: &str = "reads the functions that all scripts share";

/// The first lines of any script.
fn strict<'p>(header: &Header, about: &[&str]) -> Parts<'p> {
    let mut head = String::from("#!/usr/bin/env bash\n");
    for line in about {
        head += &format!("# {}\n", one_line(line));
    }
    head += &header.comment();
    // Values and jq programs stand in single quotes; to shellcheck they look like shell that was meant to be run.
    head +=
        "# shellcheck disable=SC1003,SC2016 # what stands in single quotes is not for the shell\n";
    head += "set -euo pipefail\nexport LC_ALL=C\n";
    let mut parts = Parts::default();
    parts.add(Part::Head, head);
    parts
}

/// The call that reads the flags of a script for resources.
fn flags(about: &str) -> String {
    let about = one_line(about);
    format!("resource_flags {} \"$@\"\n", quote(&about))
}

/// Asks for tools, and whether this is the right account.
fn preconditions(provisioning: &Provisioning) -> Parts<'_> {
    let tools = provisioning.tools.iter().copied();
    let mut parts = Parts::default();
    parts.add(Part::Tools, tools_needed(tools));
    parts.extend(identities(provisioning));
    parts
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
fn identities(provisioning: &Provisioning) -> Parts<'_> {
    let mut parts = Parts::default();
    for check in &provisioning.identity {
        parts.add(Part::Identity(check), identity(check));
    }
    parts
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
