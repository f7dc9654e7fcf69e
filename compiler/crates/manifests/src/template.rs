//! Detects templates among texts that are not valid YAML.

/// The start of an action in templates of Helm and others.
const ACTION_START: &str = "{{";

/// Whether a text has template syntax that is not valid YAML: an action or a statement in place of a key or a value, or
/// an action with quotes within quotes. Braces in quotes, comments and block scalars are valid.
pub(super) fn is_template(text: &str) -> bool {
    let mut block: Option<usize> = None;
    for line in text.lines() {
        let own = line.trim_start();
        let indent = line.len() - own.len();
        if own.is_empty() {
            continue;
        }
        if block.is_some_and(|above| indent > above) {
            continue;
        }
        block = opens_block(line).then_some(indent);
        if own.starts_with("{%") || is_invalid_yaml(own) {
            return true;
        }
    }
    false
}

/// Whether the line starts a block scalar.
fn opens_block(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    let marks = line.trim_end_matches(|c: char| c == '-' || c == '+' || c.is_ascii_digit());
    let Some(before) = marks.strip_suffix(['|', '>']) else {
        return false;
    };
    before.ends_with(": ") || before.ends_with("- ") || before.trim().is_empty()
}

/// Whether template syntax makes a line invalid YAML.
fn is_invalid_yaml(line: &str) -> bool {
    let mut quote = None;
    let mut before = String::new();
    for (index, c) in line.char_indices() {
        if line[index..].starts_with(ACTION_START) {
            let stands_alone = match before.trim_end().chars().next_back() {
                None | Some('[' | ',' | '{') => true,
                Some(':' | '-') => before.ends_with(' '),
                Some(_) => false,
            };
            match quote {
                None if stands_alone => return true,
                Some(quote) if has_quote_in_action(&line[index + ACTION_START.len()..], quote) => {
                    return true;
                }
                _ => {}
            }
        }
        match quote {
            Some(open) if open == c => quote = None,
            None if c == '#' && (before.is_empty() || before.ends_with(' ')) => return false,
            None if matches!(c, '"' | '\'') && !before.ends_with(char::is_alphanumeric) => {
                quote = Some(c);
            }
            _ => {}
        }
        before.push(c);
    }
    false
}

/// Whether the quote around an action ends within it: `"{{ .a | default "b" }}"`.
fn has_quote_in_action(action: &str, quote: char) -> bool {
    let Some((action, _)) = action.split_once("}}") else {
        return false;
    };
    let inner = action.trim_start_matches('-').trim_start();
    let is_action = inner.starts_with(|c: char| c.is_ascii_alphabetic() || ".$(".contains(c));
    is_action && action.contains(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_in_place_of_values_are_templates() {
        for text in [
            "{{- if .Values.on }}\nkind: Pod\n{{- end }}\n",
            "spec:\n  {{- toYaml .Values.spec | nindent 2 }}\n",
            "name: {{ .Release.Name }}\n",
            "- {{ .a }}\n- b: {{ .c }}\n",
            "args: [a, {{ .b }}]\n",
            "image: \"{{ .a }}:{{ .b | default \"c\" }}\"\n",
            "{% for a in b %}\nkind: Pod\n{% endfor %}\n",
            "a: |\n  {{ $x }}\nb: {{ .c }}\n",
        ] {
            assert!(is_template(text), "{text}");
        }
    }

    #[test]
    fn braces_in_strings_are_not_templates() {
        for text in [
            "args: [\"--format\", \"{{.Name}}\"]\n",
            "args: ['{{inputs.parameters.n}}']\n",
            "name: train-{{item}}\n",
            "# name: {{ .Release.Name }}\nkind: Pod\n",
            "kind: Pod # {{ .a }}\n",
            "text: |-\n  {{ $labels.pod }} is down\n\n  {{ $value }}\nb: [\n",
            "- >2\n  {{ a }}\n",
            "args: [\"{{\", \"}}\"]\n",
            "a: it's {{b}}\n",
        ] {
            assert!(!is_template(text), "{text}");
        }
    }
}
