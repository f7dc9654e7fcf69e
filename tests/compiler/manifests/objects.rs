//! Violations of the API server's rules in objects without pods, at their locations.

use super::check;

/// A mistake in `objects.txt`, which documents its format: the object, and for each finding the text at its location,
/// its message, and part of the help.
struct ObjectMistake {
    head: &'static str,
    found: Vec<[&'static str; 3]>,
}

fn read_mistakes() -> Vec<ObjectMistake> {
    let blocks = include_str!("objects.txt").split("\n\n");
    let blocks = blocks.filter(|block| !block.trim().is_empty() && !block.starts_with('#'));
    let mistakes = blocks.map(|block| {
        let mut lines = block.lines();
        let head = lines.next().unwrap();
        let mut found: Vec<[&str; 3]> = Vec::new();
        for line in lines {
            if let Some(place) = line.strip_prefix("  at ") {
                found.push([place, "", ""]);
            } else if let Some(help) = line.strip_prefix("  help ") {
                found.last_mut().unwrap()[2] = help;
            } else {
                found.last_mut().unwrap()[1] = line.trim();
            }
        }
        assert!(!found.is_empty(), "{head}");
        ObjectMistake { head, found }
    });
    mistakes.collect()
}

/// The object as a manifest.
fn object_manifest(head: &str) -> (String, String) {
    let (version, rest) = head.split_once(' ').unwrap();
    let (kind, body) = rest.split_once(": ").unwrap();
    let body = body.strip_prefix('{').unwrap();
    let body = body.replacen("M,", "metadata: {name: a},", 1);
    let title = if body.contains("name: a}") {
        format!("{kind} a")
    } else {
        let (_, name) = body.split_once("name: ").unwrap();
        format!("{kind} {}", name.split_once('}').unwrap().0)
    };
    let text = format!("{{apiVersion: {version}, kind: {kind}, {body}\n");
    (text, title)
}

#[test]
fn violations_have_their_locations() {
    let mut wrong = Vec::new();
    let mistakes = read_mistakes();
    assert!(mistakes.len() > 60);
    for ObjectMistake { head, found } in mistakes {
        let (text, title) = object_manifest(head);
        let (outcome, _) = check("a.yaml", &text);
        let own: Vec<_> = outcome.findings.iter().collect();
        let is_right = own.len() == found.len()
            && found.iter().all(|[place, message, help]| {
                let mut own = own.iter();
                own.any(|it| {
                    let at = outcome.sources.get(it.primary.span.source).unwrap().text();
                    it.code.id == "GPUC4035"
                        && it.message == format!("{title}: {message}")
                        && at[it.primary.span.start as usize..].starts_with(place)
                        && it.help.as_deref().is_some_and(|it| it.contains(help))
                })
            });
        if !is_right {
            wrong.push(format!("{head}\n  wanted: {found:#?}\n{}", outcome.text()));
        }
    }
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} are wrong:\n{}", wrong.join("\n"));
}

/// Kubernetes 1.36 and later accept these names.
#[test]
fn newer_versions_accept_service_names_with_a_digit() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: 8b}\nspec: {ports: [{port: 80}]}\n";
    let found = |minor: &str| {
        let text = super::clusters()[super::LAB]
            .replace("version: \"1.34\"", &format!("version: \"{minor}\""));
        assert!(text.contains(minor));
        let mut outcome = crate::support::compile_text(&text);
        let before = outcome.findings.len();
        outcome.add_manifests(&[("a.yaml", service)]);
        outcome.findings.len() - before
    };
    assert_eq!(["1.34", "1.35", "1.36", "1.37"].map(found), [1, 1, 0, 0]);
}
