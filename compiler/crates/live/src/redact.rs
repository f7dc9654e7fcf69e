//! Removes secrets, and fields that no check reads, from objects and logs.

use std::borrow::Cow;
use std::sync::LazyLock;

use gpuc_schema::node_state::GPUS_ANNOTATION;
use regex::Regex;
use serde_json::{Map, Value};

use crate::objects::is_gpu_variable;
use crate::state::Kind;

/// The text in place of a removed value.
pub const REDACTED: &str = "[redacted]";

/// The length in bytes of annotations that are kept.
const MAX_ANNOTATION: usize = 512;

/// Parts of the names of ConfigMaps that configure the GPU stack, and whose data is kept.
const KEPT_CONFIG_MAPS: &[&str] = &[
    "cluster-autoscaler-status",
    "dcgm",
    "device-plugin",
    "gpuc-mig-layouts",
    "gpuc-runtime",
    "kueue-manager-config",
    "mig-config",
    "mig-parted",
    "nvidia",
];

/// Parts of names whose values may be secrets.
const SECRET_NAMES: &[&str] = &[
    "access-key",
    "access_key",
    "accesskey",
    "apikey",
    "api-key",
    "api_key",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "private",
    "secret",
    "token",
];

/// Texts that are secrets by their form: tokens of clouds, registries and code hosts, JSON web tokens, keys, and
/// credentials in URLs.
static SECRET_FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*",
        // A secret access key often follows the id of the key.
        r#"(?:AKIA|ASIA)[A-Z0-9]{16}(?:["'\s:,;|=/]+(?:[A-Za-z_-]+["']?\s*[:=]\s*["']?)?[A-Za-z0-9/+]{40})?"#,
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        r"github_pat_[A-Za-z0-9_]{20,}",
        r"glpat-[A-Za-z0-9_-]{20,}",
        r"hf_[A-Za-z0-9]{20,}",
        r"sk-[A-Za-z0-9_-]{20,}",
        r"nvapi-[A-Za-z0-9_-]{20,}",
        r"xox[abprs]-[A-Za-z0-9-]{10,}",
        r"ya29\.[A-Za-z0-9_-]{20,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ];
    Regex::new(&forms.join("|")).unwrap_or_else(|_| unreachable!("the expression is valid"))
});

/// Credentials after a name: `--password=x`, `--token x`, `Authorization: Bearer x`, `https://user:x@host`,
/// `curl -u user:x`.
static NAMED_SECRETS: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"[a-z0-9_-]*(?:api[-_]?key|access[-_]?key|account[-_]?key|credential|passw(?:or)?d|passphrase|secret|token)[a-z0-9_-]*";
    let expression = [
        r"(?i)(\b",
        name,
        r#"["']?\s*=\s*["']?|--?"#,
        name,
        r"\s+|\b(?:pass|pat|pw|pwd|sig|signature|session)=|\bauthorization:?\s+(?:bearer\s+|basic\s+)?|\bbearer\s+",
        r"|\bbasic[-_]auth:\s+|://[^/\s:@]*:|\s-u\s+[^\s:]+:)",
        r#"([^\s"',;&@}]+)"#,
    ];
    Regex::new(&expression.concat()).unwrap_or_else(|_| unreachable!("the expression is valid"))
});

/// Credentials after a name and a colon, as in YAML. In prose, a word follows the colon.
static YAML_SECRETS: LazyLock<Regex> = LazyLock::new(|| {
    let expression = concat!(
        r"(?i)(\b[a-z0-9_-]*(?:api[-_]?key|credential|key-data|passw(?:or)?d|passphrase|secret|token)[a-z0-9_-]*",
        r#"["']?:\s*["']?)([^\s"',;&@}]+)"#
    );
    Regex::new(expression).unwrap_or_else(|_| unreachable!("the expression is valid"))
});

/// Secret access keys of AWS, which have no form of their own, after the name of a key.
static ACCESS_KEYS: LazyLock<Regex> = LazyLock::new(|| {
    let expression = r#"(?i)(\b(?:aws|access|secret)[a-z_ -]*["']?\s*(?:[:=]|\bis\b)?\s*["']?)([a-z0-9/+]{40})(?:\b|[^a-z0-9/+]|$)"#;
    Regex::new(expression).unwrap_or_else(|_| unreachable!("the expression is valid"))
});

