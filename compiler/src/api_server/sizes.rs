//! How long texts may be, how many items a list may have, and what texts have to look like: what definitions of custom
//! resources say of their fields.

use regex::Regex;

use super::Here;
use super::place::Step;
use super::read::{Read, get, read};
use super::types::{fields, is_custom};
use crate::node::Node;

/// Patterns of definitions in words.
const WORDS: &[(&str, &str)] = &[
    (
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "write small letters, digits and `-`, with a letter or a digit at both ends",
    ),
    (
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        "write the key of a label, such as `topology.kubernetes.io/zone`",
    ),
    (
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "write the name of an object: small letters, digits, `-` and `.`",
    ),
    (
        "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$",
        "write letters, digits and `-`, with a letter at the beginning",
    ),
    ("^[^:]+$", "write it without `:`"),
];

pub(super) fn look(here: &mut Here<'_, '_>) {
    let name = here.name;
    if !is_custom(name) {
        return;
    }
    for field in fields(name) {
        let Some(value) = get(here.node, field.name) else {
            continue;
        };
        let limits = &field.limits;
        many(here, field.name, value, limits.many);
        // How long a name may be is said of names.
        let long = limits.long.filter(|_| !limits.is_name);
        text(
            here,
            &[Step::from(field.name)],
            value,
            (long, limits.pattern),
        );
        for (index, item) in value.items().iter().enumerate() {
            let way = [Step::from(field.name), Step::from(index)];
            text(here, &way, item, (limits.each_long, limits.each_pattern));
        }
    }
}

fn many(here: &mut Here<'_, '_>, field: &str, value: &Node, most: Option<usize>) {
    let (count, what) = match read(value) {
        Read::List => (value.items().len(), "items"),
        Read::Mapping => (value.entries().len(), "keys"),
        _ => return,
    };
    if let Some(most) = most.filter(|most| count > *most) {
        here.refuse(
            [Step::from(field)],
            |path| format!("`{path}` has {count} {what}, and may have {most} at most"),
            format!("write {most} or fewer"),
        );
    }
}

fn text(
    here: &mut Here<'_, '_>,
    way: &[Step],
    value: &Node,
    (long, pattern): (Option<usize>, Option<&str>),
) {
    let Read::Text(text) = read(value) else {
        return;
    };
    let count = text.chars().count();
    if let Some(most) = long.filter(|most| count > *most) {
        here.refuse(
            way.to_vec(),
            |path| format!("`{path}` has {count} characters, and may have {most} at most"),
            format!("write {most} characters or fewer"),
        );
        return;
    }
    // What is empty is another finding.
    let Some(pattern) = pattern.filter(|_| !text.is_empty()) else {
        return;
    };
    if Regex::new(pattern).is_ok_and(|it| !it.is_match(text)) {
        let mut words = WORDS.iter().filter(|it| it.0 == pattern);
        let help = words.next().map_or("write what matches it", |it| it.1);
        here.refuse(
            way.to_vec(),
            |path| format!("`{path}` is `{text}`, and has to match `{pattern}`"),
            help,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_server::{Extent, look};
    use crate::diag::Report;
    use crate::source::Sources;
    use crate::yaml;

    #[track_caller]
    fn check(api_version: &str, kind: &str, spec: &str, expected: &str) {
        let mut sources = Sources::default();
        let id = sources.add(
            "a.yaml",
            &format!("{{metadata: {{name: a}}, spec: {spec}}}"),
        );
        let root = yaml::parse(&sources, id, &mut Report::default())
            .remove(0)
            .root;
        let found = look(api_version, kind, &root, Extent::Part);
        let found: Vec<_> = found.into_iter().map(|it| it.message).collect();
        assert_eq!(found.join("; "), expected);
    }

    #[test]
    fn texts_and_lists_have_their_sizes() {
        let kueue =
            |kind, spec: &str, expected| check("kueue.x-k8s.io/v1beta2", kind, spec, expected);
        let levels = |count: usize| {
            let levels: Vec<_> = (0..count)
                .map(|it| format!("{{nodeLabel: a{it}}}"))
                .collect();
            format!("{{levels: [{}]}}", levels.join(", "))
        };
        kueue("Topology", &levels(16), "");
        kueue(
            "Topology",
            &levels(17),
            "`spec.levels` has 17 items, and may have 16 at most",
        );
        let labels: Vec<_> = (0..9).map(|it| format!("a{it}: b")).collect();
        let labels = format!("{{nodeLabels: {{{}}}}}", labels.join(", "));
        kueue(
            "ResourceFlavor",
            &labels,
            "`spec.nodeLabels` has 9 keys, and may have 8 at most",
        );
        let job =
            |spec: &str, expected: &str| check("batch.volcano.sh/v1alpha1", "Job", spec, expected);
        job("{tasks: [{name: a-1}]}", "");
        let name = "a".repeat(64);
        let expected = "`spec.tasks[0].name` has 64 characters, and may have 63 at most";
        job(&format!("{{tasks: [{{name: {name}}}]}}"), expected);
        let expected =
            "`spec.tasks[0].name` is `A`, and has to match `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`";
        job("{tasks: [{name: A}]}", expected);
        job("{tasks: [{name: '{{ .name }}'}]}", "");
    }

    /// Each pattern of a definition is one, and has its words.
    #[test]
    fn patterns_are_said_in_words() {
        let all = crate::api_server::types::limits();
        let patterns = all.flat_map(|it| [it.pattern, it.each_pattern]).flatten();
        let mut count = 0;
        for pattern in patterns {
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
            assert!(WORDS.iter().any(|it| it.0 == pattern), "{pattern}");
            count += 1;
        }
        assert!(count > 8);
    }
}
