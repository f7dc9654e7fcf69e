//! The scripts that create and update resources: one for each distinct `script` of the resources.

use gpuc_model::plan::{
    Change, ComesWith, Command, Field, Provisioning, Resource, ResourceKind, Word,
};
use gpuc_syntax::shell::quote;
use serde_json::Value;

use super::command::{call, lines, observed, program};
use super::segments::{Doing, Part, Parts};
use super::{flags, head, one_line, preconditions};
use crate::emit::header::Header;
use crate::emit::name;

/// The scripts by name, in the order in which resources first name them. Resources that the scripts only delete have
/// none.
pub(super) fn scripts<'p>(
    provisioning: &'p Provisioning,
    header: &Header,
) -> Vec<(String, Parts<'p>)> {
    let mut scripts: Vec<(String, Vec<&'p Resource>)> = Vec::new();
    let resources = provisioning.resources.iter();
    for resource in resources.filter(|resource| !resource.is_only_removed()) {
        let name = name::part(&resource.script);
        match scripts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, resources)) => resources.push(resource),
            None => scripts.push((name, vec![resource])),
        }
    }
    let text = |(name, resources): (String, Vec<&'p Resource>)| {
        (name, script(provisioning, header, &resources))
    };
    scripts.into_iter().map(text).collect()
}

fn script<'p>(
    provisioning: &'p Provisioning,
    header: &Header,
    resources: &[&'p Resource],
) -> Parts<'p> {
    let mut about: Vec<&str> = resources
        .iter()
        .map(|resource| resource.about.as_str())
        .collect();
    about.dedup();
    let mut parts = head(header, &about);
    parts.add(Part::Fixed(FLAGS), flags(&about.join(" ")));
    parts.extend(preconditions(provisioning));
    for (index, resource) in resources.iter().enumerate() {
        let number = index + 1;
        let looks = Part::Resource(resource, Doing::Looks);
        parts.add(looks, format!("\nlook_{number}() {{\n"));
        parts.extend(look(resource));
        parts.add(looks, "}\n");
        let makes = Part::Resource(resource, Doing::Makes);
        parts.add(makes, format!("\nmake_{number}() {{\n"));
        parts.extend(make(resource));
        parts.add(makes, "}\n");
    }
    let run = format!("\ncarry_out {}\n", resources.len());
    parts.add(Part::Fixed(CARRY_OUT), run);
    parts
}

/// The purpose of the line with the flags.
const FLAGS: &str = "parses the script's flags and prints `--help`";

/// The purpose of the last line.
const CARRY_OUT: &str = "checks every resource before it changes any";

/// The display name of a resource: its kind and name.
pub(super) fn title(resource: &Resource) -> String {
    one_line(&format!("{} {}", resource.kind.name, resource.name))
}

/// The call that reads a resource.
pub(super) fn observe(resource: &Resource) -> String {
    let words = [
        "observe".to_owned(),
        quote(&title(resource)),
        quote(resource.observe.absent),
    ];
    let mut groups = vec![words.to_vec()];
    groups.extend(call(&resource.observe.command, &[]));
    lines(2, &groups)
}

fn look(resource: &Resource) -> Parts<'_> {
    let mut text = String::new();
    if let Some((file, _)) = definitions(resource.kind) {
        let path = format!("\"$here\"/{}", quote(&file));
        text += &lines(2, &[vec!["define".to_owned(), path]]);
    }
    text += &observe(resource);
    let mut parts = Parts::default();
    parts.add(Part::Resource(resource, Doing::Looks), text);
    for field in &resource.fields {
        parts.add(Part::Field(resource, field), compare_field(field));
    }
    parts
}

/// The name and the contents of the file with the jq definitions of a kind of resource.
pub(super) fn definitions(kind: &ResourceKind) -> Option<(String, &'static str)> {
    let name = name::part(&kind.name.to_lowercase().replace(' ', "-"));
    (!kind.definitions.is_empty()).then(|| (format!("{name}.jq"), kind.definitions))
}