/// Programs with an option for a password whose name is one letter, and the option. With `mysql`, the password follows
/// without a space.
///
/// Source: the manuals of `mysql`, `mariadb`, `mongosh`, `sshpass` and `redis-cli`, 2026-11-28.
static SHORT_OPTIONS: LazyLock<Regex> = LazyLock::new(|| {
    let expression = concat!(
        r"(\b(?:mysql|mariadb)[a-z_-]*\b[^|;&\n]*?\s-p|\b(?:mongo[a-z]*|sshpass)\b[^|;&\n]*?\s-p\s*",
        r"|\bredis-cli\b[^|;&\n]*?\s-a\s*)",
        r#"("[^"]*"|'[^']*'|[^\s"',;&|]+)"#
    );
    Regex::new(expression).unwrap_or_else(|_| unreachable!("the expression is valid"))
});

/// Whether a text may be random: paths and hashes have no letters of both cases.
fn is_key(text: &str) -> bool {
    let has = |is_wanted: fn(&u8) -> bool| text.bytes().any(|byte| is_wanted(&byte));
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

/// Replaces what follows the first group of an expression.
fn redact_after<'t>(expression: &Regex, text: &'t str) -> Cow<'t, str> {
    expression.replace_all(text, |captures: &regex::Captures<'_>| {
        format!("{}{REDACTED}", &captures[1])
    })
}

/// A text without secrets.
pub fn redact_text(text: &str) -> String {
    let text = SECRET_FORMS.replace_all(text, REDACTED);
    let text = ACCESS_KEYS.replace_all(&text, |captures: &regex::Captures<'_>| {
        let (all, value) = (&captures[0], &captures[2]);
        if is_key(value) {
            all.replacen(value, REDACTED, 1)
        } else {
            all.to_owned()
        }
    });
    let text = redact_after(&SHORT_OPTIONS, &text);
    let text = redact_after(&NAMED_SECRETS, &text);
    let text = YAML_SECRETS.replace_all(&text, |captures: &regex::Captures<'_>| {
        let value = &captures[2];
        let is_password = captures[1].to_ascii_lowercase().contains("passw");
        if is_word(value) && !is_password {
            captures[0].to_owned()
        } else {
            format!("{}{REDACTED}", &captures[1])
        }
    });
    text.into_owned()
}

/// Whether a value is a word of a sentence, such as in `token: cannot create`: short, and only letters and hyphens.
fn is_word(value: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || "-.)(".contains(c);
    value.len() < 16 && value.chars().all(is_letter)
}

/// Removes secrets from the objects of a list.
pub fn redact_page(kind: Kind, list: &mut Value) {
    if let Some(items) = list.get_mut("items").and_then(Value::as_array_mut) {
        for item in items {
            redact_object(kind, item);
        }
    }
}

/// Removes secrets from an object.
pub fn redact_object(kind: Kind, object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("selfLink");
        let annotations = metadata.get_mut("annotations");
        if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
            let is_copied = |key: &String| kind != Kind::Node || key != GPUS_ANNOTATION;
            let others = annotations.iter_mut().filter(|(key, _)| is_copied(key));
            for (_, value) in others {
                // Controllers store whole objects in annotations, as JSON or compressed.
                let is_copy = value.as_str().is_some_and(|text| {
                    text.len() > MAX_ANNOTATION || text.trim_start().starts_with('{')
                });
                if is_copy {
                    *value = REDACTED.into();
                }
            }
        }
    }
    if kind == Kind::ConfigMap
        && let Some(object) = object.as_object_mut()
    {
        object.remove("binaryData");
        let name = object.get("metadata").and_then(|it| it["name"].as_str());
        let name = name.unwrap_or_default();
        if !KEPT_CONFIG_MAPS.iter().any(|part| name.contains(part)) {
            object.remove("data");
        }
    }
    match kind {
        Kind::HelmRelease => redact_release(object, "/spec/chart/spec/chart", "/spec", "values"),
        Kind::Application => {
            redact_release(object, "/spec/source/chart", "/spec/source", "helm");
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("sources");
            }
        }
        _ => {}
    }
    redact_value(object);
}

/// The chart whose values `gpuc import` reads.
const READ_CHART: &str = "jupyterhub";

/// Removes the values of a chart that nothing reads, and keys for encryption from those of the other.
fn redact_release(object: &mut Value, chart: &str, parent: &str, key: &str) {
    let is_read = object.pointer(chart).and_then(Value::as_str) == Some(READ_CHART);
    let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) else {
        return;
    };
    if is_read {
        parent.get_mut(key).into_iter().for_each(redact_keys);
    } else {
        parent.remove(key);
    }
}

