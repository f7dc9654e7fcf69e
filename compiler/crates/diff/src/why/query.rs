//! Queries: a file and a location in it, or an object.

use gpuc_compile::lock::LOCK_FILE;
use gpuc_syntax::diag::words;

use super::path::{Path, Step, is_leaf, walk};
use super::{At, Index, Page};

/// A parsed query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The file or object.
    pub what: String,
    /// The location in it.
    pub at: At,
}

/// A resolved query.
pub struct Asked {
    /// The number of the index that contains it.
    pub index: usize,
    /// The file, by its path in the cluster's directory.
    pub file: String,
    /// The file's contents.
    pub page: Page,
    /// The location in it.
    pub at: At,
}

/// An error: the queried part does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The error message.
    pub message: String,
    /// A suggestion.
    pub help: Option<String>,
}

impl Question {
    /// Parses `FILE`, `FILE#PATH`, `FILE:LINE`, `FILE:LINE:COLUMN`, `KIND/NAME` or `KIND/NAMESPACE/NAME#PATH`.
    /// `is_file` returns whether a file of that name exists, which may contain a `#`.
    pub fn read(text: &str, is_file: &dyn Fn(&str) -> bool) -> Result<Self, Unknown> {
        let places = text.match_indices('#').map(|(at, _)| at);
        let named = places.clone().find(|at| is_file(&text[..*at]));
        let is_named = is_file(text) || lined(text).is_some_and(|(what, _)| is_file(what));
        let place = named.or_else(|| places.clone().next().filter(|_| !is_named));
        if let Some((what, path)) = place.map(|at| (&text[..at], &text[at + 1..])) {
            let path = Path::read(path).map_err(|wrong| Unknown {
                message: format!("invalid field path `{path}`: {wrong}"),
                help: Some("write a path such as `spec.containers[0].name`".to_owned()),
            })?;
            let at = if path.0.is_empty() {
                At::Whole
            } else {
                At::Field(path)
            };
            return Ok(Self::of(what, at));
        }
        if let Some((what, line)) = text.rsplit_once(':')
            && line
                .parse::<i128>()
                .is_ok_and(|line| usize::try_from(line).is_err())
        {
            return Err(Unknown {
                message: format!("invalid line number `{line}`: lines start at 1"),
                help: Some(format!("write a line such as `{what}:1`")),
            });
        }
        Ok(match lined(text) {
            Some((what, line)) => Self::of(what, At::Line(line)),
            None => Self::of(text, At::Whole),
        })
    }

    fn of(what: &str, at: At) -> Self {
        Self {
            what: what.to_owned(),
            at,
        }
    }
}

/// A file and a line in it, with or without a column.
fn lined(text: &str) -> Option<(&str, usize)> {
    let number = |text: &'_ str| -> Option<usize> { text.parse().ok() };
    let (what, last) = text.rsplit_once(':')?;
    let last = number(last)?;
    match what.rsplit_once(':') {
        Some((what, line)) if number(line).is_some() => Some((what, number(line)?)),
        _ => Some((what, last)),
    }
}

