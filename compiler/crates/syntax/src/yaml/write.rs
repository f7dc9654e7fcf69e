//! Writes [`Node`] trees as YAML that all parsers read the same way.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_saphyr::{DoubleQuoted, ser_options};

use super::core_schema::{CoreValue, resolve_scalar};
use crate::node::{Node, Scalar, Value};

/// The tree as one YAML document, ending in a line break. YAML 1.1 parsers (kubectl and many libraries) and YAML 1.2
/// parsers read the same values: `"no"`, `"1e3"`, `"0755"` and `"12:30:45"` keep their quotes, as values and as keys.
/// Lines are not folded, so that a change of a long string changes one line; multi-line strings are literal blocks
/// (`|`).
pub fn to_yaml(node: &Node) -> String {
    // Two spaces, because Kubernetes objects are deeply nested. No folding, because it spreads one change over many
    // lines.
    let options = ser_options! { folded_wrap_chars: usize::MAX };
    let mut text = String::new();
    serde_saphyr::to_fmt_writer_with_options(&mut text, &PortableNode(node), options)
        .expect("a tree has only what YAML has, and a String takes everything");
    text
}

/// A node for serialization: strings that some parsers reject as a block scalar are quoted.
struct PortableNode<'a>(&'a Node);

impl Serialize for PortableNode<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.value {
            Value::Scalar(scalar) => match string_value(scalar) {
                Some(text) if !can_be_block(text) => DoubleQuoted(text).serialize(serializer),
                _ => scalar.serialize(serializer),
            },
            Value::Sequence(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(&PortableNode(item))?;
                }
                sequence.end()
            }
            Value::Mapping(entries) => {
                let mut mapping = serializer.serialize_map(Some(entries.len()))?;
                for entry in entries {
                    mapping.serialize_entry(&entry.key, &PortableNode(&entry.value))?;
                }
                mapping.end()
            }
        }
    }
}

