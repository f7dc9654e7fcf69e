//! A lexer for Rust files, as far as the tests of conventions need it.

use std::collections::BTreeSet;

/// The parts of a Rust file.
#[derive(Default)]
pub(super) struct SourceText {
    /// Every identifier and keyword.
    pub(super) names: BTreeSet<String>,
    /// Every string literal on one line. Multi-line literals are documents and examples.
    pub(super) texts: BTreeSet<String>,
    /// The file with empty string literals.
    pub(super) without_texts: String,
    /// The comments and string literals at their original positions. Every character of code is replaced with `\u{1}`.
    pub(super) prose: String,
}

impl SourceText {
    pub(super) fn parse(text: &str) -> Self {
        let mut code = Self::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (length, text) = match first {
                '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), None),
                'r' if rest.starts_with("r\"") || rest.starts_with("r#") => raw(rest),
                '"' => plain(rest),
                // A lifetime has no closing quote, and a character literal may contain a quote.
                '\'' => (character(rest), None),
                c if c.is_alphabetic() || c == '_' => {
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                    (end.unwrap_or(rest.len()), None)
                }
                c => (c.len_utf8(), None),
            };
            let token = &rest[..length];
            let is_comment = token.starts_with("//");
            if let Some(text) = text {
                let breaks = token.matches('\n').count();
                code.without_texts.push_str(&"\n".repeat(breaks));
                // Lines that are joined with a backslash are one text.
                code.prose.push_str(&match first {
                    '"' => token.replace("\\\n", " \n").replace("\\n", "  "),
                    _ => token.to_owned(),
                });
                if breaks == 0 {
                    code.texts.insert(text);
                }
            } else {
                code.without_texts.push_str(token);
                if is_comment {
                    code.prose.push_str(token.trim_start_matches(['/', '!']));
                } else {
                    let hidden = |c: char| if c.is_whitespace() { c } else { '\u{1}' };
                    code.prose.extend(token.chars().map(hidden));
                }
                if first.is_alphabetic() || first == '_' {
                    code.names.insert(token.to_owned());
                }
            }
            rest = &rest[length..];
        }
        code
    }
}

fn raw(rest: &str) -> (usize, Option<String>) {
    let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    let start = 1 + hashes;
    if !rest[start..].starts_with('"') {
        return (start, None);
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let length = rest[start + 1..]
        .find(&end)
        .map_or(rest.len(), |at| start + 1 + at);
    (length + end.len(), Some(rest[start + 1..length].to_owned()))
}

fn plain(rest: &str) -> (usize, Option<String>) {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return (index + 1, Some(rest[1..index].to_owned())),
            _ => {}
        }
    }
    (rest.len(), None)
}

fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let after = at + escaped.len_utf8();
            rest[after..]
                .find('\'')
                .map_or(rest.len(), |end| after + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// The words of a name or a text, in lower case: both `AwsCluster` and `aws_cluster` are `aws`, `cluster`.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        let starts = c.is_uppercase() && before.is_lowercase();
        if starts || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().unwrap().extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn files_are_split_into_code_and_prose() {
    let text = "//! Aws\nuse crate::node::Node;\nfn eks<'a>(c: char) -> &'a str { let q = '\"'; r#\"gke\"# }\n// end\n";
    let code = SourceText::parse(text);
    assert!(code.prose.starts_with(" Aws\n\u{1}\u{1}\u{1} "));
    assert!(code.names.contains("eks") && !code.names.contains("Aws"));
    assert_eq!(code.texts, BTreeSet::from(["gke".to_owned()]));
    assert_eq!(words("AwsCluster on-EKS"), ["aws", "cluster", "on", "eks"]);
}