fn compare_field(field: &Field) -> String {
    let (change, reason) = match field.kind.change {
        Change::Replaces { reason } => ("replaces", reason),
        Change::Rolls { reason } if !field.update.is_empty() => ("rolls", reason),
        _ if field.update.is_empty() => ("replaces", "no command updates it"),
        Change::Climbs { reason, .. } => ("climbs", reason),
        Change::Rolls { .. } => unreachable!("the second arm matches it with an update command"),
        Change::InPlace | Change::Resizes => ("changes", ""),
    };
    let name = quote(field.kind.name);
    let words = ["field", &name, change, &quote(reason)].map(str::to_owned);
    let wanted = vec![quote(&field.want.to_string())];
    let mut groups = vec![words.to_vec(), wanted, vec![program(field.kind.read)]];
    groups.extend(field.others.map(|others| vec![program(others)]));
    lines(2, &groups)
}

fn make(resource: &Resource) -> Parts<'_> {
    let mut text = String::from("  if is_missing; then\n");
    if let Some(with) = &resource.comes_with {
        text += &comes_with(with);
    }
    if resource.create.is_empty() {
        let message = format!("{}: not found: no script creates it", title(resource));
        text += &format!("    die {}\n", quote(&message));
    } else {
        text += "    begin_creation\n";
        text += &run(4, &resource.create, &Value::Null);
        text += "    return\n";
    }
    text += "  fi\n";
    let mut parts = Parts::default();
    parts.add(Part::Resource(resource, Doing::Makes), text);
    for (names, field) in updates(&resource.fields) {
        let tests: Vec<String> = names
            .iter()
            .map(|name| format!("differs {}", quote(name)))
            .collect();
        let mut text = format!("  if {}; then\n", tests.join(" || "));
        text += &run(4, &field.update, &field.want);
        text += "  fi\n";
        parts.add(Part::Field(resource, field), text);
    }
    parts
}

/// The dry run of a resource that is created together with another one that does not exist either.
fn comes_with(with: &ComesWith) -> String {
    let words = ["if", "would_come_with"].map(str::to_owned);
    let mut words = words.to_vec();
    words.extend([quote(&one_line(&with.what)), quote(with.observe.absent)]);
    let mut groups = vec![words];
    groups.extend(call(&with.observe.command, &[]));
    let test = lines(4, &groups);
    let run = run(6, &with.afterwards, &Value::Null);
    format!("{}; then\n{run}      return\n    fi\n", test.trim_end())
}

/// The updates, each with the fields that it applies to. Fields with the same update commands are updated together.
fn updates(fields: &[Field]) -> Vec<(Vec<&'static str>, &Field)> {
    let mut updates: Vec<(Vec<&'static str>, &Field)> = Vec::new();
    for field in fields.iter().filter(|field| is_mutable(field)) {
        let same = updates.iter_mut().find(|(_, other)| {
            let depends = field
                .update
                .iter()
                .any(|command| observed(command).next().is_some());
            other.update == field.update && (!depends || other.want == field.want)
        });
        match same {
            Some((names, _)) => names.push(field.kind.name),
            None => updates.push((vec![field.kind.name], field)),
        }
    }
    updates
}

fn is_mutable(field: &Field) -> bool {
    !field.update.is_empty() && !matches!(field.kind.change, Change::Replaces { .. })
}

/// Commands that change something. Values from the observed resource are assigned to variables first: a command
/// substitution that fails inside an argument does not end the script.
pub(super) fn run(indent: usize, commands: &[Command], want: &Value) -> String {
    let margin = " ".repeat(indent);
    let mut text = String::new();
    let mut count = 0;
    for command in commands {
        let mut names = Vec::new();
        let mut start = vec!["run".to_owned()];
        for (word, source) in observed(command) {
            count += 1;
            let name = format!("observed_{count}");
            text += &format!("{margin}local {name}\n");
            let source = match word {
                Word::ObservedWords(_) => program(&format!("({source}) | @sh")),
                _ => program(source),
            };
            let groups = [
                format!("{name}=$(observed"),
                quote(&want.to_string()),
                format!("{source})"),
            ];
            text += &lines(indent, &groups.map(|word| vec![word]));
            match word {
                Word::ObservedWords(_) => {
                    let list = format!("words_{count}");
                    text += &format!("{margin}local -a {list}\n");
                    text += &format!("{margin}eval \"{list}=(${name})\"\n");
                    names.push(list);
                }
                Word::ObservedIfAny(_) => {
                    let test = format!("[ \"${name}\" = null ] ||");
                    start.insert(0, test);
                    names.push(name);
                }
                _ => names.push(name),
            }
        }
        let mut groups = call(command, &names);
        groups[0].splice(0..0, start);
        text += &lines(indent, &groups);
    }
    text
}
