//! Parses text into documents.

use granit_parser::{ErrorKind, Event, Options, Parser, ScanError, StrInput};

use super::build::{Builder, ParseStop};
use super::continuations::{Insertions, indent_continuations};
use super::core_schema::{CoreValue, resolve_scalar};
use super::{codes, limits};
use crate::diag::Report;
use crate::node::{Node, Scalar, Value};
use crate::source::{Sources, Span, to_offset};

/// One document of a file.
#[derive(Clone, Debug)]
pub struct Document {
    /// The tree. Parts that could not be read are poisoned in the report.
    pub root: Node,
}

/// Parses the documents of a file. Empty documents are skipped; a file with only empty documents is an error. A
/// document with a syntax error is reported and skipped, and parsing continues at the next `---`.
pub fn parse(sources: &Sources, id: u32, report: &mut Report) -> Vec<Document> {
    let start = span_at(id, 0, 0);
    let errors_before = report.diagnostics().len();
    let documents = parse_allow_empty(sources, id, report);
    if documents.is_empty() && report.diagnostics().len() == errors_before {
        report
            .diagnostic(&codes::EMPTY_FILE, start, "the file is empty")
            .help("start with `apiVersion: gpuc.dev/v1alpha1` and `kind: GpuCluster`")
            .emit();
    }
    documents
}

/// Parses the documents of a file as [`parse`] does, but allows empty files.
pub fn parse_allow_empty(sources: &Sources, id: u32, report: &mut Report) -> Vec<Document> {
    let Some(source) = sources.get(id) else {
        return Vec::new();
    };
    let text = source.text();
    if text.len() > limits::BYTES {
        report
            .diagnostic(
                &codes::YAML_LIMIT,
                span_at(id, 0, 0),
                too_many_bytes(text.len()),
            )
            .help("split it into several files")
            .emit();
        return Vec::new();
    }
    parse_text(text, id, report)
}

