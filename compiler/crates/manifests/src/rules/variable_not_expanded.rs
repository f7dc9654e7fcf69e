//! The value of a variable refers to the variable of the image.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4112",
        name: "manifest-variable-not-expanded",
        severity: Severity::Warning,
        summary: "the value of a variable refers to the variable of the image",
        checks: "Whether the value of a variable in `env` of a container with GPUs contains the variable itself, such as
`$PATH:/opt/bin` for `PATH`.",
        reason: "Kubernetes does not expand `$NAME` and `${NAME}`, and `$(NAME)` only for variables that are defined before in the
same list. The text stays in the value, and the value of the image is lost: the libraries of the driver or of NCCL are
not found.",
        remedy: "Write the complete value, or set the variable in a shell: `command: [sh, -c, \"PATH=$PATH:/opt/bin exec train\"]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      env: [{name: LD_LIBRARY_PATH, value: "${LD_LIBRARY_PATH}:/opt/nccl/lib"}]
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace(
            "${LD_LIBRARY_PATH}:/opt/nccl/lib",
            "/usr/local/nvidia/lib64:/opt/nccl/lib",
        ),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in pod.gpu_containers() {
            let entries = container.node.get("env").map_or(&[][..], Node::items);
            for (index, entry) in entries.iter().enumerate() {
                let (Some(name), Some(value)) = (entry.get("name"), entry.get("value")) else {
                    continue;
                };
                let (Some(name), Some(text)) = (name.text(), value.text()) else {
                    continue;
                };
                let mut before = entries[..index].iter();
                let is_defined = before.any(|it| it.get("name").and_then(Node::text) == Some(name));
                if !refers_to_itself(name, text, is_defined) {
                    continue;
                }
                let message = format!(
                    "{}: Kubernetes does not expand `{name}` in its own value",
                    pod.title()
                );
                report
                    .diagnostic(&RULE.code, value.span(), message)
                    .primary_label("the value of the image is lost")
                    .help(format!(
                        "write the complete value, or set `{name}` in the command"
                    ))
                    .emit();
            }
        }
    }
}

/// Whether a value contains its own variable in a form that stays as it is. `$(NAME)` is expanded if an entry before
/// has the name.
fn refers_to_itself(name: &str, value: &str, is_defined: bool) -> bool {
    let forms = value.match_indices('$').map(|(at, _)| &value[at + 1..]);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    forms.into_iter().any(|rest| {
        let in_braces = rest
            .strip_prefix('{')
            .and_then(|rest| rest.strip_prefix(name));
        let in_parentheses = rest
            .strip_prefix('(')
            .and_then(|rest| rest.strip_prefix(name));
        match (in_braces, in_parentheses, rest.strip_prefix(name)) {
            (Some(rest), ..) => rest.starts_with(['}', ':']),
            (_, Some(rest), _) => rest.starts_with(')') && !is_defined,
            (_, _, Some(rest)) => !name.is_empty() && !rest.starts_with(is_part),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::refers_to_itself;

    #[test]
    fn own_variables_stay_in_the_value() {
        for value in ["$PATH:/a", "/a:${PATH}", "${PATH:-/b}", "$(PATH):/a"] {
            assert!(refers_to_itself("PATH", value, false), "{value}");
        }
        assert!(!refers_to_itself("PATH", "$(PATH):/a", true));
        for value in ["/a", "$PATH_2", "$(HOME)/bin", "$", "PATH", "${HOME}"] {
            assert!(!refers_to_itself("PATH", value, false), "{value}");
        }
    }
}
