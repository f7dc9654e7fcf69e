//! Merges the user's values into gpuc's, as Helm merges values files.

use gpuc_syntax::node::{Entry, Node, Value};

/// Merges the user's values into gpuc's: mappings merge, and everything else is replaced. Each value keeps its origin.
///
/// A `null` removes gpuc's value and is kept, because Helm then removes the chart's default as well.
pub fn merge(ours: Node, theirs: &Node) -> Node {
    let (Value::Mapping(below), Value::Mapping(above)) = (ours.value, &theirs.value) else {
        return theirs.clone();
    };
    let mut merged = below;
    for entry in above {
        match merged.iter().position(|ours| ours.key == entry.key) {
            Some(index) => {
                let Entry { value, .. } = merged.remove(index);
                let value = merge(value, &entry.value);
                let entry = Entry {
                    value,
                    ..entry.clone()
                };
                merged.insert(index, entry);
            }
            None => merged.push(entry.clone()),
        }
    }
    Node {
        value: Value::Mapping(merged),
        // The mapping itself exists because of gpuc; only the entries from the user's file have its origin.
        origin: ours.origin,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use gpuc_syntax::node::{Origin, Scalar};
    use gpuc_syntax::source::Span;

    fn ours(value: &Json) -> Node {
        Node::from_serializable(value, Origin::rule([], "a rule"))
    }

    /// A tree with nulls whose nodes all have one span.
    fn theirs(value: &Json, span: Span) -> Node {
        let value = match value {
            Json::Object(fields) => Value::Mapping(
                fields
                    .iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        key_span: span,
                        value: theirs(value, span),
                    })
                    .collect(),
            ),
            Json::Null => Value::Scalar(Scalar::Null),
            other => Node::from_json(other.clone()).value,
        };
        Node::written(value, span)
    }

    fn merged(below: &Json, above: &Json) -> Json {
        serde_json::to_value(merge(ours(below), &theirs(above, Span::NONE))).unwrap()
    }

    #[test]
    fn mappings_merge_and_other_values_are_replaced() {
        let below = json!({"a": {"b": 1, "c": [1, 2]}, "d": "x"});
        let above = json!({"a": {"c": [3], "e": true}, "d": {"f": 1}, "g": {}});
        let wanted = json!({"a": {"b": 1, "c": [3], "e": true}, "d": {"f": 1}, "g": {}});
        assert_eq!(merged(&below, &above), wanted);
        assert_eq!(merged(&below, &json!({})), below);
    }

    #[test]
    fn null_is_kept() {
        let below = json!({"affinity": {"nodeAffinity": {}}, "b": 1});
        let wanted = json!({"affinity": null, "b": 1});
        assert_eq!(merged(&below, &json!({"affinity": null})), wanted);
        assert_eq!(merged(&json!({}), &json!({"x": null})), json!({"x": null}));
    }

    #[test]
    fn order_and_origins_are_kept() {
        let mut sources = gpuc_syntax::source::Sources::default();
        let file = sources.add("values.yaml", "d: 2");
        let span = Span {
            source: file,
            start: 0,
            end: 4,
        };
        let all = merge(
            ours(&json!({"a": 1, "d": {"x": 1}, "z": 3})),
            &theirs(&json!({"d": {"y": 2}, "n": 4}), span),
        );
        let keys: Vec<_> = all.entries().iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, ["a", "d", "z", "n"]);
        let d = all.entry("d").unwrap();
        assert_eq!(d.key_span, span);
        assert_eq!(d.value.get("y").unwrap().span(), span);
        assert!(!d.value.get("x").unwrap().span().is_written());
        assert_eq!(all.get("n").unwrap().span(), span);
    }
}
