//! The scripts that create and update resources: one for each distinct `script` of the resources.

use gpuc_model::plan::{
    Argument, Change, Command, CreatedWith, Field, Observation, Provisioning, Resource,
    ResourceKind,
};
use gpuc_syntax::shell::quote;

use super::command::{
    awaits_update, format_command, observed_arguments, quoted_groups, quoted_program,
};
use super::segments::{Operation, Segment, Segments};
use super::{flags_call, one_line, preconditions, script_head};
use crate::emit::header::Header;
use crate::emit::name;

/// The scripts by name, in the order in which resources first name them. Resources that the scripts only delete have
/// none.
pub(super) fn scripts<'p>(
    provisioning: &'p Provisioning,
    header: &Header,
) -> Vec<(String, Segments<'p>)> {
    let mut scripts: Vec<(String, Vec<&'p Resource>)> = Vec::new();
    let resources = provisioning.resources.iter();
    for resource in resources.filter(|resource| !resource.is_only_deleted()) {
        let name = name::file_name_part(&resource.script);
        match scripts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, resources)) => resources.push(resource),
            None => scripts.push((name, vec![resource])),
        }
    }
    let text = |(name, resources): (String, Vec<&'p Resource>)| {
        (name, resource_script(provisioning, header, &resources))
    };
    scripts.into_iter().map(text).collect()
}

fn resource_script<'p>(
    provisioning: &'p Provisioning,
    header: &Header,
    resources: &[&'p Resource],
) -> Segments<'p> {
    let mut about: Vec<&str> = resources
        .iter()
        .map(|resource| resource.description.as_str())
        .collect();
    about.dedup();
    let mut segments = script_head(header, &about);
    segments.push(
        Segment::Boilerplate(FLAGS_PURPOSE),
        flags_call(&about.join(" ")),
    );
    segments.extend(preconditions(provisioning));
    for (index, resource) in resources.iter().enumerate() {
        let number = index + 1;
        segments.extend(state_functions(resource, number));
        let compares = Segment::Resource(resource, Operation::Read);
        segments.push(
            compares,
            format!("\ncompare_{number}() {{\n  await_stable\n"),
        );
        if resource.create.is_empty() && resource.created_with.is_none() {
            segments.push(compares, "  report_missing\n");
        }
        if !resource.create.is_empty() {
            segments.push(compares, mark_call("require_mark_or_adopt", resource));
        }
        let is_compared = |it: &&Field| !matches!(it.kind.change, Change::AtCreation { .. });
        for field in resource.fields.iter().filter(is_compared) {
            segments.push(Segment::Field(resource, field), compare_field(field));
        }
        if !resource.fields.is_empty() {
            segments.push(compares, "  compare_fields\n");
        }
        segments.push(compares, "}\n");
        let applies = Segment::Resource(resource, Operation::Create);
        segments.push(applies, format!("\napply_{number}() {{\n"));
        segments.extend(create_segments(resource));
        segments.push(applies, "}\n");
    }
    let run = format!("\ncarry_out {}\n", resources.len());
    segments.push(Segment::Boilerplate(APPLY_PURPOSE), run);
    segments
}

/// The purpose of the line with the flags.
const FLAGS_PURPOSE: &str = "parses the script's flags and prints `--help`";

/// The purpose of the last line.
const APPLY_PURPOSE: &str = "checks every resource before it changes any";

/// The call of a function with the mark of a resource; empty if its kind has none.
pub(super) fn mark_call(function: &str, resource: &Resource) -> String {
    resource.kind.mark.map_or_else(String::new, |mark| {
        let words = [function, mark.name, &resource.name];
        let words = words.map(quote);
        format_command(2, &[words.to_vec(), vec![quoted_program(mark.read)]])
    })
}

/// The display name of a resource: its kind and name.
pub(super) fn title(resource: &Resource) -> String {
    one_line(&format!("{} {}", resource.kind.name, resource.name))
}

