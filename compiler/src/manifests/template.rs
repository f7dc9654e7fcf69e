//! Whether a text that is no YAML is a template of it.

/// What opens an action of Helm's, and of others.
const OPEN: &str = "{{";

/// Whether YAML breaks by what a template has: an action or a statement where a key or a value has to begin, or an
/// action with quotes within quotes. Braces in quotes, in comments and in blocks of text break nothing.
pub(super) fn is_one(text: &str) -> bool {
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
        if own.starts_with("{%") || breaks(own) {
            return true;
        }
    }
    false
}

/// Whether text follows, on lines that are indented more.
fn opens_block(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    let marks = line.trim_end_matches(|c: char| c == '-' || c == '+' || c.is_ascii_digit());
    let Some(before) = marks.strip_suffix(['|', '>']) else {
        return false;
    };
    before.ends_with(": ") || before.ends_with("- ") || before.trim().is_empty()
}

fn breaks(line: &str) -> bool {
    let mut quote = None;
    let mut before = String::new();
    for (index, c) in line.char_indices() {
        if line[index..].starts_with(OPEN) {
            let stands_alone = match before.trim_end().chars().next_back() {
                None | Some('[' | ',' | '{') => true,
                Some(':' | '-') => before.ends_with(' '),
                Some(_) => false,
            };
            match quote {
                None if stands_alone => return true,
                Some(quote) if ends_in(&line[index + OPEN.len()..], quote) => return true,
                _ => {}
            }
        }
        match quote {
            Some(open) if open == c => quote = None,
            None if c == '#' && (before.is_empty() || before.ends_with(' ')) => return false,
            None if matches!(c, '"' | '\'') && !before.ends_with(char::is_alphanumeric) => {
                quote = Some(c);
            }
            Some(_) | None => {}
        }
        before.push(c);
    }
    false
}

/// Whether the quote around an action ends within it: `"{{ .a | default "b" }}"`.
fn ends_in(action: &str, quote: char) -> bool {
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
    fn actions_where_a_value_begins_make_a_template() {
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
            assert!(is_one(text), "{text}");
        }
    }

    #[test]
    fn braces_in_text_make_none() {
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
            assert!(!is_one(text), "{text}");
        }
    }
}