fn string_value(scalar: &Scalar) -> Option<&str> {
    match scalar {
        Scalar::Text(text) => Some(text),
        Scalar::Written { text, plain } => match resolve_scalar(text, *plain) {
            CoreValue::Text(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Whether all parsers can detect the indentation of a block of these lines. They use the first non-blank line; libyaml
/// rejects a tab before it, and blank lines that are indented more.
fn can_be_block(text: &str) -> bool {
    if !text.contains('\n') {
        return true;
    }
    let is_blank = |line: &&str| line.chars().all(char::is_whitespace);
    let first = text.split('\n').find(|line| !is_blank(line));
    let blanks = text.split('\n').take_while(is_blank);
    let indent = first.map(|line| line.trim_start_matches(' '));
    indent.is_some_and(|line| !line.starts_with('\t')) && blanks.into_iter().all(str::is_empty)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;

    const AWKWARD: &[&str] = &[
        "yes",
        "Yes",
        "YES",
        "no",
        "No",
        "NO",
        "on",
        "On",
        "ON",
        "off",
        "Off",
        "OFF",
        "y",
        "Y",
        "n",
        "N",
        "true",
        "True",
        "TRUE",
        "false",
        "False",
        "null",
        "Null",
        "NULL",
        "~",
        "",
        " ",
        "  a",
        "a  ",
        "\t",
        "\ta",
        "a\t",
        "0",
        "1",
        "-1",
        "+1",
        "007",
        "0755",
        "0o755",
        "0x1F",
        "0b11",
        "1_000",
        "1__0",
        "1e3",
        "1E3",
        "1e+3",
        "1.",
        ".5",
        "-.5",
        "1.30",
        "1.2.3",
        ".inf",
        "-.inf",
        "+.INF",
        ".nan",
        ".NaN",
        "inf",
        "nan",
        "12:30:45",
        "12:30",
        "1:2",
        "190:20:30.15",
        "2024-01-01",
        "2024-1-1",
        "2024-01-01T00:00:00Z",
        "2024-01-01 00:00:00",
        "=",
        "<<",
        "-",
        "--",
        "---",
        "--- a",
        "...",
        "?",
        "? a",
        ":",
        ": a",
        "a: b",
        "a:",
        "a :b",
        "#",
        "# a",
        "a # b",
        "a#b",
        ",",
        "[",
        "]",
        "{",
        "}",
        "[]",
        "{}",
        "&a",
        "*a",
        "!a",
        "!!str a",
        "|",
        ">",
        "'",
        "\"",
        "%a",
        "@a",
        "`a`",
        "\\",
        "\\n",
        "a'b",
        "a\"b",
        "0.0.0.0/0",
        "nvidia.com/gpu",
        "\n",
        "a\n",
        "a\n\n\n",
        "\na",
        "\n\na\n",
        " a\nb",
        "a\n b\n",
        "a \nb",
        "a\tb\n",
        "\ta\nb\n",
        "a\n\n  \nb",
        "a\r\nb",
        "a\rb",
        "a\n#b\n",
        "a\n---\nb\n",
        "\u{0}",
        "\u{1}",
        "\u{7f}",
        "\u{85}",
        "a\u{85}b",
        "\u{2028}",
        "a\u{2029}b\n",
        "\u{feff}",
        "\u{feff}a\nb",
        "🚀",
        "ä\u{301}",
        "\u{10ffff}",
        "\u{e000}",
        "\u{fffd}",
        "\u{fffe}",
        "\u{a0}",
        "a\u{a0}",
        "\u{3000}",
        "_",
        "_1",
        "1_",
        "0x",
        "0b",
        "0o8",
        "1e",
        "e3",
        "1e1000",
        "18446744073709551616",
        "0888",
        "-0",
        "+",
        "+.",
        ".",
        "..",
        "._1",
        "0_0",
        "1,000",
        "$(a)",
        "${a}",
        "{{ a }}",
        "NaN",
        "None",
    ];

    fn node(value: Json) -> Node {
        Node::from_json(value)
    }

    /// The value that a second, independent parser reads.
    fn read(text: &str) -> Json {
        serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }

    fn check(value: &Json) {
        let text = to_yaml(&node(value.clone()));
        assert!(text.ends_with('\n'));
        assert_eq!(&read(&text), value, "{text}");
    }

    #[test]
    fn strings_round_trip_in_all_parsers() {
        for word in AWKWARD {
            let nested = json!([[{"a": word, "b": [word, {"c": word}]}], word]);
            check(&json!({"value": word, "list": [word, word], "nested": nested, "end": 1}));
            check(&json!({*word: word, "map": {*word: {*word: [word]}}, "list": [{*word: 1}]}));
            check(&json!(word));
        }
    }

    #[test]
    fn yaml_1_1_keywords_are_quoted_as_keys_and_values() {
        // The second reader knows YAML 1.2 only, so quotes are looked for here.
        let words = [
            "yes",
            "No",
            "ON",
            "off",
            "y",
            "N",
            "1_000",
            "12:30:45",
            "1:2",
            "0755",
            "1e3",
            "2024-01-01",
            "=",
            "<<",
            ".5",
            "~",
            "null",
            "0x1F",
            "0b11",
        ];
        for word in words {
            let text = to_yaml(&node(json!({word: word})));
            assert_eq!(text, format!("\"{word}\": \"{word}\"\n"));
        }
        assert_eq!(
            to_yaml(&node(json!({"none": [], "map": {}}))),
            "none: []\nmap: {}\n"
        );
    }

    #[test]
    fn long_lines_are_not_folded() {
        let long = "word ".repeat(2000) + "end";
        assert_eq!(to_yaml(&node(json!({"a": long}))), format!("a: {long}\n"));
        let script = to_yaml(&node(json!({"a": "one\ntwo\n"})));
        assert_eq!(script, "a: |\n  one\n  two\n");
    }

    #[test]
    fn numbers_keep_their_type() {
        check(&json!({"a": 1, "b": -5, "c": 1.5, "d": 1e30, "e": i64::MAX, "f": 3.0, "g": 1e-7}));
    }

    #[test]
    fn long_keys_round_trip() {
        check(&json!({"k".repeat(2000): "a", "ä ".repeat(300): {"b": 1}}));
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let text = prop_oneof![
            prop::sample::select(AWKWARD).prop_map(str::to_owned),
            "[ \\t\\n\\r:#\\-'\"a0]{0,8}",
            "([ \\t]{0,3}[a#:-]?[ \\t]{0,2}\\n){1,4}[ a]{0,2}",
            "\\PC{0,10}",
            any::<String>(),
        ];
        let leaf = prop_oneof![
            text.clone().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<bool>().prop_map(Json::from),
            (-1e9..1e9).prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::vec((text.clone(), inner), 0..4)
                    .prop_map(|entries| Json::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_documents_are_read_back(value in any_json()) {
            let text = to_yaml(&node(value.clone()));
            let back: Result<Json, _> = serde_yaml::from_str(&text);
            prop_assert_eq!(back.map_err(|error| error.to_string()), Ok(value), "{}", text);
        }
    }
}
