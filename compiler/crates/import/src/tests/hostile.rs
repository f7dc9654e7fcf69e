//! Names and values that mean something in YAML.

use serde_json::json;

use super::{imported, node, read};

#[test]
fn names_of_objects_cannot_change_the_file() {
    let hostile = [
        "no", "1e3", "a: b", "x\n- y", "\u{2028}", "\"", "*a", "${HOME}", "{{x}}", "# c", "",
    ];
    for text in hostile {
        let labels =
            json!({"eks.amazonaws.com/nodegroup": text, "node.kubernetes.io/instance-type": text});
        let taint = format!("{text}=v:NoSchedule");
        let objects = [
            node(
                "a",
                &labels,
                &[&taint],
                &json!({"nvidia.com/gpu": "8", text: "1"}),
            ),
            json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": text, "labels": {"gpuc.dev/team": text}}}),
            json!({"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": text}, "value": 1, "description": text}),
        ];
        let import = imported(&objects, &[]);
        let file = read(&import);
        assert_eq!(file["teams"][0]["name"], text, "{}", import.yaml);
        assert_eq!(file["priorities"][0]["name"], text);
        assert_eq!(file["nodePools"].as_array().unwrap().len(), 1);
        let keys: Vec<&String> = file.as_object().unwrap().keys().collect();
        let known = [
            "apiVersion",
            "kind",
            "metadata",
            "kubernetes",
            "cloud",
            "stack",
            "nodePools",
            "teams",
            "priorities",
        ];
        assert!(
            keys.iter().all(|key| known.contains(&key.as_str())),
            "{keys:?}"
        );
        assert!(
            !import
                .report
                .text()
                .lines()
                .any(|line| line.starts_with("- y"))
        );
    }
}