/// Decodes a file's bytes, or returns the problem.
pub fn read_text(path: &str, bytes: &[u8]) -> Result<String, String> {
    if bytes.len() > limits::BYTES {
        return Err(format!("`{path}`: {}", too_many_bytes(bytes.len())));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(format!("`{path}` is UTF-16; save it as UTF-8"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let good = &bytes[..error.valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            Err(format!(
                "`{path}` is not UTF-8 text: byte {} (on line {line}) is 0x{:02x}",
                good.len(),
                bytes[good.len()]
            ))
        }
    }
}

fn too_many_bytes(bytes: usize) -> String {
    let limit = limits::BYTES / (1024 * 1024);
    format!("the file has {bytes} bytes; the limit is {limit} MiB")
}

/// The options of the parser.
pub(super) fn parser_options() -> Options {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.emit_unresolved_aliases = true;
    options
}

fn parse_text(text: &str, id: u32, report: &mut Report) -> Vec<Document> {
    let mut attempt = Report::default();
    let documents = parse_indented(text, &Insertions::default(), id, &mut attempt);
    let mut found = attempt.diagnostics().iter();
    if !found.any(|it| it.code.id == codes::TEXT_NOT_INDENTED.id) {
        report.append(attempt);
        return documents;
    }
    // Other YAML parsers accept these texts.
    if let Some(indented) = indent_continuations(text) {
        indented.insertions.report(id, report);
        return parse_indented(&indented.text, &indented.insertions, id, report);
    }
    for found in attempt.diagnostics_mut() {
        if found.code.id == codes::TEXT_NOT_INDENTED.id {
            found.code = &codes::YAML_SYNTAX;
            found.severity = codes::YAML_SYNTAX.severity;
        }
    }
    report.append(attempt);
    documents
}

/// Parses a text with insertions. Spans are those of the text without them.
fn parse_indented(
    text: &str,
    insertions: &Insertions,
    id: u32,
    report: &mut Report,
) -> Vec<Document> {
    let parser = Parser::new_from_str_with_options(text, parser_options());
    let mut builder = Builder::new(parser, id, insertions, report);
    let mut documents = Vec::new();
    for _ in 0..limits::BROKEN_DOCUMENTS {
        match parse_until_error(&mut builder, &mut documents) {
            Ok(()) | Err(ParseStop::File) => break,
            Err(ParseStop::Document) => {}
        }
        if !matches!(builder.parser.proceed_next_document(), Ok(true)) {
            break;
        }
    }
    documents
}

/// Parses documents until the end of the file or the first invalid document.
fn parse_until_error(
    builder: &mut Builder<'_, '_>,
    documents: &mut Vec<Document>,
) -> Result<(), ParseStop> {
    loop {
        match builder.next_event()? {
            (Event::StreamStart | Event::DocumentEnd, _) => {}
            (Event::DocumentStart(..), _) => builder.forget_anchors(),
            (Event::StreamEnd, _) => return Ok(()),
            (event, span) => {
                let root = builder.build_node(event, span, 0)?;
                if !is_empty(&root) {
                    documents.push(Document { root });
                }
            }
        }
    }
}

fn is_empty(root: &Node) -> bool {
    match &root.value {
        Value::Scalar(Scalar::Written { text, plain }) => {
            resolve_scalar(text, *plain) == CoreValue::Null
        }
        _ => false,
    }
}

/// A span in a file.
pub(super) fn span_at(source: u32, start: usize, end: usize) -> Span {
    Span {
        source,
        start: to_offset(start),
        end: to_offset(end.max(start)),
    }
}

/// The parser of a text.
pub(super) type EventParser<'t> = Parser<'t, StrInput<'t>>;

/// Reports a syntax error.
pub(super) fn report_syntax(error: &ScanError, span: Span, report: &mut Report) -> ParseStop {
    if *error.kind() == ErrorKind::RecursionLimitExceeded {
        return report_depth(span, report);
    }
    let code = match error.kind() {
        ErrorKind::InvalidQuotedScalarIndent => &codes::TEXT_NOT_INDENTED,
        _ => &codes::YAML_SYNTAX,
    };
    let builder = report.diagnostic(code, span, error.info());
    let builder = match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInIndentation => {
            builder.help("indent with spaces: YAML does not allow tabs")
        }
        _ => builder.help(
            "check this line and the lines above for an unclosed quote or bracket, or inconsistent indentation",
        ),
    };
    builder.emit();
    ParseStop::Document
}

/// Reports excessive nesting.
pub(super) fn report_depth(span: Span, report: &mut Report) -> ParseStop {
    let message = format!("nested deeper than {} levels", limits::DEPTH);
    report.diagnostic(&codes::YAML_LIMIT, span, message).emit();
    ParseStop::Document
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::diag::Diagnostic;
    use crate::node::Origin;

    fn check(text: &str) -> (Vec<Document>, Vec<Diagnostic>, Sources) {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("a.yaml", text);
        let documents = parse(&sources, id, &mut report);
        (documents, report.diagnostics().to_vec(), sources)
    }

    fn json(text: &str) -> String {
        let (documents, found, _) = check(text);
        assert!(found.is_empty(), "{found:?}");
        let roots: Vec<&Node> = documents.iter().map(|document| &document.root).collect();
        serde_json::to_string(&roots).expect("trees")
    }

    fn ids(text: &str) -> Vec<&'static str> {
        check(text).1.iter().map(|found| found.code.id).collect()
    }

    #[test]
    fn documents_use_yaml_1_2_keywords() {
        assert_eq!(
            json("a: no\nb: [1, 0x10, '5', 1.5, ~, true]\n"),
            r#"[{"a":"no","b":[1,16,"5",1.5,null,true]}]"#
        );
        assert_eq!(
            json("---\n---\na: 1\n...\n---\n# nothing\n---\nb: 2\n"),
            r#"[{"a":1},{"b":2}]"#
        );
        assert_eq!(
            json("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n"),
            r#"[{"a":1,"b":"x\ny\n"}]"#
        );
        assert_eq!(
            json("a: !!str 5\nb: !!int \"5\"\nc: ! 7\nd: !!float 1"),
            r#"[{"a":"5","b":5,"c":"7","d":1}]"#
        );
    }

    #[test]
    fn continuation_lines_need_no_indentation() {
        for (text, line, expected) in [
            (
                "a:\n  b: 'x\n  y'\nc: 1\n",
                3,
                r#"[{"a":{"b":"x y"},"c":1}]"#,
            ),
            (
                "a:\n  b: \"x\n\n y \n  z\"\n",
                4,
                r#"[{"a":{"b":"x\ny z"}}]"#,
            ),
            ("- - 'x\n  y'\n- z\n", 2, r#"[[["x y"],"z"]]"#),
            (
                "a: {b: 'x\ny'}\nc:\n- d: 'x\n  y'\n",
                5,
                r#"[{"a":{"b":"x y"},"c":[{"d":"x y"}]}]"#,
            ),
            ("a: [\n---\nb: 'x\ny'\n", 0, r#"[{"b":"x y"}]"#),
            (
                "a: \"x\nit's\n y\"\nb: *c\n",
                0,
                r#"[{"a":"x it's y","b":null}]"#,
            ),
        ] {
            let (documents, found, sources) = check(text);
            let roots: Vec<_> = documents.iter().map(|document| &document.root).collect();
            assert_eq!(serde_json::to_string(&roots).unwrap(), expected, "{text}");
            let first = found
                .iter()
                .find(|it| it.code.id == codes::TEXT_NOT_INDENTED.id)
                .unwrap();
            let (_, position) = sources.locate(first.primary.span).unwrap();
            if line > 0 {
                assert_eq!(position.line, line, "{text}");
            }
            // Other nodes are at their places in the file.
            for (document, entry) in documents
                .iter()
                .flat_map(|it| it.root.entries().iter().map(move |e| (it, e)))
            {
                let written = sources.text(entry.key_span);
                assert_eq!(written, entry.key, "{text}: {document:?}");
            }
            // The fix indents the line.
            let mut fixed = text.to_owned();
            let fixes = found.iter().filter_map(|found| found.fix.as_ref());
            let mut edits: Vec<_> = fixes.flat_map(|fix| &fix.edits).collect();
            edits.sort_by_key(|edit| std::cmp::Reverse(edit.span));
            for edit in edits {
                fixed.insert_str(edit.span.start as usize, &edit.text);
            }
            assert!(!ids(&fixed).contains(&"GPUC0009"), "{fixed}");
        }
    }

    #[test]
    fn missing_quotes_are_errors() {
        for text in [
            "a: \"x\n---\nb: y\nc: z\"\n",
            "a: 'x\nspec:\n  b: it's\n",
            "a:\n- 'x\n- y\n- 'z'\n",
            "a: \"x\nb: y\"\n",
        ] {
            assert!(ids(text).contains(&"GPUC0001"), "{text}: {:?}", ids(text));
            assert!(!ids(text).contains(&"GPUC0009"), "{text}");
        }
    }

    #[test]
    fn many_continuation_lines_are_bounded() {
        let text = format!("a: 'x\n{}'\nb: 1\n", "y\n".repeat(100_000));
        let (documents, found, _) = check(&text);
        assert_eq!((documents.len(), found.len()), (1, 1));
        let text = "a: 'it''s\nb'\n".repeat(3000);
        let _ = check(&text);
    }

    #[test]
    fn last_value_of_a_duplicate_key_is_kept() {
        let (documents, found, _) = check("a: 1\nb: 2\na: 3\n");
        let root = serde_json::to_string(&documents[0].root).unwrap();
        assert_eq!((root.as_str(), found.len()), (r#"{"a":3,"b":2}"#, 1));
    }

    #[test]
    fn aliases_are_copied_and_own_keys_override_merged() {
        assert_eq!(
            json("a: &x {p: 1, q: 2}\nb: *x\nc: {q: 3, <<: *x}\n"),
            r#"[{"a":{"p":1,"q":2},"b":{"p":1,"q":2},"c":{"q":3,"p":1}}]"#
        );
        assert_eq!(
            json("a: &x {p: 1}\nb: &y {p: 2, r: 3}\nc: {<<: [*x, *y]}\n")
                .split("\"c\"")
                .last(),
            Some(r#":{"p":1,"r":3}}]"#)
        );
        let (documents, _, sources) = check("a: &x [1, 2]\nb: *x\n");
        let two = &documents[0].root.get("b").expect("b").items()[1];
        let Origin::Written { span, alias: used } = two.origin else {
            panic!()
        };
        assert_eq!(sources.text(span), "2");
        assert_eq!(used.map(|span| sources.text(span)), Some("*x"));
    }

    #[test]
    fn spans_cover_whole_values() {
        let text = "a:\n  b: [x, {c: d}]\n  \"e\": |\n    text\nf: g\n";
        let (documents, _, sources) = check(text);
        let root = &documents[0].root;
        let a = root.entry("a").expect("a");
        assert_eq!(sources.text(a.key_span), "a");
        assert_eq!(
            sources.text(a.value.get("b").expect("b").span()),
            "[x, {c: d}]"
        );
        assert_eq!(
            sources.text(a.value.entry("e").expect("e").key_span),
            "\"e\""
        );
        assert_eq!(sources.text(root.get("f").expect("f").span()), "g");
        assert_eq!(sources.text(root.span()), text.trim_end());
    }

    #[test]
    fn errors_have_codes_and_parsing_continues() {
        assert_eq!(ids(""), ["GPUC0002"]);
        assert_eq!(ids("---\n# nothing\n"), ["GPUC0002"]);
        assert_eq!(
            ids("a: 1\na: 2\nb: [{c: 1, c: 2}]\n"),
            ["GPUC0004", "GPUC0004"]
        );
        assert_eq!(ids("? [a]\n: 1\n{a: 1}: 2\nb: {: 3}\n"), ["GPUC0005"; 3]);
        assert_eq!(ids("a: *none\nb: &b [*b]\n"), ["GPUC0006", "GPUC0006"]);
        assert_eq!(ids("a: 1\n<<: text\n"), ["GPUC0007"]);
        assert_eq!(
            ids("a: !foo 1\nb: !!int x\nc: !!str []\nd: !!binary aGk=\n"),
            ["GPUC0008"; 4]
        );
        let (documents, found, _) = check("a: 1\n---\nb: [\n---\nc: 3\n---\nd: \"\n");
        assert_eq!(documents.len(), 2);
        assert_eq!(found.len(), 2);
        let (_, found, _) = check("a:\n\tb: 1\n");
        assert_eq!(
            found[0].help.as_deref(),
            Some("indent with spaces: YAML does not allow tabs")
        );
    }

    #[test]
    fn limits_bound_memory_and_time() {
        assert_eq!(ids(&"[".repeat(20_000)), ["GPUC0003"]);
        assert_eq!(ids(&"- ".repeat(20_000)), ["GPUC0003"]);
        assert_eq!(
            ids(&format!("{}1{}", "[".repeat(100), "]".repeat(100))),
            ["GPUC0003"]
        );
        assert_eq!(ids(&" ".repeat(limits::BYTES + 1)), ["GPUC0003"]);
        let mut laughs = String::from("a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
        for level in 1..30 {
            let below = vec![format!("*a{}", level - 1); 10].join(", ");
            writeln!(laughs, "a{level}: &a{level} [{below}]").expect("text");
        }
        assert_eq!(ids(&laughs), ["GPUC0003"]);
        let mut many = String::new();
        for number in 0..50_000 {
            writeln!(many, "key{number}: 1").expect("text");
        }
        assert_eq!(ids(&many), [""; 0]);
        assert_eq!(
            ids(&format!("a: &a 1\nb: [{}]\n", "*a, ".repeat(250_000))),
            ["GPUC0003"]
        );
    }

    /// A file of 200 KB must not become gigabytes of text.
    #[test]
    fn aliases_cannot_exceed_the_byte_limit() {
        let aliases = |bytes: usize, count: usize| {
            let text = "a".repeat(bytes);
            ids(&format!("a: &a {text}\nb: [{}]\n", "*a, ".repeat(count)))
        };
        assert_eq!(aliases(100_000, 50_000), ["GPUC0003"]);
        // The anchor counts as well.
        let fitting = limits::COPIED_BYTES / 100_000 - 1;
        assert_eq!(aliases(100_000, fitting), [""; 0]);
        assert_eq!(aliases(100_000, fitting + 1), ["GPUC0003"]);
        let key = "k".repeat(1_000);
        let keys = format!("a: &a {{{key}: 1}}\nb: [{}]\n", "*a, ".repeat(20_000));
        assert_eq!(ids(&keys), ["GPUC0003"]);
    }

    #[test]
    fn aliases_cannot_exceed_the_depth_limit() {
        let mut text = format!("a0: &a0 {}1{}\n", "[".repeat(40), "]".repeat(40));
        for level in 1..9 {
            let (open, close) = ("[".repeat(40), "]".repeat(40));
            writeln!(text, "a{level}: &a{level} {open}*a{}{close}", level - 1).expect("text");
        }
        assert_eq!(ids(&text), ["GPUC0003"]);
    }

    #[test]
    fn number_of_findings_is_limited() {
        assert_eq!(ids(&"- *none\n".repeat(100_000)).len(), limits::FINDINGS);
        assert_eq!(ids(&"a: 1\n".repeat(100_000)).len(), limits::FINDINGS);
        assert_eq!(
            ids(&"--- [\n".repeat(100_000)).len(),
            limits::BROKEN_DOCUMENTS
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_reported(text in "[-a-c0-9:{}\\[\\],&*!|>'\"#%@ \t\n\r?~<.\u{feff}é]{0,200}") {
            let (documents, found, _) = check(&text);
            prop_assert!(!documents.is_empty() || !found.is_empty());
        }
    }
}
