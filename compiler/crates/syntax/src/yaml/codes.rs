//! Codes for YAML errors.

use crate::diag::{Code, Correction, Severity};

/// All codes of this module, by id.
pub static CODES: &[&Code] = &[
    &YAML_SYNTAX,
    &EMPTY_FILE,
    &YAML_LIMIT,
    &DUPLICATE_KEY,
    &KEY_NOT_TEXT,
    &ALIAS_UNKNOWN,
    &MERGE_NOT_MAPPING,
    &TAG_UNKNOWN,
    &TEXT_NOT_INDENTED,
];

/// Text that is not YAML.
pub static YAML_SYNTAX: Code = Code {
    id: "GPUC0001",
    name: "yaml-syntax",
    severity: Severity::Error,
    summary: "the file is not valid YAML",
    checks: "Whether the file is valid YAML 1.2: quotes and brackets are closed, the keys of a mapping start in the same column,
and lines are indented with spaces.",
        reason: "gpuc cannot check a document that it cannot parse. It still reads the other documents of the file.",
        remedy: "Check the reported line and the lines before it: an unclosed quote or bracket is often detected only later. Indent with
spaces, not with tabs. Quote strings that contain `: ` or ` #`, or that start with one of `{[&*!|>'\"%@`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1
    nodes: {count: 1}
"#,
    correction: Correction::Whole(GOOD),
};

/// A file without content.
pub static EMPTY_FILE: Code = Code {
    id: "GPUC0002",
    name: "empty-file",
    severity: Severity::Error,
    summary: "the file is empty",
    checks: "Whether the file has at least one document that is not only comments.",
        reason: "The tree of an empty file would remove everything that was built before. An empty file is often the result of a wrong
path or an unsaved editor.",
        remedy: "Write the cluster into the file, or remove the file from the command line.",
    bad: "# TODO: describe the cluster here.\n",
    correction: Correction::Whole(GOOD),
};

/// A file that exceeds a limit.
pub static YAML_LIMIT: Code = Code {
    id: "GPUC0003",
    name: "yaml-limit",
    severity: Severity::Error,
    summary: "the file is too large, nested too deeply, or expands too much through aliases",
    checks: "Whether a file is at most 16 MiB and has at most 1,000,000 values. At most 200,000 values, with 16 MiB of text, are copied by
aliases. Lists and mappings are nested at most 64 levels deep. In a cluster file, they have at most 5,000 entries, and
there are at most 500 documents.",
        reason: "Nested aliases multiply: a file of ten lines can expand to billions of values. The limits prevent gpuc from exhausting
the machine's memory, so that it can safely check untrusted files.",
        remedy: "Split a large fleet into several files. Replace nested aliases with the value itself, or move common settings to a
`base` file.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts:
      - &a [node-1, node-1, node-1, node-1, node-1, node-1, node-1, node-1, node-1, node-1]
      - &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
      - &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
      - &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
      - &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
      - [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]
    nodes: {count: 1}
"#,
    correction: Correction::Whole(GOOD),
};

/// A key that is set twice.
pub static DUPLICATE_KEY: Code = Code {
    id: "GPUC0004",
    name: "duplicate-key",
    severity: Severity::Error,
    summary: "a mapping sets a key twice",
    checks: "Whether a mapping has each key only once. Keys that are merged with `<<` do not count: the mapping's own keys
override them.",
        reason: "YAML forbids duplicate keys, and parsers differ: some use the first value, some the last. Different tools would read
different values.",
        remedy: "Delete one of the two keys.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    hosts: [node-2]
"#,
    correction: Correction::Whole(GOOD),
};

/// A key that is a list, a mapping or null.
pub static KEY_NOT_TEXT: Code = Code {
    id: "GPUC0005",
    name: "key-not-text",
    severity: Severity::Error,
    summary: "a key is a list, a mapping, or null",
    checks: "Whether keys are strings.",
        reason: "YAML allows lists and mappings as keys, but Kubernetes and gpuc do not. A common cause is a template expression such as
`{{ name }}` in the file: YAML reads the braces as mappings.",
        remedy: "Write the key as a string, in quotes if it starts with `[`, `{` or `?`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    labels:
      [team, research]: "yes"
"#,
    correction: Correction::Whole(GOOD),
};

/// An alias of an unknown anchor.
pub static ALIAS_UNKNOWN: Code = Code {
    id: "GPUC0006",
    name: "alias-unknown",
    severity: Severity::Error,
    summary: "an alias refers to an anchor that is not defined before it",
    checks: "Whether every alias `*name` follows its anchor `&name` in the same document, and is not inside the
anchor's value.",
        reason: "The alias has no value. Anchors are valid only in their document: anchors before `---` are not defined after it.",
        remedy: "Define the anchor before the alias, or replace the alias with the value. Quote strings that start with `*`. Move
settings that several documents share to a `base` file.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    labels: *common
    nodes: {count: 1}
"#,
    correction: Correction::Whole(GOOD),
};

/// A merge key whose value is not a mapping.
pub static MERGE_NOT_MAPPING: Code = Code {
    id: "GPUC0007",
    name: "merge-not-mapping",
    severity: Severity::Error,
    summary: "the value of `<<` is not a mapping",
    checks: "Whether the value of `<<` is a mapping, or a list of mappings.",
    reason: "`<<` merges the keys of another mapping into this one. Strings and lists of strings have no keys.",
    remedy: "Use an alias of a mapping: `<<: *defaults`. If the key is literally `<<`, quote it: `\"<<\"`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - <<: defaults
    name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    correction: Correction::Whole(
        r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: &card {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
  - name: more
    gpu: {<<: *card, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
"#,
    ),
};

/// A tag that is not supported.
pub static TAG_UNKNOWN: Code = Code {
    id: "GPUC0008",
    name: "tag-unknown",
    severity: Severity::Error,
    summary: "a value has a tag that is not supported or does not match the value",
    checks: "Whether tags are those of YAML's core schema, `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq` and `!!map`,
and match their values.",
        reason: "A tag such as CloudFormation's `!Ref` or Ansible's `!vault` is an instruction for another tool. gpuc would use the text
after the tag literally.",
        remedy: "Delete the tag, or replace it with the resolved value. Quote strings that start with `!`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [!Ref node-1]
    nodes: {count: 1}
"#,
    correction: Correction::Whole(GOOD),
};

/// A continuation line of a quoted text is not indented.
pub static TEXT_NOT_INDENTED: Code = Code {
    id: "GPUC0009",
    name: "text-not-indented",
    severity: Severity::Warning,
    summary: "a continuation line of a quoted text is not indented",
    checks: "Whether the lines of a quoted text on several lines are indented more than its key.",
    reason: "YAML requires the indentation. Many parsers do not, kubectl's among them, but strict ones reject the file.",
    remedy: "Indent the line. The spaces do not become part of the text.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
priorities:
  - name: urgent
    value: 1000
    description: "For jobs that cannot
  wait."
"#,
    correction: Correction::Replace("  wait.", "      wait."),
};

const GOOD: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#;
