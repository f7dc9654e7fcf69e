//! Which part of the compiler leans on which.

/// Which other parts of the compiler each part may use; `codes` is the root's list of all findings.
///
/// The library never names `cli`, which is no part of it.
pub(super) const LAYERS: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("shell", &[]),
    ("schema", &[]),
    ("tree", &[]),
    ("node", &["source", "yaml"]),
    ("yaml", &["diag", "node", "source"]),
    ("diag", &["source"]),
    ("load", &["diag", "node", "source", "yaml"]),
    ("decode", &["diag", "node", "schema", "source", "yaml"]),
    (
        "model",
        &["check", "cloud", "diag", "node", "resolve", "source"],
    ),
    ("resolve", &["cloud", "diag", "model", "node", "source"]),
    (
        "check",
        &[
            "cloud",
            "codes",
            "diag",
            "model",
            "node",
            "placement",
            "resolve",
            "schema",
            "source",
        ],
    ),
    (
        "cloud",
        &[
            "check",
            "diag",
            "lower",
            "model",
            "node",
            "placement",
            "plan",
            "resolve",
            "shell",
            "source",
        ],
    ),
    (
        "chart",
        &[
            "check", "cloud", "diag", "lower", "model", "node", "plan", "source", "yaml",
        ],
    ),
    ("placement", &["cloud", "diag", "model", "node", "source"]),
    (
        "api_server",
        &["check", "diag", "node", "placement", "source", "yaml"],
    ),
    (
        "manifests",
        &[
            "api_server",
            "check",
            "cloud",
            "diag",
            "load",
            "model",
            "node",
            "placement",
            "source",
            "yaml",
        ],
    ),
    ("plan", &["chart", "node"]),
    (
        "lower",
        &[
            "chart",
            "check",
            "cloud",
            "model",
            "node",
            "placement",
            "plan",
            "source",
        ],
    ),
    (
        "audit",
        &[
            "api_server",
            "chart",
            "check",
            "diag",
            "lower",
            "manifests",
            "model",
            "node",
            "placement",
            "plan",
            "source",
            "yaml",
        ],
    ),
    (
        "emit",
        &["audit", "node", "plan", "shell", "tree", "yaml", "lock"],
    ),
    ("graph", &["model", "placement", "plan", "shell"]),
    ("lock", &["tree"]),
    (
        "diff",
        &[
            "chart", "compile", "diag", "emit", "graph", "lock", "model", "node", "plan", "shell",
            "source", "tree", "yaml",
        ],
    ),
    ("expand", &["model", "node", "yaml"]),
    (
        "compile",
        &[
            "audit", "check", "decode", "diag", "emit", "expand", "load", "lock", "lower", "model",
            "node", "plan", "resolve", "tree",
        ],
    ),
    (
        "why",
        &[
            "chart", "compile", "diag", "emit", "load", "lock", "model", "node", "plan", "schema",
            "shell", "source", "yaml",
        ],
    ),
    ("fleet", &["compile", "diag", "plan", "source"]),
    ("lib", &[]),
    // The library's users: they name it `gpuc`.
    ("cli", &[]),
    ("main", &[]),
];
