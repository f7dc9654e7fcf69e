//! Mermaid flowcharts: every line is of a known kind, and names are escaped.

use std::collections::BTreeSet;

use gpuc_diff::graph::{self, MAX_MERMAID_LENGTH};

use super::{HOSTILE_NAMES, all_views, huge_view, view_with_name};

#[test]
fn lines_are_of_known_kinds() {
    for (name, views) in all_views() {
        let chart = graph::mermaid(&views, MAX_MERMAID_LENGTH);
        assert!(chart.len() <= MAX_MERMAID_LENGTH, "{name}: {}", chart.len());
        parse_chart(&chart).unwrap_or_else(|wrong| panic!("{name}: {wrong}\n{chart}"));
    }
}

#[test]
fn invalid_lines_are_detected() {
    for wrong in [
        "flowchart LR\n  c0p0[\"a\" b\"]:::pool\n  classDef pool fill:#000000,stroke:#000000,color:#000000\n",
        "flowchart LR\n  c0p0 -->|\"x\"| c0p1\n",
        "flowchart LR\n  c0p0[\"a#b\"]:::pool\n  classDef pool fill:#000000,stroke:#000000,color:#000000\n",
        "flowchart LR\n  c0p0[\"a\"]:::pool\n",
        "flowchart LR\n  click c0p0 call x()\n",
        "flowchart LR\n  subgraph c0[\"a\"]\n",
    ] {
        assert!(parse_chart(wrong).is_err(), "{wrong}");
    }
}

/// Parses a chart with the part of Mermaid's grammar that gpuc uses.
fn parse_chart(chart: &str) -> Result<(), String> {
    let mut lines = chart.lines();
    if lines.next() != Some("flowchart LR") {
        return Err("not a flowchart".to_owned());
    }
    let (mut nodes, mut used, mut classes, mut defined) = (
        BTreeSet::new(),
        BTreeSet::new(),
        BTreeSet::new(),
        BTreeSet::new(),
    );
    let mut depth = 0;
    for line in lines {
        let wrong = || format!("invalid line: {line}");
        let text = line.trim_start();
        if text == "end" {
            depth -= 1;
        } else if let Some(rest) = text.strip_prefix("subgraph ") {
            let (id, rest) = rest.split_once('[').ok_or_else(wrong)?;
            parse_id(id)?;
            check_label(rest.strip_suffix(']').ok_or_else(wrong)?)?;
            depth += 1;
        } else if let Some(rest) = text.strip_prefix("classDef ") {
            let (class, style) = rest.split_once(' ').ok_or_else(wrong)?;
            let known = |it: &str| {
                let color = it.split_once(":#").is_some_and(|(_, hex)| hex.len() == 6);
                color || it == "stroke-dasharray:4 3"
            };
            if !style.split(',').all(known) {
                return Err(wrong());
            }
            defined.insert(class.to_owned());
        } else if text.starts_with("accTitle: ") || text.starts_with("accDescr: ") {
            let plain = |it: char| it.is_alphanumeric() || " -.,_:".contains(it);
            if !text.chars().all(plain) {
                return Err(wrong());
            }
        } else if let Some((from, rest)) = text.split_once(" -->|") {
            let (label, to) = rest.split_once("| ").ok_or_else(wrong)?;
            check_label(label)?;
            used.extend([parse_id(from)?, parse_id(to)?]);
        } else {
            let (node, class) = text.rsplit_once(":::").ok_or_else(wrong)?;
            let open = node.find(['[', '(']).ok_or_else(wrong)?;
            let (id, shape) = node.split_at(open);
            let shapes = [("([", "])"), ("[", "]"), ("(", ")")];
            let inner = shapes
                .iter()
                .find_map(|(open, close)| shape.strip_prefix(open)?.strip_suffix(close));
            check_label(inner.ok_or_else(wrong)?)?;
            classes.insert(class.to_owned());
            if !nodes.insert(parse_id(id)?) {
                return Err(format!("duplicate id {id}"));
            }
        }
    }
    if depth != 0 || classes != defined {
        return Err(format!(
            "depth {depth}; classes {classes:?}, defined {defined:?}"
        ));
    }
    used.is_subset(&nodes)
        .then_some(())
        .ok_or_else(|| format!("{used:?} of {nodes:?}"))
}

fn parse_id(text: &str) -> Result<String, String> {
    let plain = text
        .chars()
        .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    let known = plain && !text.is_empty() && text != "end";
    known
        .then(|| text.to_owned())
        .ok_or_else(|| format!("{text} is not a valid id"))
}

/// Checks a label: it contains no quote, every `#` begins an entity, and the only tag is `<br/>`.
fn check_label(text: &str) -> Result<(), String> {
    let wrong = || format!("a label with markup: {text}");
    let inner = text
        .strip_prefix('"')
        .and_then(|it| it.strip_suffix('"'))
        .ok_or_else(wrong)?;
    if inner.split("<br/>").any(str::is_empty) {
        return Err(wrong());
    }
    let inner = inner.replace("<br/>", " ");
    let mut parts = inner.split('#');
    let first = parts.next().unwrap_or_default().to_owned();
    let mut plain = first;
    for part in parts {
        let (code, rest) = part.split_once(';').ok_or_else(wrong)?;
        code.parse::<u32>().map_err(|_| wrong())?;
        plain.push_str(rest);
    }
    let known = |it: char| !it.is_ascii() || it.is_ascii_alphanumeric() || " ,_/:=-.".contains(it);
    let hidden = |it: char| it.is_control() || ('\u{202a}'..='\u{202e}').contains(&it);
    (plain.chars().all(known) && !plain.chars().any(hidden))
        .then_some(())
        .ok_or_else(wrong)
}

#[test]
fn names_are_escaped() {
    for name in HOSTILE_NAMES {
        let chart = graph::mermaid(&[view_with_name(name)], MAX_MERMAID_LENGTH);
        parse_chart(&chart).unwrap_or_else(|wrong| panic!("{name}: {wrong}\n{chart}"));
    }
}

/// A chart stays within its limits, and names the number of omitted elements.
#[test]
fn chart_size_is_limited() {
    for limit in [600, 2000, 10_000, 100_000] {
        let chart = graph::mermaid(&[huge_view(3000)], limit);
        assert!(
            chart.len() <= limit.min(MAX_MERMAID_LENGTH),
            "{limit}: {}",
            chart.len()
        );
        assert!(chart.contains(" more pools<br/>"), "{limit}: {chart}");
    }
    let fleet = graph::mermaid(&vec![huge_view(10); 3000], MAX_MERMAID_LENGTH);
    assert!(
        fleet.len() <= MAX_MERMAID_LENGTH && fleet.contains("more clusters"),
        "{}",
        fleet.len()
    );
    let one = graph::mermaid(&super::example("eks-queues"), MAX_MERMAID_LENGTH);
    assert!(!one.contains("more"), "{one}");
}

#[test]
fn teams_are_linked_to_their_pools() {
    let chart = graph::mermaid(&super::example("eks-queues"), MAX_MERMAID_LENGTH);
    for line in [
        "c0p1 -->|\"8 per node\"| c0p1o0",
        "c0p1o0 -->|\"16 guaranteed, max 28\"| c0t0",
        "c0t0(\"research\"):::team",
        "c0p3o1([\"nvidia.com/mig-3g.20gb<br/>8\"]):::slice",
    ] {
        assert!(chart.contains(line), "{line}\n{chart}");
    }
    assert!(!chart.contains("total"), "{chart}");
}