/// Removes texts of at least 32 bytes in hexadecimal digits.
fn redact_keys(value: &mut Value) {
    match value {
        Value::String(text) => {
            if text.len() >= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                REDACTED.clone_into(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_keys),
        Value::Object(entries) => entries.values_mut().for_each(redact_keys),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            // Most texts have no character that every form needs.
            let redacted = redact_text(text);
            if redacted != *text {
                *text = redacted;
            }
        }
        Value::Array(items) => redact_items(items),
        Value::Object(entries) => {
            redact_variable(entries);
            redact_arguments(entries);
            for (key, value) in entries.iter_mut() {
                let is_kept = matches!(
                    key.as_str(),
                    "labels"
                        | "matchLabels"
                        | "nodeSelector"
                        | "image"
                        | "imageID"
                        | "hard"
                        | "used"
                );
                // A reference of an image has no scheme, but can be mistyped.
                let is_url = key == "image" && value.as_str().is_some_and(|it| it.contains("://"));
                if is_kept && !is_url {
                    continue;
                }
                if value.is_string() && is_secret_name(key) {
                    *value = REDACTED.into();
                } else {
                    redact_value(value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Removes secrets from the items of a list, which can be the arguments of a program.
fn redact_items(items: &mut [Value]) {
    let mut is_after_option = false;
    for item in items {
        let is_option = item.as_str().is_some_and(|text| {
            let is_named = text.starts_with('-') && !text.contains('=') && is_secret_name(text);
            is_named || ACCESS_KEY_ID.is_match(text)
        });
        if is_after_option && item.is_string() {
            *item = REDACTED.into();
        } else {
            redact_value(item);
        }
        is_after_option = is_option;
    }
}

/// The id of an access key of AWS, which the secret follows.
static ACCESS_KEY_ID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^(?:AKIA|ASIA)[A-Z0-9]{16}$")
        .unwrap_or_else(|_| unreachable!("the expression is valid"))
});

/// Removes passwords from the arguments of a container whose program has a short option for them. The program can be
/// in `command`, in `args`, or that of the image.
fn redact_arguments(container: &mut Map<String, Value>) {
    let words = ["command", "args"].map(|key| container.get(key).and_then(Value::as_array));
    let words = words.into_iter().flatten().flatten();
    let words = words.chain(container.get("image"));
    let programs: Vec<&(&str, &str)> = (words.filter_map(Value::as_str))
        .filter_map(|word| {
            let file = word.rsplit('/').next().unwrap_or_default();
            let mut programs = SHORT_OPTION_PROGRAMS.iter();
            programs.find(|(name, _)| file.starts_with(name))
        })
        .collect();
    let options: Vec<&str> = programs.iter().map(|(_, option)| *option).collect();
    for key in ["command", "args"] {
        let items = container.get_mut(key).and_then(Value::as_array_mut);
        let mut is_after_option = false;
        for item in items.into_iter().flatten() {
            let Some(text) = item.as_str() else {
                continue;
            };
            let attached = options
                .iter()
                .find(|it| text.starts_with(**it) && text.len() > it.len());
            let is_option = options.contains(&text) && !programs.iter().any(|it| is_attached(it.0));
            if is_after_option {
                *item = REDACTED.into();
            } else if let Some(option) = attached {
                *item = format!("{option}{REDACTED}").into();
            }
            is_after_option = is_option;
        }
    }
}

/// The beginnings of the names of programs, and their options for a password, as in [`SHORT_OPTIONS`].
const SHORT_OPTION_PROGRAMS: &[(&str, &str)] = &[
    ("mysql", "-p"),
    ("mariadb", "-p"),
    ("mongo", "-p"),
    ("sshpass", "-p"),
    ("redis-cli", "-a"),
];

/// Whether the password follows the option without a space.
fn is_attached(program: &str) -> bool {
    matches!(program, "mysql" | "mariadb")
}

/// Removes the value of an environment variable, unless it configures GPUs or their networks.
fn redact_variable(entries: &mut Map<String, Value>) {
    let is_variable = entries.get("value").is_some_and(Value::is_string);
    let Some(name) = entries
        .get("name")
        .and_then(Value::as_str)
        .filter(|_| is_variable)
    else {
        return;
    };
    if !is_gpu_variable(name) || is_secret_name(name) {
        entries.remove("value");
    }
}

/// Whether the value of a key with this name may be a secret. Keys with the names of objects are not.
fn is_secret_name(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let is_reference = lower.ends_with("name") || lower.ends_with("ref") || lower == "key";
    !is_reference && SECRET_NAMES.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_removed_from_texts() {
        for (text, expected) in [
            (
                "--password=hunter2 --level=3",
                "--password=[redacted] --level=3",
            ),
            (
                "Authorization: Bearer abc.def",
                "Authorization: Bearer [redacted]",
            ),
            (
                "https://me:pass@example.com/x",
                "https://me:[redacted]@example.com/x",
            ),
            (
                "HF_TOKEN=hf_abcdefghijklmnopqrstuvwx",
                "HF_TOKEN=[redacted]",
            ),
            ("key AKIAABCDEFGHIJKLMNOP end", "key [redacted] end"),
            ("password: hunter", "password: [redacted]"),
            (
                "--passphrase X --pat=Y pw=Z",
                "--passphrase [redacted] --pat=[redacted] pw=[redacted]",
            ),
            ("token: \"abc1\"", "token: \"[redacted]\""),
            ("--password hunter4 -x", "--password [redacted] -x"),
            ("curl -u admin:hunter2 x", "curl -u admin:[redacted] x"),
            (
                "https://a/b?sv=1&sig=abc",
                "https://a/b?sv=1&sig=[redacted]",
            ),
            ("AccountKey=abc;x", "AccountKey=[redacted];x"),
            (
                "client-key-data: LS0tLS1CRUdJTg==",
                "client-key-data: [redacted]",
            ),
            (
                "failed to fetch token: cannot create",
                "failed to fetch token: cannot create",
            ),
            (
                "untolerated taint {token: secret-team}",
                "untolerated taint {token: secret-team}",
            ),
            ("0/3 nodes are available", "0/3 nodes are available"),
            (
                "mysql -u root -phunter3 -h db",
                "mysql -u root -p[redacted] -h db",
            ),
            (
                "mysqldump -p'my pass' db | gzip",
                "mysqldump -p[redacted] db | gzip",
            ),
            ("mysql -u root -p db", "mysql -u root -p db"),
            ("sshpass -p hunter2 ssh a", "sshpass -p [redacted] ssh a"),
            ("redis-cli -a hunter2 ping", "redis-cli -a [redacted] ping"),
            ("mkdir -p/data && mysqld", "mkdir -p/data && mysqld"),
            (
                "AKIAABCDEFGHIJKLMNOP:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY end",
                "[redacted] end",
            ),
            (
                "access key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                "access key [redacted]",
            ),
            (
                r#"{"AccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}"#,
                r#"{"AccessKey": "[redacted]"}"#,
            ),
            (
                "secret 0123456789abcdef0123456789abcdef01234567 not found",
                "secret 0123456789abcdef0123456789abcdef01234567 not found",
            ),
            (
                "commit 0123456789abcdef0123456789abcdef01234567",
                "commit 0123456789abcdef0123456789abcdef01234567",
            ),
        ] {
            assert_eq!(redact_text(text), expected);
        }
        let key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nnext";
        assert_eq!(redact_text(key), "[redacted]\nnext");
    }

    #[test]
    fn only_config_maps_of_the_gpu_stack_keep_their_data() {
        for (name, is_kept) in [
            ("nvidia-device-plugin-configs", true),
            ("gpuc-runtime-infer", true),
            ("default-mig-parted-config", true),
            ("cluster-autoscaler-status", true),
            ("db-migrations", false),
            ("stamps-config", false),
            ("app", false),
        ] {
            let mut map = json!({"metadata": {"name": name}, "data": {"a": "b"}});
            redact_object(Kind::ConfigMap, &mut map);
            assert_eq!(map.get("data").is_some(), is_kept, "{name}");
        }
    }

    #[test]
    fn only_the_values_of_notebooks_are_kept_without_keys() {
        let key = "1e".repeat(32);
        let values = json!({"hub": {"config": {"CryptKeeper": {"keys": [key]}, "JupyterHub": {"admin_access": true}}}});
        let kept = json!({"hub": {"config": {"CryptKeeper": {"keys": [REDACTED]}, "JupyterHub": {"admin_access": true}}}});
        for (chart, expected) in [("jupyterhub", Some(&kept)), ("grafana", None)] {
            let mut release = json!({"metadata": {"name": "a"}, "spec": {
                "chart": {"spec": {"chart": chart}}, "values": values,
            }});
            redact_object(Kind::HelmRelease, &mut release);
            assert_eq!(release["spec"].get("values"), expected, "{chart}");
            let mut application = json!({"metadata": {"name": "a"}, "spec": {
                "source": {"chart": chart, "helm": {"valuesObject": values}}, "sources": [{"helm": {"values": "a: b"}}],
            }});
            redact_object(Kind::Application, &mut application);
            assert_eq!(
                application.pointer("/spec/source/helm/valuesObject"),
                expected,
                "{chart}"
            );
            assert_eq!(application["spec"].get("sources"), None);
        }
    }

    #[test]
    fn the_gpus_that_gpuc_runtime_reports_are_kept_for_nodes_only() {
        for (kind, is_kept) in [(Kind::Node, true), (Kind::Pod, false)] {
            let report = r#"{"driver":"570.86.15","gpus":[]}"#;
            let mut object = json!({"metadata": {"annotations": {"gpuc.dev/gpus": report}}});
            redact_object(kind, &mut object);
            let value = &object["metadata"]["annotations"]["gpuc.dev/gpus"];
            assert_eq!(*value == report, is_kept, "{kind:?}: {value}");
        }
    }

    #[test]
    fn credentials_in_images_are_removed_and_references_are_kept() {
        for (image, expected) in [
            (
                "https://me:pass@example.com/x",
                "https://me:[redacted]@example.com/x",
            ),
            (
                "example.com:5000/token:secret-1",
                "example.com:5000/token:secret-1",
            ),
        ] {
            let mut pod = json!({"spec": {"containers": [{"image": image}]},
                "status": {"containerStatuses": [{"imageID": "docker-pullable://example.com:5000/x@sha256:1"}]}});
            redact_object(Kind::Pod, &mut pod);
            assert_eq!(pod["spec"]["containers"][0]["image"], expected);
            let id = &pod["status"]["containerStatuses"][0]["imageID"];
            assert_eq!(id, "docker-pullable://example.com:5000/x@sha256:1");
        }
    }

    #[test]
    fn passwords_in_short_options_are_removed_from_arguments() {
        for (container, expected) in [
            (
                json!({"command": ["/usr/bin/mysql"], "args": ["-uroot", "-phunter3", "-P3306"]}),
                json!({"command": ["/usr/bin/mysql"], "args": ["-uroot", "-p[redacted]", "-P3306"]}),
            ),
            (
                json!({"image": "docker.io/library/mysql:8", "args": ["-phunter3"]}),
                json!({"image": "docker.io/library/mysql:8", "args": ["-p[redacted]"]}),
            ),
            (
                json!({"command": ["sh", "-c", "mysql -phunter3 -e 'select 1'"]}),
                json!({"command": ["sh", "-c", "mysql -p[redacted] -e 'select 1'"]}),
            ),
            (
                json!({"command": ["sshpass", "-p", "hunter3", "ssh"]}),
                json!({"command": ["sshpass", "-p", "[redacted]", "ssh"]}),
            ),
            (
                json!({"command": ["serve", "-p8080"], "args": ["-p", "8081"]}),
                json!({"command": ["serve", "-p8080"], "args": ["-p", "8081"]}),
            ),
            (
                json!({"args": ["AKIAABCDEFGHIJKLMNOP", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "s3"]}),
                json!({"args": ["[redacted]", "[redacted]", "s3"]}),
            ),
        ] {
            let mut pod = json!({"spec": {"containers": [container]}});
            redact_object(Kind::Pod, &mut pod);
            assert_eq!(pod["spec"]["containers"][0], expected);
        }
    }

    #[test]
    fn secrets_are_removed_from_objects() {
        let mut pod = json!({
            "metadata": {
                "name": "a",
                "managedFields": [{}],
                "labels": {"cloud.google.com/private-node": "true"},
                "annotations": {
                    "example.com/copy": "{\"spec\": {}}",
                    "kubectl.kubernetes.io/last-applied-configuration": "{}",
                    "example.com/token": "abc",
                },
            },
            "spec": {"containers": [{
                "name": "main",
                "image": "registry.io/token-server:secret-v1",
                "args": ["--api-key=abc", "--token", "abc", "serve"],
                "env": [
                    {"name": "NCCL_DEBUG", "value": "INFO"},
                    {"name": "DATABASE", "value": "postgres://x"},
                    {"name": "NVIDIA_API_KEY", "value": "x"},
                    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                ],
            }]},
        });
        redact_object(Kind::Pod, &mut pod);
        assert_eq!(
            pod,
            json!({
                "metadata": {
                    "name": "a",
                    "labels": {"cloud.google.com/private-node": "true"},
                    "annotations": {"example.com/copy": "[redacted]", "example.com/token": "[redacted]"},
                },
                "spec": {"containers": [{
                    "name": "main",
                    "image": "registry.io/token-server:secret-v1",
                    "args": ["--api-key=[redacted]", "--token", "[redacted]", "serve"],
                    "env": [
                        {"name": "NCCL_DEBUG", "value": "INFO"},
                        {"name": "DATABASE"},
                        {"name": "NVIDIA_API_KEY"},
                        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    ],
                }]},
            })
        );
    }
}