/// The functions that read a resource with its state, explain a failure, and recover from it.
pub(super) fn state_functions(resource: &Resource, number: usize) -> Segments<'_> {
    let mut text = format!("\nread_{number}() {{\n");
    if let Some((file, _)) = definitions(resource.kind) {
        let path = format!("\"$here\"/{}", quote(&file));
        text += &format_command(2, &[vec!["define".to_owned(), path]]);
    }
    if let Some(state) = resource.kind.state {
        let words = ["state".to_owned(), state.timeout_minutes.to_string()];
        text += &format_command(2, &[words.to_vec(), vec![quoted_program(state.read)]]);
    }
    let observe = ["observe".to_owned(), quote(&title(resource))];
    text += &observation_call(&[observe.to_vec()], &resource.observation);
    if let Some(remnant) = &resource.remnant {
        let minutes = remnant.state.timeout_minutes.to_string();
        let words = [
            "remnant".to_owned(),
            quote(&one_line(&remnant.title)),
            minutes,
        ];
        let tags: serde_json::Map<String, serde_json::Value> = (remnant.tags.iter())
            .map(|(key, value)| (key.clone(), value.clone().into()))
            .collect();
        let groups = [
            words.to_vec(),
            vec![quoted_program(remnant.state.read)],
            vec![quoted_program(remnant.read_tags)],
            vec![quote(&serde_json::Value::Object(tags).to_string())],
        ];
        text += &observation_call(&groups, &remnant.observation);
    }
    text += "}\n";
    if let Some(remnant) = &resource.remnant {
        let explain = format_command(2, &quoted_groups(&remnant.explanation, &[]));
        text += &format!("\nexplain_{number}() {{\n{explain}}}\n");
    }
    if resource.kind.state.is_some() || resource.remnant.is_some() {
        text += &recovery_function(resource, number);
    }
    let mut segments = Segments::default();
    segments.push(Segment::Resource(resource, Operation::Read), text);
    segments
}

/// The function with the recoveries of a resource, by status. A status of what remains of a resource has a prefix.
fn recovery_function(resource: &Resource, number: usize) -> String {
    let own = resource.recovery.iter().map(|recovery| ("", recovery));
    let remnant = resource
        .remnant
        .iter()
        .flat_map(|remnant| &remnant.recovery);
    let all: Vec<_> = own
        .chain(remnant.map(|recovery| ("remnant:", recovery)))
        .collect();
    if all.is_empty() {
        return format!("\nrecovery_{number}() {{\n  :\n}}\n");
    }
    let mut text = format!("\nrecovery_{number}() {{\n  case $1 in\n");
    for (prefix, recovery) in all {
        let patterns = recovery
            .statuses
            .iter()
            .map(|status| format!("{prefix}{status}"));
        text += &format!("    {})\n", patterns.collect::<Vec<_>>().join(" | "));
        let verb = if recovery.is_safe {
            "recover_safely"
        } else {
            "recover"
        };
        text += &commands_with_verb(6, verb, &recovery.commands, NO_FIELD);
        text += "      ;;\n";
    }
    text + "    *) ;;\n  esac\n}\n"
}

/// The call that reads something: these words, the pattern of the error if it does not exist, and the command.
fn observation_call(groups: &[Vec<String>], observation: &Observation) -> String {
    let mut groups = groups.to_vec();
    if let Some(last) = groups.last_mut() {
        last.push(quote(observation.absent_pattern));
    }
    groups.extend(quoted_groups(&observation.command, &[]));
    format_command(2, &groups)
}

/// The name and the contents of the file with the jq definitions of a kind of resource.
pub(super) fn definitions(kind: &ResourceKind) -> Option<(String, &'static str)> {
    let name = name::file_name_part(&kind.name.to_lowercase().replace(' ', "-"));
    (!kind.definitions.is_empty()).then(|| (format!("{name}.jq"), kind.definitions))
}

fn compare_field(field: &Field) -> String {
    let (change, reason) = match field.kind.change {
        Change::Replacement { reason } => ("replaces", reason),
        Change::NodeRollout { reason } if field.lookup.is_some() => ("offers", reason),
        Change::NodeRollout { reason } if !field.update.is_empty() => ("rolls", reason),
        _ if field.update.is_empty() => ("replaces", "no command updates it"),
        Change::MinorVersionSteps { reason, .. } => ("climbs", reason),
        Change::NodeRollout { .. } => {
            unreachable!("the second arm matches it with an update command")
        }
        Change::AtCreation { .. } => unreachable!("an existing resource is not compared with it"),
        Change::InPlace | Change::Access | Change::Resize => ("changes", ""),
    };
    let name = quote(field.kind.name);
    let words = ["field", &name, change, &quote(reason)].map(str::to_owned);
    let lookup = field.lookup.iter().map(|lookup| {
        let words = ["lookup".to_owned(), name.clone()];
        let mut groups = vec![words.to_vec(), vec![quoted_program(&lookup.read)]];
        groups.extend(quoted_groups(&lookup.command, &[]));
        format_command(2, &groups)
    });
    let lookup: String = lookup.collect();
    let wanted = vec![desired_word(field)];
    let mut groups = vec![
        words.to_vec(),
        wanted,
        vec![quoted_program(field.kind.read)],
    ];
    groups.extend(
        field
            .external_entries
            .map(|others| vec![quoted_program(others)]),
    );
    lookup + &format_command(2, &groups)
}

/// The desired value of a field as a word of a script.
fn desired_word(field: &Field) -> String {
    match field.lookup {
        Some(_) => LOOKED_UP.to_owned(),
        None => quote(&field.desired.to_string()),
    }
}

/// The value that the function `lookup` has read.
const LOOKED_UP: &str = "\"${desired[number]}\"";

