//! A user's values over ours, as Helm lays one values file over another.

use crate::node::{Entry, Node, Value};

/// A user's values over ours: mappings merge, and anything else is replaced. Everything keeps its own origin.
///
/// A `null` takes our value away and stays, because it is what makes Helm take the chart's own default away as well.
pub fn merge(ours: Node, theirs: &Node) -> Node {
    let (Value::Mapping(below), Value::Mapping(above)) = (ours.value, &theirs.value) else {
        return theirs.clone();
    };
    let mut merged = below;
    for entry in above {
        match merged.iter().position(|ours| ours.key == entry.key) {
            Some(place) => {
                let Entry { value, .. } = merged.remove(place);
                let value = merge(value, &entry.value);
                let entry = Entry {
                    value,
                    ..entry.clone()
                };
                merged.insert(place, entry);
            }
            None => merged.push(entry.clone()),
        }
    }
    Node {
        value: Value::Mapping(merged),
        // What both said is still there because of us, apart from what the user's file says for itself.
        origin: ours.origin,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::node::{Origin, Scalar};
    use crate::source::Span;

    fn ours(value: &Json) -> Node {
        Node::typed(value, Origin::rule([], "a rule"))
    }

    /// A tree as if it had been written at one place, nulls and all.
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
    fn mappings_merge_and_the_rest_is_replaced() {
        let below = json!({"a": {"b": 1, "c": [1, 2]}, "d": "x"});
        let above = json!({"a": {"c": [3], "e": true}, "d": {"f": 1}, "g": {}});
        let wanted = json!({"a": {"b": 1, "c": [3], "e": true}, "d": {"f": 1}, "g": {}});
        assert_eq!(merged(&below, &above), wanted);
        assert_eq!(merged(&below, &json!({})), below);
    }

    #[test]
    fn null_stays_so_that_helm_drops_the_charts_default_too() {
        let below = json!({"affinity": {"nodeAffinity": {}}, "b": 1});
        let wanted = json!({"affinity": null, "b": 1});
        assert_eq!(merged(&below, &json!({"affinity": null})), wanted);
        assert_eq!(merged(&json!({}), &json!({"x": null})), json!({"x": null}));
    }

    #[test]
    fn the_order_is_ours_and_origins_are_kept() {
        let mut sources = crate::source::Sources::default();
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
