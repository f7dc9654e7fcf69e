//! Commands as lines of a script.

use crate::plan::{Command, Word};
use crate::shell::quote;

/// The longest line a command is kept on.
const WIDTH: usize = 100;

/// The words of a command as they stand in a script, those that belong together in one group: the program and its
/// verbs, then each flag with its values. `observed` names the variables that hold what is known only at run time, in
/// order.
pub(super) fn call(command: &Command, observed: &[String]) -> Vec<Vec<String>> {
    let mut observed = observed.iter();
    let mut groups: Vec<Vec<String>> = vec![Vec::new()];
    for word in &command.0 {
        let is_flag = matches!(word, Word::Text(text) if text.starts_with('-') && text != "-");
        let shown = match word {
            Word::Text(text) => quote(text),
            Word::Beside(file) => format!("\"$here\"/{}", quote(file)),
            Word::Observed(_) | Word::ObservedIfAny(_) => {
                format!("\"${}\"", variable(&mut observed))
            }
            Word::ObservedWords(_) => format!("\"${{{}[@]}}\"", variable(&mut observed)),
        };
        match groups.last_mut().filter(|_| !is_flag) {
            Some(group) => group.push(shown),
            None => groups.push(vec![shown]),
        }
    }
    groups
}

fn variable<'n>(observed: &mut impl Iterator<Item = &'n String>) -> &'n str {
    let name = observed.next();
    name.unwrap_or_else(|| unreachable!("every observed word has a variable"))
}

/// The words of a command that are known only when the script runs, in order, with their jq programs.
pub(super) fn observed(command: &Command) -> impl Iterator<Item = (&Word, &str)> {
    command.0.iter().filter_map(|word| match word {
        Word::Observed(program) | Word::ObservedIfAny(program) | Word::ObservedWords(program) => {
            Some((word, program.as_str()))
        }
        Word::Text(_) | Word::Beside(_) => None,
    })
}

/// A jq program as a word. What only lays it out over several lines of a source file is left out, so that it stays
/// legible in quotes; where a `#` may begin a comment, line breaks mean something and stay.
pub(super) fn program(text: &str) -> String {
    if text.contains('#') {
        return quote(text);
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    quote(lines.join(" ").trim())
}

/// A command on one line if it is short. Otherwise a line for each group, so that a change of one flag is a change of
/// one line; a group that is too long for a line has a line for each word.
pub(super) fn lines(indent: usize, groups: &[Vec<String>]) -> String {
    let margin = " ".repeat(indent);
    let groups: Vec<&Vec<String>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let whole: Vec<String> = groups.iter().map(|group| group.join(" ")).collect();
    let whole = whole.join(" ");
    if fits(&whole, indent) {
        return format!("{margin}{whole}\n");
    }
    let mut rows = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let depth = if index == 0 { indent } else { indent + 2 };
        let joined = group.join(" ");
        if fits(&joined, depth) {
            rows.push(" ".repeat(depth) + &joined);
        } else if index == 0 {
            rows.extend(filled(group, depth));
        } else {
            let words = group.iter().enumerate();
            rows.extend(words.map(|(place, word)| {
                let more = if place == 0 { 0 } else { 2 };
                " ".repeat(depth + more) + word
            }));
        }
    }
    rows.join(" \\\n") + "\n"
}

/// The program and its verbs, as many on a line as there is room for.
fn filled(words: &[String], depth: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in words {
        let last = rows.last_mut();
        if let Some(row) = last.filter(|row| fits(&format!("{row} {word}"), 0)) {
            row.push(' ');
            row.push_str(word);
        } else {
            let more = if rows.is_empty() { 0 } else { 2 };
            rows.push(" ".repeat(depth + more) + word);
        }
    }
    rows
}

fn fits(line: &str, indent: usize) -> bool {
    line.chars().count() + indent <= WIDTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_commands_stay_on_a_line_and_long_ones_show_each_flag() {
        let short = Command::new(["aws", "eks", "list", "--region", "eu-west-1"]);
        assert_eq!(
            lines(2, &call(&short, &[])),
            "  aws eks list --region eu-west-1\n"
        );
        let long = short
            .clone()
            .with(["--a"; 20])
            .with(["--zones", "1", "2", "-"]);
        let long = long.with_word(Word::Beside("x y.json".to_owned()));
        let text = lines(0, &call(&long, &[]));
        assert!(
            text.starts_with("aws eks list \\\n  --region eu-west-1 \\\n  --a \\\n"),
            "{text}"
        );
        assert!(
            text.ends_with(" \\\n  --zones 1 2 - \"$here\"/'x y.json'\n"),
            "{text}"
        );
        let labels: Vec<String> = (0..9).map(|n| format!("key-number-{n}=value")).collect();
        let many = short.with(["--labels"]).with(labels);
        assert_eq!(program("a\n    | b\n"), "'a | b'");
        assert_eq!(program("a # b\n| c"), r"$'a # b\n| c'");
        let text = lines(0, &call(&many, &[]));
        assert!(
            text.contains("  --labels \\\n    'key-number-0=value' \\\n"),
            "{text}"
        );
    }
}
