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
        let places = text.match_indices('#').map(|(at, _)| at);
        let named = places.clone().find(|at| is_file(&text[..*at]));
        let is_named = is_file(text) || split_line(text).is_some_and(|(what, _)| is_file(what));
        let place = named.or_else(|| places.clone().next().filter(|_| !is_named));
        if let Some((what, path)) = place.map(|at| (&text[..at], &text[at + 1..])) {
            let path = Path::parse(path).map_err(|wrong| QueryError {
                message: format!("invalid field path `{path}`: {wrong}"),
                help: Some("write a path such as `spec.containers[0].name`".to_owned()),
            })?;
            let at = if path.0.is_empty() {
                QueryTarget::File
            } else {
                QueryTarget::Field(path)
            };
            return Ok(Self::new(what, at));
        }
        if let Some((what, line)) = text.rsplit_once(':')
            && line
                .parse::<i128>()
                .is_ok_and(|line| usize::try_from(line).is_err())
        {
            return Err(QueryError {
                message: format!("invalid line number `{line}`: lines start at 1"),
                help: Some(format!("write a line such as `{what}:1`")),
            });
        }
        Ok(match split_line(text) {
            Some((what, line)) => Self::new(what, QueryTarget::Line(line)),
            None => Self::new(text, QueryTarget::File),
        })
    }

    fn new(what: &str, at: QueryTarget) -> Self {
        Self {
            subject: what.to_owned(),
            target: at,
        }
    }
}

/// A file and a line in it, with or without a column.
fn split_line(text: &str) -> Option<(&str, usize)> {
    let number = |text: &'_ str| -> Option<usize> { text.parse().ok() };
    let (what, last) = text.rsplit_once(':')?;
    let last = number(last)?;
    match what.rsplit_once(':') {
        Some((what, line)) if number(line).is_some() => Some((what, number(line)?)),
        _ => Some((what, last)),
    }
}

/// Whether a file of that name is generated. `out` is the directory of the trees, as typed by the user.
pub fn is_built(question: &Query, indexes: &[Index<'_>], out: &str) -> bool {
    let what = question.subject.trim_start_matches("./");
    !matching_files(what, indexes, out).is_empty()
}

/// Resolves a query. `out` is the directory of the trees, as typed by the user.
pub fn resolve(
    question: &Query,
    indexes: &[Index<'_>],
    out: &str,
) -> Result<ResolvedQuery, QueryError> {
    let what = question.subject.trim_start_matches("./");
    let found = match matching_files(what, indexes, out) {
        none if none.is_empty() => matching_objects(what, indexes),
        found => found,
    };
    let (index, file) = match found.as_slice() {
        [] => {
            let input = indexes
                .iter()
                .find_map(|index| input_file_error(what, index));
            let folder = || directory_error(what, indexes, out);
            let unknown = || unknown_error(what, indexes);
            return Err(input.or_else(folder).unwrap_or_else(unknown));
        }
        [(index, file)] => (*index, file.clone()),
        several => {
            let full = several
                .iter()
                .map(|(index, file)| full_path(&indexes[*index], file));
            let full: Vec<_> = full.collect();
            return Err(QueryError {
                message: format!("`{what}` is ambiguous: {}", phrases::quoted_list(&full, 4)),
                help: Some("specify one of them".to_owned()),
            });
        }
    };
    let page = indexes[index].document(&file);
    let page = page.ok_or_else(|| unknown_error(what, indexes))?;
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
fn matching_files(what: &str, indexes: &[Index<'_>], out: &str) -> Vec<(usize, String)> {
    let out = out.trim_start_matches("./").trim_end_matches('/');
    let below = what
        .strip_prefix(out)
        .map(|rest| rest.trim_start_matches('/'));
    let below = below.filter(|_| !out.is_empty());
    let mut whole = Vec::new();
    let mut inside = Vec::new();
    for (number, index) in indexes.iter().enumerate() {
        for file in index.files() {
            let full = full_path(index, file);
            if below == Some(full.as_str()) || what == full || what.ends_with(&format!("/{full}")) {
                whole.push((number, file.to_owned()));
            } else if what == file {
                inside.push((number, file.to_owned()));
            }
        }
    }
    if whole.is_empty() { inside } else { whole }
}

/// The files of the objects with that kind and name.
fn matching_objects(what: &str, indexes: &[Index<'_>]) -> Vec<(usize, String)> {
    let parts: Vec<&str> = what.split('/').collect();
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
fn input_file_error(what: &str, index: &Index<'_>) -> Option<QueryError> {
    let file = index.compilation.loaded.file.as_deref()?;
    let is_input_file = !what.is_empty() && (file == what || what.ends_with(&format!("/{file}")));
    is_input_file.then(|| QueryError {
        message: format!("`{what}` is an input of gpuc, not a generated file"),
        help: Some(format!(
            "specify a file of the generated tree, such as `{}`; `gpuc diff` shows the impact of a change of the input",
            full_path(index, index.files().next().unwrap_or(LOCK_FILE))
        )),
    })
}

/// The error for a query of a directory.
fn directory_error(what: &str, indexes: &[Index<'_>], out: &str) -> Option<QueryError> {
    let out = out.trim_start_matches("./").trim_end_matches('/');
    let what = what.trim_end_matches('/');
    let below = what.strip_prefix(out).filter(|_| !out.is_empty());
    let below = below.map(|rest| rest.trim_start_matches('/'));
    let mut inside = Vec::new();
    for index in indexes {
        for file in index.files() {
            let full = full_path(index, file);
            let is_parent = |folder: &str| {
                let rest = full.strip_prefix(folder);
                folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
            };
            if below.is_some_and(is_parent) || (!what.is_empty() && is_parent(what)) {
                inside.push(full);
            }
        }
    }
    (!inside.is_empty()).then(|| QueryError {
        message: format!("`{what}` is a directory"),
        help: Some(format!(
            "specify a file in it: {}",
            phrases::quoted_list(&inside, 3)
        )),
    })
}

/// The error for an unknown file or object, with the closest match; typos are most likely in the last path segment.
fn unknown_error(what: &str, indexes: &[Index<'_>]) -> QueryError {
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
    let near = phrases::closest_match(what, texts())
        .map(str::to_owned)
        .or_else(|| {
            let lasts: Vec<_> = names.iter().map(|name| last(name)).collect();
            let near = phrases::closest_match(&last(what), lasts.iter().map(String::as_str));
            let near = near
                .map(str::to_owned)
                .or_else(|| lasts.contains(&last(what)).then(|| last(what)))?;
            names.iter().find(|name| last(name) == near).cloned()
        });
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "specify a file of the tree, or an object as `Deployment/name` or \
                 `Deployment/namespace/name`"
            .to_owned(),
    };
    let message = if what.is_empty() {
        "no file or object is specified".to_owned()
    } else {
        format!("unknown generated file or object `{what}`")
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
                    let whole = Path(steps.chain(rest).collect());
                    let exists = whole.find(root).is_some();
                    let meant = if exists {
                        whole
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