/// Whether a file of that name is generated. `out` is the directory of the trees, as typed by the user.
pub fn is_built(question: &Question, indexes: &[Index<'_>], out: &str) -> bool {
    let what = question.what.trim_start_matches("./");
    !files(what, indexes, out).is_empty()
}

/// Resolves a query. `out` is the directory of the trees, as typed by the user.
pub fn find(question: &Question, indexes: &[Index<'_>], out: &str) -> Result<Asked, Unknown> {
    let what = question.what.trim_start_matches("./");
    let found = match files(what, indexes, out) {
        none if none.is_empty() => objects(what, indexes),
        found => found,
    };
    let (index, file) = match found.as_slice() {
        [] => {
            let input = indexes.iter().find_map(|index| input(what, index));
            let folder = || folder(what, indexes, out);
            let unknown = || unknown(what, indexes);
            return Err(input.or_else(folder).unwrap_or_else(unknown));
        }
        [(index, file)] => (*index, file.clone()),
        several => {
            let full = several
                .iter()
                .map(|(index, file)| full(&indexes[*index], file));
            let full: Vec<_> = full.collect();
            return Err(Unknown {
                message: format!("`{what}` is ambiguous: {}", words::some(&full, 4)),
                help: Some("specify one of them".to_owned()),
            });
        }
    };
    let page = indexes[index].page(&file);
    let page = page.ok_or_else(|| unknown(what, indexes))?;
    let at = checked(&file, &page, &question.at)?;
    Ok(Asked {
        index,
        file,
        page,
        at,
    })
}

/// The path of a file below the directory of all trees.
fn full(index: &Index<'_>, file: &str) -> String {
    format!("{}/{file}", index.cluster())
}

/// The files with that path, relative to the directory of the trees, of the cluster, or of a parent directory.
fn files(what: &str, indexes: &[Index<'_>], out: &str) -> Vec<(usize, String)> {
    let out = out.trim_start_matches("./").trim_end_matches('/');
    let below = what
        .strip_prefix(out)
        .map(|rest| rest.trim_start_matches('/'));
    let below = below.filter(|_| !out.is_empty());
    let mut whole = Vec::new();
    let mut inside = Vec::new();
    for (number, index) in indexes.iter().enumerate() {
        for file in index.files() {
            let full = full(index, file);
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
fn objects(what: &str, indexes: &[Index<'_>]) -> Vec<(usize, String)> {
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
            let is_it = identity.kind.eq_ignore_ascii_case(kind)
                && identity.name == **name
                && (namespace.is_none() || identity.namespace.as_deref() == namespace);
            if is_it {
                found.push((number, file.to_owned()));
            }
        }
    }
    found
}

/// The error for a query of the input file itself.
fn input(what: &str, index: &Index<'_>) -> Option<Unknown> {
    let file = index.compilation.loaded.file.as_deref()?;
    let is_it = !what.is_empty() && (file == what || what.ends_with(&format!("/{file}")));
    is_it.then(|| Unknown {
        message: format!("`{what}` is an input of gpuc, not a generated file"),
        help: Some(format!(
            "specify a file of the generated tree, such as `{}`; `gpuc diff` shows the impact of a change of the input",
            full(index, index.files().next().unwrap_or(LOCK_FILE))
        )),
    })
}

/// The error for a query of a directory.
fn folder(what: &str, indexes: &[Index<'_>], out: &str) -> Option<Unknown> {
    let out = out.trim_start_matches("./").trim_end_matches('/');
    let what = what.trim_end_matches('/');
    let below = what.strip_prefix(out).filter(|_| !out.is_empty());
    let below = below.map(|rest| rest.trim_start_matches('/'));
    let mut inside = Vec::new();
    for index in indexes {
        for file in index.files() {
            let full = full(index, file);
            let holds = |folder: &str| {
                let rest = full.strip_prefix(folder);
                folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
            };
            if below.is_some_and(holds) || (!what.is_empty() && holds(what)) {
                inside.push(full);
            }
        }
    }
    (!inside.is_empty()).then(|| Unknown {
        message: format!("`{what}` is a directory"),
        help: Some(format!("specify a file in it: {}", words::some(&inside, 3))),
    })
}

/// The error for an unknown file or object, with the closest match; typos are most likely in the last path segment.
fn unknown(what: &str, indexes: &[Index<'_>]) -> Unknown {
    let mut names = Vec::new();
    for index in indexes {
        for file in index.files() {
            names.push(full(index, file));
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
    let near = words::nearest(what, texts())
        .map(str::to_owned)
        .or_else(|| {
            let lasts: Vec<_> = names.iter().map(|name| last(name)).collect();
            let near = words::nearest(&last(what), lasts.iter().map(String::as_str));
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
    Unknown {
        message,
        help: Some(help),
    }
}

/// Checks that the file has the location.
fn checked(file: &str, page: &Page, at: &At) -> Result<At, Unknown> {
    match at {
        At::Whole => Ok(At::Whole),
        At::Line(line) => {
            let count = page.line_count();
            if (1..=count).contains(line) {
                return Ok(At::Line(*line));
            }
            Err(Unknown {
                message: format!("`{file}` has no line {line}"),
                help: Some(format!("specify a line from 1 to {count}")),
            })
        }
        At::Field(path) => match page.deep() {
            Some(_) if page.find(path).is_some() => Ok(at.clone()),
            Some(_) => Err(no_field(file, page, path)),
            None => Err(Unknown {
                message: format!("`{file}` has no fields, only lines"),
                help: Some(format!("specify a line: `{file}:1`")),
            }),
        },
    }
}

fn no_field(file: &str, page: &Page, path: &Path) -> Unknown {
    let mut help = None;
    if let Some(root) = page.deep() {
        let (count, reached) = path.reach(root);
        let above = Path(path.0[..count].to_vec());
        let keys: Vec<_> = reached
            .entries()
            .iter()
            .map(|entry| entry.key.as_str())
            .collect();
        help = match path.0.get(count) {
            Some(Step::Key(key)) => {
                let near = words::nearest(key, keys.iter().copied());
                near.map(|near| {
                    let rest = path.0[count + 1..].iter().cloned();
                    let steps = above.0.iter().cloned().chain([Step::Key(near.to_owned())]);
                    let whole = Path(steps.chain(rest).collect());
                    let exists = whole.find(root).is_some();
                    let meant = if exists {
                        whole
                    } else {
                        above.then(Step::Key(near.to_owned()))
                    };
                    format!("did you mean `{meant}`?")
                })
                .or_else(|| elsewhere(root, key))
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
                (keys, _) => format!("{of} has {}", words::some(keys, 8)),
            })
        });
    }
    Unknown {
        message: format!("`{file}` has no field `{path}`"),
        help,
    }
}

/// Suggests leaves of that name, or else the first section, anywhere in the document.
fn elsewhere(root: &gpuc_syntax::node::Node, key: &str) -> Option<String> {
    let mut found: Vec<Path> = Vec::new();
    walk(root, &mut |path, node| {
        if path.0.last() == Some(&Step::Key(key.to_owned())) && (is_leaf(node) || found.is_empty())
        {
            found.push(path.clone());
        }
    });
    let paths: Vec<_> = found.iter().map(ToString::to_string).collect();
    (!paths.is_empty()).then(|| format!("did you mean {}?", words::some(&paths, 3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_files_with_locations() {
        let read = |text| Question::read(text, &|_| false).unwrap();
        let field = |path| At::Field(Path::read(path).unwrap());
        assert_eq!(
            read("a/b.yaml#.spec.a"),
            Question::of("a/b.yaml", field("spec.a"))
        );
        assert_eq!(read("a/b.sh:12"), Question::of("a/b.sh", At::Line(12)));
        assert_eq!(read("a/b.yaml#"), Question::of("a/b.yaml", At::Whole));
        assert_eq!(
            read("Role/a/system:x"),
            Question::of("Role/a/system:x", At::Whole)
        );
        assert_eq!(read("a/b.sh:12:7"), read("a/b.sh:12"));
        let wrong = |text: &str| Question::read(text, &|_| false).unwrap_err().message;
        assert!(wrong("a#b..c").contains("two dots"));
        for line in ["-1", "99999999999999999999999"] {
            assert!(
                wrong(&format!("a/b.sh:{line}")).contains("invalid line number"),
                "{line}"
            );
        }
        // A file name may contain a `#`.
        let read = |text| Question::read(text, &|file| file == "a#1/b.yaml").unwrap();
        assert_eq!(read("a#1/b.yaml#x"), Question::of("a#1/b.yaml", field("x")));
        assert_eq!(
            read("a#1/b.yaml:3"),
            Question::of("a#1/b.yaml", At::Line(3))
        );
        assert_eq!(read("a#1/b.yaml"), Question::of("a#1/b.yaml", At::Whole));
    }
}
