//! What can be wrong with a file before anything in it means something.

use crate::diag::{Code, Severity};

/// Every code of this module, by id.
pub static CODES: &[&Code] = &[
    &YAML_SYNTAX,
    &EMPTY_FILE,
    &YAML_LIMIT,
    &DUPLICATE_KEY,
    &KEY_NOT_TEXT,
    &ALIAS_UNKNOWN,
    &MERGE_NOT_MAPPING,
    &TAG_UNKNOWN,
];

/// Text that is not YAML.
pub static YAML_SYNTAX: Code = Code {
    id: "GPUC0001",
    name: "yaml-syntax",
    severity: Severity::Error,
    summary: "the text is not YAML",
    explain: "\
### What it checks

The file is YAML 1.2: quotes and brackets are closed, lines of one mapping start at one column, and lines are indented
with spaces.

### Why it matters

Nothing can be said of a document that cannot be read. Other documents of the file are read all the same.

### What to do

Look at the place and at the line before it: a quote or a bracket that was never closed is often noticed only later.
Indent with spaces, not with tabs, and quote text that holds `: ` or ` #`, or that starts with one of `{[&*!|>'\"%@`.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1
    nodes: {count: 1}
"#,
    good: GOOD,
};

/// A file without content.
pub static EMPTY_FILE: Code = Code {
    id: "GPUC0002",
    name: "empty-file",
    severity: Severity::Error,
    summary: "the file has nothing in it",
    explain: "\
### What it checks

The file has at least one document that is more than comments.

### Why it matters

A tree that is built from nothing would remove everything that was built before. An empty file is most often a mistake
in a path or an editor that has not saved.

### What to do

Write the cluster into the file, or leave the file out of the command.
",
    bad: "# The cluster comes here.\n",
    good: GOOD,
};

/// A file that is too much.
pub static YAML_LIMIT: Code = Code {
    id: "GPUC0003",
    name: "yaml-limit",
    severity: Severity::Error,
    summary: "the file is too large, too deep, or grows too much by its aliases",
    explain: "\
### What it checks

A file has at most 16 MiB and 1,000,000 values, of which aliases copy at most 200,000, and lists and mappings stand
within each other at most 64 deep.

### Why it matters

Aliases within aliases multiply: a file of ten lines can stand for billions of values. gpuc stops before it takes the
machine's memory, so that files of others can be checked safely.

### What to do

Split a large fleet into several files. Where aliases stand within anchors that aliases use again, write the innermost
part once, where it is needed, or move what is common to a `base` file.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
    good: GOOD,
};

/// A key that is set twice.
pub static DUPLICATE_KEY: Code = Code {
    id: "GPUC0004",
    name: "duplicate-key",
    severity: Severity::Error,
    summary: "a mapping sets a key twice",
    explain: "\
### What it checks

A mapping has each key once. Keys that `<<` merges in do not count: what the mapping says itself wins over them.

### Why it matters

YAML forbids it, and readers disagree: some take the first value, some the last. What a colleague sees in one tool would
not be what another tool builds.

### What to do

Delete one of the two.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    hosts: [node-2]
"#,
    good: GOOD,
};

/// A key that is a list, a mapping or nothing.
pub static KEY_NOT_TEXT: Code = Code {
    id: "GPUC0005",
    name: "key-not-text",
    severity: Severity::Error,
    summary: "a key is a list, a mapping, or nothing",
    explain: "\
### What it checks

Keys are text.

### Why it matters

YAML allows lists and mappings as keys, Kubernetes and gpuc do not. Most often braces of a template such as
`{{ name }}` were left in the file: YAML reads them as mappings.

### What to do

Write the key as text, in quotes if it starts with `[`, `{` or `?`.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
    good: GOOD,
};

/// An alias of an anchor that is not there.
pub static ALIAS_UNKNOWN: Code = Code {
    id: "GPUC0006",
    name: "alias-unknown",
    severity: Severity::Error,
    summary: "an alias names an anchor that does not stand before it",
    explain: "\
### What it checks

Every alias `*name` comes after its anchor `&name`, in the same document, and not inside of what the anchor names.

### Why it matters

The alias stands for nothing. Anchors end with their document: those before `---` mean nothing after it.

### What to do

Write the anchor before the alias, or the value in the alias's place. Text that starts with `*` needs quotes. What several
documents share goes to a `base` file.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: *hosts
    nodes: {count: 1}
"#,
    good: GOOD,
};

/// A merge key with something other than a mapping.
pub static MERGE_NOT_MAPPING: Code = Code {
    id: "GPUC0007",
    name: "merge-not-mapping",
    severity: Severity::Error,
    summary: "`<<` stands before something other than a mapping",
    explain: "\
### What it checks

What `<<` merges is a mapping, or a list of mappings.

### Why it matters

`<<` puts the keys of another mapping into this one. Text and lists of text have no keys.

### What to do

Give it an alias of a mapping: `<<: *defaults`. Quote it, as `\"<<\"`, if the key is really called so.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - <<: defaults
    name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
};

/// A tag that gpuc does not know.
pub static TAG_UNKNOWN: Code = Code {
    id: "GPUC0008",
    name: "tag-unknown",
    severity: Severity::Error,
    summary: "a value has a tag that gpuc does not know or that does not fit",
    explain: "\
### What it checks

Tags are those of YAML's core schema, `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq` and `!!map`, and fit their
values.

### Why it matters

A tag such as CloudFormation's `!Ref` or Ansible's `!vault` asks a tool to do something. gpuc is not that tool; the text
behind the tag would be taken as it stands.

### What to do

Delete the tag, or put the value that it stands for in its place. Text that starts with `!` needs quotes.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [!Ref node-1]
    nodes: {count: 1}
"#,
    good: GOOD,
};

const GOOD: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: L4, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#;
