//! The instructions of a help: what its text asks the user to type or to remove.

/// One thing that a help instructs the user to do. A help with several alternatives has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// Apply the fix of the finding.
    ApplyFix,
    /// Write a text at the place of the finding.
    Replace(String),
    /// Set keys of a mapping: the named one, or the one around the place of the finding.
    Set {
        /// The YAML of the entries, such as `sharing: none`.
        entries: Vec<String>,
        /// The key of the mapping.
        target: Option<String>,
        /// Whether the help names the cluster's file.
        is_in_cluster: bool,
        /// The key that the entries replace; `it` for what the finding is about.
        instead_of: Option<String>,
    },
    /// Remove what the finding is about, or what is around it.
    RemoveIt,
    /// Remove keys, with their values, or items of a list.
    Remove(Vec<String>),
}

/// Splits a text into prose and the contents of backticks, in turn. Starts with prose.
fn pieces(text: &str) -> Vec<&str> {
    text.split('`').collect()
}

/// The instructions of a help. Alternatives that only the user can complete, such as "lower the requests", have none.
pub(super) fn instructions(help: &str) -> Vec<Instruction> {
    // The key exists already: the user merges the two.
    if help.ends_with("write it there") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for clause in clauses(help) {
        found.extend(read_clause(&clause));
    }
    found
}

/// The alternatives of a help, as prose and contents of backticks in turn.
fn clauses(help: &str) -> Vec<Vec<String>> {
    const ENDS: &[&str] = &[
        "; or ",
        ", or ",
        "; otherwise ",
        "; ",
        "? ",
        ": ",
        ", ",
        " or ",
    ];
    let mut clauses = vec![vec![String::new()]];
    for (index, piece) in pieces(help).into_iter().enumerate() {
        if index % 2 == 1 {
            let clause = clauses.last_mut().unwrap();
            clause.push(piece.to_owned());
            clause.push(String::new());
            continue;
        }
        let mut rest = piece;
        while !rest.is_empty() {
            let next = ENDS.iter().filter_map(|end| {
                let at = rest.find(end)?;
                starts_with_verb(&rest[at + end.len()..]).then_some((at, end.len()))
            });
            let Some((at, length)) = next.min() else {
                break;
            };
            clauses
                .last_mut()
                .unwrap()
                .last_mut()
                .unwrap()
                .push_str(&rest[..at]);
            clauses.push(vec![String::new()]);
            rest = &rest[at + length..];
        }
        clauses
            .last_mut()
            .unwrap()
            .last_mut()
            .unwrap()
            .push_str(rest);
    }
    clauses
}

const VERBS: &[&str] = &[
    "write",
    "use",
    "choose",
    "select",
    "name",
    "add",
    "set",
    "remove",
    "delete",
    "rename",
    "keep",
    "lower",
    "raise",
    "give",
    "move",
    "request",
    "run",
    "correct",
    "change",
    "replace",
    "allow",
    "did you mean",
    "list",
    "define",
    "quote",
    "compare",
    "share",
    "exclude",
    "leave",
    "describe",
    "sign",
    "label",
    "create",
    "check",
    "fix",
    "mount",
    "put",
];

