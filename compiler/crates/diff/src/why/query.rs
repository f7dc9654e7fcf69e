//! Queries: a file and a location in it, or an object.

use gpuc_compile::lock::LOCK_FILE;
use gpuc_syntax::diag::phrases;

use super::path::{Path, Step, is_leaf, walk};
use super::{Index, IndexedDocument, QueryTarget};

/// A parsed query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The file or object.
    pub subject: String,
    /// The location in it.
    pub target: QueryTarget,
}

/// A resolved query.
pub struct ResolvedQuery {
    /// The number of the index that contains it.
    pub index: usize,
    /// The file, by its path in the cluster's directory.
    pub file: String,
    /// The file's contents.
    pub document: IndexedDocument,
    /// The location in it.
    pub target: QueryTarget,
}

/// An error: the queried part does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The error message.
    pub message: String,
    /// A suggestion.
    pub help: Option<String>,
}

impl Query {
    /// Parses `FILE`, `FILE#PATH`, `FILE:LINE`, `FILE:LINE:COLUMN`, `KIND/NAME` or `KIND/NAMESPACE/NAME#PATH`.
    /// `is_file` returns whether a file of that name exists, which may contain a `#`.
    pub fn parse(text: &str, is_file: &dyn Fn(&str) -> bool) -> Result<Self, QueryError> {
        let separators = text.match_indices('#').map(|(at, _)| at);
        let named = separators.clone().find(|at| is_file(&text[..*at]));
        let is_named =
            is_file(text) || split_line(text).is_some_and(|(subject, _)| is_file(subject));
        let separator = named.or_else(|| separators.clone().next().filter(|_| !is_named));
        if let Some((subject, path)) = separator.map(|at| (&text[..at], &text[at + 1..])) {
            let path = Path::parse(path).map_err(|wrong| QueryError {
                message: format!("invalid field path `{path}`: {wrong}"),
                help: Some("write a path such as `spec.containers[0].name`".to_owned()),
            })?;
            let at = if path.0.is_empty() {
                QueryTarget::File
            } else {
                QueryTarget::Field(path)
            };
            return Ok(Self::new(subject, at));
        }
        if let Some((subject, line)) = text.rsplit_once(':')
            && line
                .parse::<i128>()
                .is_ok_and(|line| usize::try_from(line).is_err())
        {
            return Err(QueryError {
                message: format!("invalid line number `{line}`: lines start at 1"),
                help: Some(format!("write a line such as `{subject}:1`")),
            });
        }
        Ok(match split_line(text) {
            Some((subject, line)) => Self::new(subject, QueryTarget::Line(line)),
            None => Self::new(text, QueryTarget::File),
        })
    }

    fn new(subject: &str, at: QueryTarget) -> Self {
        Self {
            subject: subject.to_owned(),
            target: at,
        }
    }
}

/// A file and a line in it, with or without a column.
fn split_line(text: &str) -> Option<(&str, usize)> {
    let number = |text: &'_ str| -> Option<usize> { text.parse().ok() };
    let (subject, last) = text.rsplit_once(':')?;
    let last = number(last)?;
    match subject.rsplit_once(':') {
        Some((subject, line)) if number(line).is_some() => Some((subject, number(line)?)),
        _ => Some((subject, last)),
    }
}

