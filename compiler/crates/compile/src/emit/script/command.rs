//! Commands as lines of a script.

use gpuc_model::plan::{Argument, Command};
use gpuc_syntax::shell::quote;

/// The maximum width of a command on one line.
const WIDTH: usize = 100;

/// The quoted words of a command, grouped: the program and its subcommands, then each flag with its values. `observed`
/// names the variables that hold the values known only at run time, in order.
pub(super) fn quoted_groups(command: &Command, observed: &[String]) -> Vec<Vec<String>> {
    let mut observed = observed.iter();
    let mut groups: Vec<Vec<String>> = vec![Vec::new()];
    for word in &command.0 {
        let is_flag = matches!(word, Argument::Text(text) if text.starts_with('-') && text != "-");
        let quoted = match word {
            Argument::Text(text) => quote(text),
            Argument::CloudFile(file) => format!("\"$here\"/{}", quote(file)),
            Argument::Observed(_) | Argument::ObservedOptional(_) => {
                format!("\"${}\"", next_variable(&mut observed))
            }
            Argument::ObservedList(_) => format!("\"${{{}[@]}}\"", next_variable(&mut observed)),
            Argument::UpdateId => "\"$update\"".to_owned(),
        };
        match groups.last_mut().filter(|_| !is_flag) {
            Some(group) => group.push(quoted),
            None => groups.push(vec![quoted]),
        }
    }
    groups
}

fn next_variable<'n>(observed: &mut impl Iterator<Item = &'n String>) -> &'n str {
    let name = observed.next();
    name.unwrap_or_else(|| unreachable!("every observed word has a variable"))
}

/// The words of a command that are known only at run time, in order, with their jq programs.
pub(super) fn observed_arguments(command: &Command) -> impl Iterator<Item = (&Argument, &str)> {
    command.0.iter().filter_map(|word| match word {
        Argument::Observed(program)
        | Argument::ObservedOptional(program)
        | Argument::ObservedList(program) => Some((word, program.as_str())),
        Argument::Text(_) | Argument::CloudFile(_) | Argument::UpdateId => None,
    })
}

/// Whether the command reads the update that the previous command started.
pub(super) fn awaits_update(command: &Command) -> bool {
    command.0.contains(&Argument::UpdateId)
}

/// A jq program as a quoted word, on one line for legibility. Line breaks are kept if a `#` may begin a comment.
pub(super) fn quoted_program(text: &str) -> String {
    if text.contains('#') {
        return quote(text);
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    quote(lines.join(" ").trim())
}

/// Formats a command on one line if it is short. Otherwise each group is on its own line, so that a change of one flag
/// changes one line. A group that is too long for a line has one line per word.
pub(super) fn format_command(indent: usize, groups: &[Vec<String>]) -> String {
    let groups: Vec<&[String]> = groups
        .iter()
        .map(Vec::as_slice)
        .filter(|group| !group.is_empty())
        .collect();
    let widths: Vec<usize> = groups.iter().map(|group| width(group)).collect();
    let mut text = String::new();
    if indent + widths.iter().sum::<usize>() + widths.len().saturating_sub(1) <= WIDTH {
        append_row(&mut text, indent, groups.into_iter().flatten());
        text.push('\n');
        return text;
    }
    for (index, (group, width)) in groups.iter().zip(widths).enumerate() {
        let depth = if index == 0 { indent } else { indent + 2 };
        if depth + width <= WIDTH {
            append_row(&mut text, depth, *group);
        } else if index == 0 {
            append_wrapped(&mut text, depth, group);
        } else {
            for (index, word) in group.iter().enumerate() {
                let hanging = if index == 0 { 0 } else { 2 };
                append_row(&mut text, depth + hanging, [word]);
            }
        }
    }
    text.push('\n');
    text
}

/// Appends a row of a command, as a continuation of the previous row if there is one.
fn append_row<'a>(text: &mut String, depth: usize, words: impl IntoIterator<Item = &'a String>) {
    if !text.is_empty() {
        text.push_str(" \\\n");
    }
    text.extend(std::iter::repeat_n(' ', depth));
    for (index, word) in words.into_iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(word);
    }
}

/// Appends the program and its subcommands, with as many words per line as fit.
fn append_wrapped(text: &mut String, depth: usize, words: &[String]) {
    let mut rest = words;
    let mut hanging = 0;
    while !rest.is_empty() {
        let fitting =
            (2..=rest.len()).take_while(|&count| depth + hanging + width(&rest[..count]) <= WIDTH);
        let (current, remaining) = rest.split_at(fitting.last().unwrap_or(1));
        append_row(text, depth + hanging, current);
        (rest, hanging) = (remaining, 2);
    }
}

/// The width of the words on one line.
fn width(words: &[String]) -> usize {
    let characters: usize = words.iter().map(|word| word.chars().count()).sum();
    characters + words.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_have_one_flag_per_line() {
        let short = Command::new(["aws", "eks", "list", "--region", "eu-west-1"]);
        assert_eq!(
            format_command(2, &quoted_groups(&short, &[])),
            "  aws eks list --region eu-west-1\n"
        );
        let long = short
            .clone()
            .with_arguments(["--a"; 20])
            .with_arguments(["--zones", "1", "2", "-"]);
        let long = long.with_argument(Argument::CloudFile("x y.json".to_owned()));
        let text = format_command(0, &quoted_groups(&long, &[]));
        assert!(
            text.starts_with("aws eks list \\\n  --region eu-west-1 \\\n  --a \\\n"),
            "{text}"
        );
        assert!(
            text.ends_with(" \\\n  --zones 1 2 - \"$here\"/'x y.json'\n"),
            "{text}"
        );
        let labels: Vec<String> = (0..9).map(|n| format!("key-number-{n}=value")).collect();
        let many = short.with_arguments(["--labels"]).with_arguments(labels);
        assert_eq!(quoted_program("a\n    | b\n"), "'a | b'");
        assert_eq!(quoted_program("a # b\n| c"), r"$'a # b\n| c'");
        let text = format_command(0, &quoted_groups(&many, &[]));
        assert!(
            text.contains("  --labels \\\n    'key-number-0=value' \\\n"),
            "{text}"
        );
    }
}