/// The desired value of commands that are for no field.
const NO_FIELD: &str = "null";

fn create_segments(resource: &Resource) -> Segments<'_> {
    let mut text = String::from("  if is_missing; then\n");
    if let Some(with) = &resource.created_with {
        text += &created_with_call(with);
    }
    if resource.create.is_empty() {
        text += "    report_absent\n    return\n";
    } else {
        text += "    begin_creation\n";
        text += &change_commands(4, &resource.create);
        let late = resource.fields.iter().filter(|it| it.is_set_after_creation);
        let late: Vec<_> = late.map(|field| quote(field.kind.name)).collect();
        if !late.is_empty() {
            text += &format!("    set_after_creation {}\n", late.join(" "));
        }
        text += "    return\n";
    }
    text += "  fi\n";
    let mut segments = Segments::default();
    segments.push(Segment::Resource(resource, Operation::Create), text);
    for (names, field) in grouped_updates(&resource.fields) {
        let tests: Vec<String> = names
            .iter()
            .map(|name| format!("differs {}", quote(name)))
            .collect();
        let mut text = format!("  if {}; then\n", tests.join(" || "));
        text += &commands_with_verb(4, "run", &field.update, &desired_word(field));
        text += "  fi\n";
        segments.push(Segment::Field(resource, field), text);
    }
    segments
}

/// The dry run of a resource that is created together with another one that does not exist either.
fn created_with_call(creator: &CreatedWith) -> String {
    let words = ["if", "would_come_with"].map(str::to_owned);
    let mut words = words.to_vec();
    words.extend([
        quote(&one_line(&creator.title)),
        quote(creator.observation.absent_pattern),
    ]);
    let mut groups = vec![words];
    groups.extend(quoted_groups(&creator.observation.command, &[]));
    let test = format_command(4, &groups);
    let run = change_commands(6, &creator.follow_up);
    format!("{}; then\n{run}      return\n    fi\n", test.trim_end())
}

/// The updates, each with the fields that it applies to. Fields with the same update commands are updated together.
fn grouped_updates(fields: &[Field]) -> Vec<(Vec<&'static str>, &Field)> {
    let mut updates: Vec<(Vec<&'static str>, &Field)> = Vec::new();
    for field in fields.iter().filter(|field| is_mutable(field)) {
        let existing = updates.iter_mut().find(|(_, other)| {
            let depends = field
                .update
                .iter()
                .any(|command| observed_arguments(command).next().is_some());
            other.update == field.update && (!depends || other.desired == field.desired)
        });
        match existing {
            Some((names, _)) => names.push(field.kind.name),
            None => updates.push((vec![field.kind.name], field)),
        }
    }
    updates
}

fn is_mutable(field: &Field) -> bool {
    !field.update.is_empty() && !matches!(field.kind.change, Change::Replacement { .. })
}

/// Commands that create or delete something.
pub(super) fn change_commands(indent: usize, commands: &[Command]) -> String {
    commands_with_verb(indent, "run", commands, NO_FIELD)
}

/// Commands that the function `verb` runs; `desired` is the desired value of their field, as a word. A command whose
/// update is awaited is run by `run_update`. Values from the observed resource are assigned to variables first: a
/// command substitution that fails inside an argument does not end the script.
fn commands_with_verb(indent: usize, verb: &str, commands: &[Command], desired: &str) -> String {
    let margin = " ".repeat(indent);
    let mut text = String::new();
    let mut count = 0;
    for (index, command) in commands.iter().enumerate() {
        let mut names = Vec::new();
        let verb = match commands.get(index + 1) {
            _ if awaits_update(command) => "await_update",
            Some(next) if awaits_update(next) => "run_update",
            _ => verb,
        };
        let mut start = vec![verb.to_owned()];
        for (word, source) in observed_arguments(command) {
            count += 1;
            let name = format!("observed_{count}");
            text += &format!("{margin}local {name}\n");
            let source = match word {
                Argument::ObservedList(_) => quoted_program(&format!("({source}) | @sh")),
                _ => quoted_program(source),
            };
            let groups = [
                format!("{name}=$(observed"),
                desired.to_owned(),
                format!("{source})"),
            ];
            text += &format_command(indent, &groups.map(|word| vec![word]));
            match word {
                Argument::ObservedList(_) => {
                    let list = format!("words_{count}");
                    text += &format!("{margin}local -a {list}\n");
                    text += &format!("{margin}eval \"{list}=(${name})\"\n");
                    names.push(list);
                }
                Argument::ObservedOptional(_) => {
                    let test = format!("[ \"${name}\" = null ] ||");
                    start.insert(0, test);
                    names.push(name);
                }
                _ => names.push(name),
            }
        }
        let mut groups = quoted_groups(command, &names);
        groups[0].splice(0..0, start);
        text += &format_command(indent, &groups);
    }
    text
}