/// Whether a file of that name is generated. `out` is the directory of the trees, as typed by the user.
pub fn is_built(question: &Query, indexes: &[Index<'_>], out: &str) -> bool {
    let subject = question.subject.trim_start_matches("./");
    !matching_files(subject, indexes, out).is_empty()
}

/// Resolves a query. `out` is the directory of the trees, as typed by the user.
pub fn resolve(
    question: &Query,
    indexes: &[Index<'_>],
    out: &str,
) -> Result<ResolvedQuery, QueryError> {
    let subject = question.subject.trim_start_matches("./");
    let found = match matching_files(subject, indexes, out) {
        none if none.is_empty() => matching_objects(subject, indexes),
        found => found,
    };
    let (index, file) = match found.as_slice() {
        [] => {
            let input = indexes
                .iter()
                .find_map(|index| input_file_error(subject, index));
            let folder = || directory_error(subject, indexes, out);
            let unknown = || unknown_error(subject, indexes);
            return Err(input.or_else(folder).unwrap_or_else(unknown));
        }
        [(index, file)] => (*index, file.clone()),
        several => {
            let full = several
                .iter()
                .map(|(index, file)| full_path(&indexes[*index], file));
            let full: Vec<_> = full.collect();
            return Err(QueryError {
                message: format!(
                    "`{subject}` is ambiguous: {}",
                    phrases::quoted_list(&full, 4)
                ),
                help: Some("specify one of them".to_owned()),
            });
        }
    };
    let page = indexes[index].document(&file);
    let page = page.ok_or_else(|| unknown_error(subject, indexes))?;
    let at = check_target(&file, &page, &question.target)?;
    Ok(ResolvedQuery {
        index,
        file,
        document: page,
        target: at,
    })
}

/// The path of a file below the directory of all trees.
fn full_path(index: &Index<'_>, file: &str) -> String {
    format!("{}/{file}", index.cluster())
}

/// The files with that path, relative to the directory of the trees, of the cluster, or of a parent directory.
fn matching_files(subject: &str, indexes: &[Index<'_>], out: &str) -> Vec<(usize, String)> {
    let out = out.trim_start_matches("./").trim_end_matches('/');
    let path_in_out = subject
        .strip_prefix(out)
        .map(|rest| rest.trim_start_matches('/'));
    let path_in_out = path_in_out.filter(|_| !out.is_empty());
    let mut full_matches = Vec::new();
    let mut file_matches = Vec::new();
    for (number, index) in indexes.iter().enumerate() {
        for file in index.files() {
            let full = full_path(index, file);
            if path_in_out == Some(full.as_str())
                || subject == full
                || subject.ends_with(&format!("/{full}"))
            {
                full_matches.push((number, file.to_owned()));
            } else if subject == file {
                file_matches.push((number, file.to_owned()));
            }
        }
    }
    if full_matches.is_empty() {
        file_matches
    } else {
        full_matches
    }
}

/// The files of the objects with that kind and name.
fn matching_objects(subject: &str, indexes: &[Index<'_>]) -> Vec<(usize, String)> {
    let parts: Vec<&str> = subject.split('/').collect();
    let (kind, namespace, name) = match parts.as_slice() {
        [kind, name] => (kind, None, name),
        [kind, namespace, name] => (kind, Some(*namespace), name),
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (number, index) in indexes.iter().enumerate() {
        for (file, object) in index.objects() {
            let identity = &object.identity;
            let is_match = identity.kind.eq_ignore_ascii_case(kind)
                && identity.name == **name
                && (namespace.is_none() || identity.namespace.as_deref() == namespace);
            if is_match {
                found.push((number, file.to_owned()));
            }
        }
    }
    found
}

/// The error for a query of the input file itself.
fn input_file_error(subject: &str, index: &Index<'_>) -> Option<QueryError> {
    let file = index.compilation.loaded.file.as_deref()?;
    let is_input_file =
        !subject.is_empty() && (file == subject || subject.ends_with(&format!("/{file}")));
    is_input_file.then(|| QueryError {
        message: format!("`{subject}` is an input of gpuc, not a generated file"),
        help: Some(format!(
            "specify a file of the generated tree, such as `{}`; `gpuc diff` shows the impact of a change of the input",
            full_path(index, index.files().next().unwrap_or(LOCK_FILE))
        )),
    })
}

/// The error for a query of a directory.
fn directory_error(subject: &str, indexes: &[Index<'_>], out: &str) -> Option<QueryError> {
    let out = out.trim_start_matches("./").trim_end_matches('/');
    let subject = subject.trim_end_matches('/');
    let path_in_out = subject.strip_prefix(out).filter(|_| !out.is_empty());
    let path_in_out = path_in_out.map(|rest| rest.trim_start_matches('/'));
    let mut inside = Vec::new();
    for index in indexes {
        for file in index.files() {
            let full = full_path(index, file);
            let is_parent = |folder: &str| {
                let rest = full.strip_prefix(folder);
                folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
            };
            if path_in_out.is_some_and(is_parent) || (!subject.is_empty() && is_parent(subject)) {
                inside.push(full);
            }
        }
    }
    (!inside.is_empty()).then(|| QueryError {
        message: format!("`{subject}` is a directory"),
        help: Some(format!(
            "specify a file in it: {}",
            phrases::quoted_list(&inside, 3)
        )),
    })
}

/// The error for an unknown file or object, with the closest match; typos are most likely in the last path segment.
fn unknown_error(subject: &str, indexes: &[Index<'_>]) -> QueryError {
    let mut names = Vec::new();
    for index in indexes {
        for file in index.files() {
            names.push(full_path(index, file));
            names.push(file.to_owned());
        }
        for (_, object) in index.objects() {
            let identity = &object.identity;
            let kind = &identity.kind;
            names.push(format!("{kind}/{}", identity.name));
            let namespace = identity.namespace.iter();
            names.extend(namespace.map(|it| format!("{kind}/{it}/{}", identity.name)));
        }
    }
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let texts = || names.iter().map(String::as_str);
    let near = phrases::closest_match(subject, texts())
        .map(str::to_owned)
        .or_else(|| {
            let lasts: Vec<_> = names.iter().map(|name| last(name)).collect();
            let near = phrases::closest_match(&last(subject), lasts.iter().map(String::as_str));
            let near = near
                .map(str::to_owned)
                .or_else(|| lasts.contains(&last(subject)).then(|| last(subject)))?;
            names.iter().find(|name| last(name) == near).cloned()
        });
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "specify a file of the tree, or an object as `Deployment/name` or \
                 `Deployment/namespace/name`"
            .to_owned(),
    };
    let message = if subject.is_empty() {
        "no file or object is specified".to_owned()
    } else {
        format!("unknown generated file or object `{subject}`")
    };
    QueryError {
        message,
        help: Some(help),
    }
}

/// Checks that the file has the location.
fn check_target(
    file: &str,
    page: &IndexedDocument,
    at: &QueryTarget,
) -> Result<QueryTarget, QueryError> {
    match at {
        QueryTarget::File => Ok(QueryTarget::File),
        QueryTarget::Line(line) => {
            let count = page.line_count();
            if (1..=count).contains(line) {
                return Ok(QueryTarget::Line(*line));
            }
            Err(QueryError {
                message: format!("`{file}` has no line {line}"),
                help: Some(format!("specify a line from 1 to {count}")),
            })
        }
        QueryTarget::Field(path) => match page.with_embedded() {
            Some(_) if page.find(path).is_some() => Ok(at.clone()),
            Some(_) => Err(unknown_field_error(file, page, path)),
            None => Err(QueryError {
                message: format!("`{file}` has no fields, only lines"),
                help: Some(format!("specify a line: `{file}:1`")),
            }),
        },
    }
}

fn unknown_field_error(file: &str, page: &IndexedDocument, path: &Path) -> QueryError {
    let mut help = None;
    if let Some(root) = page.with_embedded() {
        let (count, reached) = path.find_longest(root);
        let above = Path(path.0[..count].to_vec());
        let keys: Vec<_> = reached
            .entries()
            .iter()
            .map(|entry| entry.key.as_str())
            .collect();
        help = match path.0.get(count) {
            Some(Step::Key(key)) => {
                let near = phrases::closest_match(key, keys.iter().copied());
                near.map(|near| {
                    let rest = path.0[count + 1..].iter().cloned();
                    let steps = above.0.iter().cloned().chain([Step::Key(near.to_owned())]);
                    let path = Path(steps.chain(rest).collect());
                    let exists = path.find(root).is_some();
                    let meant = if exists {
                        path
                    } else {
                        above.child(Step::Key(near.to_owned()))
                    };
                    format!("did you mean `{meant}`?")
                })
                .or_else(|| suggest_elsewhere(root, key))
            }
            _ => None,
        };
        let of = if count == 0 {
            "it".to_owned()
        } else {
            format!("`{above}`")
        };
        help = help.or_else(|| {
            Some(match (keys.as_slice(), reached.items().len()) {
                ([], 0) => format!("{of} has no fields"),
                ([], items) => format!("{of} has items 0 to {}", items - 1),
                (keys, _) => format!("{of} has {}", phrases::quoted_list(keys, 8)),
            })
        });
    }
    QueryError {
        message: format!("`{file}` has no field `{path}`"),
        help,
    }
}

/// Suggests leaves of that name, or else the first section, anywhere in the document.
fn suggest_elsewhere(root: &gpuc_syntax::node::Node, key: &str) -> Option<String> {
    let mut found: Vec<Path> = Vec::new();
    walk(root, &mut |path, node| {
        if path.0.last() == Some(&Step::Key(key.to_owned())) && (is_leaf(node) || found.is_empty())
        {
            found.push(path.clone());
        }
    });
    let paths: Vec<_> = found.iter().map(ToString::to_string).collect();
    (!paths.is_empty()).then(|| format!("did you mean {}?", phrases::quoted_list(&paths, 3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_files_with_locations() {
        let read = |text| Query::parse(text, &|_| false).unwrap();
        let field = |path| QueryTarget::Field(Path::parse(path).unwrap());
        assert_eq!(
            read("a/b.yaml#.spec.a"),
            Query::new("a/b.yaml", field("spec.a"))
        );
        assert_eq!(
            read("a/b.sh:12"),
            Query::new("a/b.sh", QueryTarget::Line(12))
        );
        assert_eq!(read("a/b.yaml#"), Query::new("a/b.yaml", QueryTarget::File));
        assert_eq!(
            read("Role/a/system:x"),
            Query::new("Role/a/system:x", QueryTarget::File)
        );
        assert_eq!(read("a/b.sh:12:7"), read("a/b.sh:12"));
        let wrong = |text: &str| Query::parse(text, &|_| false).unwrap_err().message;
        assert!(wrong("a#b..c").contains("two dots"));
        for line in ["-1", "99999999999999999999999"] {
            assert!(
                wrong(&format!("a/b.sh:{line}")).contains("invalid line number"),
                "{line}"
            );
        }
        // A file name may contain a `#`.
        let read = |text| Query::parse(text, &|file| file == "a#1/b.yaml").unwrap();
        assert_eq!(read("a#1/b.yaml#x"), Query::new("a#1/b.yaml", field("x")));
        assert_eq!(
            read("a#1/b.yaml:3"),
            Query::new("a#1/b.yaml", QueryTarget::Line(3))
        );
        assert_eq!(
            read("a#1/b.yaml"),
            Query::new("a#1/b.yaml", QueryTarget::File)
        );
    }
}