fn starts_with_verb(text: &str) -> bool {
    VERBS.iter().any(|verb| {
        let rest = text.strip_prefix(verb);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

/// Whether a text contains a placeholder that only the user can replace.
fn has_placeholder(text: &str) -> bool {
    text.contains('…') || text.contains("NAME") || text.contains("ID") || text.contains("sg-")
}

/// Whether a text is an entry of a mapping, `key: value`, and not a lone value such as an image with a tag.
fn is_entry(text: &str) -> bool {
    let key = text.split(": ").next().unwrap_or_default();
    text.contains(": ")
        && key
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "./_-".contains(it))
}

fn read_clause(clause: &[String]) -> Vec<Instruction> {
    let lead = clause[0].trim();
    let words: Vec<_> = clause
        .iter()
        .skip(1)
        .step_by(2)
        .map(String::as_str)
        .collect();
    let prose: Vec<_> = clause
        .iter()
        .skip(2)
        .step_by(2)
        .map(|it| it.trim())
        .collect();
    let is_first_step = prose.iter().any(|prose| prose.contains(", and "));
    if is_first_step || words.iter().any(|word| has_placeholder(word)) {
        return Vec::new();
    }
    let verb = lead.split(' ').next().unwrap_or_default();
    match verb {
        "remove" | "delete" => read_removal(lead, &words, &prose),
        "did" => words
            .first()
            .map(|it| Instruction::Replace((*it).to_owned()))
            .into_iter()
            .collect(),
        "write" | "use" | "choose" | "select" | "set" | "add" | "name" | "quote" | "rename"
        | "request" => read_text(verb, lead, &words, &prose),
        _ => Vec::new(),
    }
}

fn read_removal(lead: &str, words: &[&str], prose: &[&str]) -> Vec<Instruction> {
    let (_, object) = lead.split_once(' ').unwrap_or((lead, ""));
    let is_it = !object.starts_with("the character")
        && (object.starts_with("it") || object.starts_with("this ") || object.starts_with("the "));
    match words {
        [] if is_it && !object.contains(" and ") => vec![Instruction::RemoveIt],
        [_, ..] if object.is_empty() => {
            let keys = words.iter().zip(std::iter::once(&"").chain(prose));
            let keys = keys.take_while(|(_, before)| matches!(**before, "" | "and" | ","));
            let keys = keys.map(|(key, _)| key.split(": ").next().unwrap_or_default().to_owned());
            vec![Instruction::Remove(keys.collect())]
        }
        _ => Vec::new(),
    }
}

/// Whether the words before the first value say that it is what to write, such as "write one of".
fn names_the_value(lead: &str) -> bool {
    const LEADS: &[&str] = &[
        "write",
        "write one of",
        "write a",
        "use",
        "use one of these instead:",
        "choose",
        "choose one of",
        "select by",
        "rename it to",
        "quote it:",
        "request",
        "write the region of this zone,",
        "name",
        "set",
        "add",
    ];
    LEADS.contains(&lead) || (lead.ends_with(" such as") && !lead.contains(" below "))
}

/// The values of a list in prose, such as "one of 1, 4, 8" or "180 or less".
fn read_numbers(prose: &str) -> Vec<&str> {
    let prose = prose
        .trim_start_matches("one of ")
        .trim_start_matches("at most ");
    let prose = prose.split(':').next().unwrap_or_default();
    let words: Vec<_> = prose
        .split([',', ' '])
        .filter(|word| !word.is_empty())
        .collect();
    let numbers: Vec<_> = words
        .iter()
        .copied()
        .take_while(|word| word.parse::<f64>().is_ok())
        .collect();
    let is_all =
        ["", "or more", "or less", "or later"].contains(&words[numbers.len()..].join(" ").as_str());
    if is_all { numbers } else { Vec::new() }
}

fn read_text(verb: &str, lead: &str, words: &[&str], prose: &[&str]) -> Vec<Instruction> {
    if let Some((_, quoted)) = lead.split_once('"') {
        // write "580" or later
        let text = quoted.split('"').next().unwrap_or_default();
        let is_value = !text.contains(' ') && words.is_empty();
        return is_value
            .then(|| Instruction::Replace(format!("\"{text}\"")))
            .into_iter()
            .collect();
    }
    let Some(first) = words.first() else {
        // "write 2 or more", "write at most 4"
        let rest = lead.split_once(' ').map_or("", |(_, rest)| rest);
        return read_numbers(rest)
            .into_iter()
            .map(|it| Instruction::Replace(it.to_owned()))
            .collect();
    };
    if !names_the_value(lead) {
        return Vec::new();
    }
    let set = |value: &str| Instruction::Set {
        entries: vec![format!("{first}: {value}")],
        target: None,
        is_in_cluster: false,
        instead_of: None,
    };
    if let ("set", Some(after)) = (verb, prose.first()) {
        // "set `devicePlugin` to `gpuc` or `cloud`"
        if *after == "to" {
            let values = words
                .iter()
                .skip(1)
                .zip(std::iter::once(&"").chain(prose.iter().skip(1)));
            let values = values.take_while(|(_, before)| matches!(**before, "" | "," | "or"));
            return values.map(|(value, _)| set(value)).collect();
        }
        if let Some(numbers) = after.strip_prefix("to ") {
            return read_numbers(numbers).into_iter().map(set).collect();
        }
    }
    if is_entry(first.trim_start_matches(['{', '-', ' '])) && verb != "quote" {
        // "write `{key: value}`" is a list item or a value.
        if first.starts_with('{') || first.starts_with("- ") {
            return vec![Instruction::Replace((*first).to_owned())];
        }
        return read_entries(lead, words, prose);
    }
    if verb == "set" || verb == "add" {
        return Vec::new();
    }
    let values = words.iter().zip(std::iter::once(&"").chain(prose));
    let values = values.take_while(|(word, before)| {
        matches!(**before, "" | "," | "or" | "and") && !word.ends_with(':')
    });
    values
        .map(|(word, _)| Instruction::Replace((*word).to_owned()))
        .collect()
}

/// Entries to set together (joined by "and"), or alternatives (joined by "or"), with the mapping that they belong to.
fn read_entries(lead: &str, words: &[&str], prose: &[&str]) -> Vec<Instruction> {
    let mut alternatives = vec![Vec::new()];
    let (mut target, mut instead_of) = (None, None);
    let is_instead = |last: &&str| last.starts_with("instead") && !last.starts_with("instead of");
    if prose.last().is_some_and(is_instead) || lead == "select by" {
        instead_of = Some("it".to_owned());
    }
    for (word, before) in words.iter().zip(std::iter::once(&"").chain(prose)) {
        match *before {
            "" | "and" if is_entry(word) => {
                alternatives.last_mut().unwrap().push((*word).to_owned());
            }
            "or" | "," if is_entry(word) => alternatives.push(vec![(*word).to_owned()]),
            "instead of" => instead_of = Some((*word).to_owned()),
            before
                if ["in", "to", "under"]
                    .contains(&before.split(' ').next().unwrap_or_default()) =>
            {
                target = Some((*word).to_owned());
            }
            // "for the pod, and": entries in several places.
            before if before.ends_with(" and") => return Vec::new(),
            _ => break,
        }
    }
    let is_in_cluster = prose.iter().any(|prose| prose.contains("the cluster"));
    let set = |entries| Instruction::Set {
        entries,
        target: target.clone(),
        is_in_cluster,
        instead_of: instead_of.clone(),
    };
    alternatives.into_iter().map(set).collect()
}

#[test]
fn instructions_are_read_from_helps() {
    let replace = |text: &str| Instruction::Replace(text.to_owned());
    let set = |entries: &[&str], target: Option<&str>, instead_of: Option<&str>| Instruction::Set {
        entries: entries.iter().map(|&entry| entry.to_owned()).collect(),
        target: target.map(str::to_owned),
        is_in_cluster: false,
        instead_of: instead_of.map(str::to_owned),
    };
    for (help, expected) in [
        (
            "did you mean `taints`? the keys are `name` and `taints`",
            vec![replace("taints")],
        ),
        (
            "write one of `gp3`, `io2`",
            vec![replace("gp3"), replace("io2")],
        ),
        ("write \"535\" or later", vec![replace("\"535\"")]),
        (
            "set `perNode` to one of 1, 4",
            vec![
                set(&["perNode: 1"], None, None),
                set(&["perNode: 4"], None, None),
            ],
        ),
        (
            "write `efa: {}` instead of `rdma`",
            vec![set(&["efa: {}"], None, Some("rdma"))],
        ),
        (
            "write `a: b` and `c: d` in the pool's `stack`, or remove `e`",
            vec![
                set(&["a: b", "c: d"], Some("stack"), None),
                Instruction::Remove(vec!["e".to_owned()]),
            ],
        ),
        ("remove it: gpuc sets it", vec![Instruction::RemoveIt]),
        // Only the user can complete these.
        ("lower the requests, or raise the team's quota", Vec::new()),
        ("add `namespace: NAME`", Vec::new()),
        ("write the name as `git branch` prints it", Vec::new()),
    ] {
        assert_eq!(instructions(help), expected, "{help}");
    }
}
