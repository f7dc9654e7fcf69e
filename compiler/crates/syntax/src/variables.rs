//! Placeholders in texts that another program replaces before they are applied.

/// The starts of placeholders: Helm, envsubst and Flux, kustomize and `OpenShift` templates.
const STARTS: &[&str] = &["{{", "${", "$("];

/// Whether a text contains a placeholder: `{{ .Values.name }}`, `${NAME}`, `$(NAME)`, or `$NAME` in upper case, which
/// `envsubst` replaces as well.
///
/// Source: <https://www.gnu.org/software/gettext/manual/html_node/envsubst-Invocation.html> (read 2026-11-28).
pub fn has_placeholder(text: &str) -> bool {
    STARTS.iter().any(|start| text.contains(start)) || text.split('$').skip(1).any(starts_with_name)
}

/// Whether a text after `$` starts with the name of a variable in upper case.
fn starts_with_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = text.split(|c: char| !is_part(c)).next().unwrap_or_default();
    let is_upper = !name.contains(|c: char| c.is_ascii_lowercase());
    is_upper && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::has_placeholder;

    #[test]
    fn placeholders_are_recognized() {
        for text in [
            "{{ .Values.name }}",
            "a-${NAME}",
            "$(NAME)",
            "$NAME",
            "$REGISTRY/train:$TAG",
            "$_A",
            "\"$N1\"",
        ] {
            assert!(has_placeholder(text), "{text}");
        }
        for text in [
            "", "a", "5$", "$1", "$name", "$Name", "a$b", "{a}", "$", "$$",
        ] {
            assert!(!has_placeholder(text), "{text}");
        }
    }
}
