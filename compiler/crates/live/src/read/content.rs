//! The content of one file.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::manifest::{MANIFEST_FILE, Manifest};
use super::{Item, cloud, logs};
use crate::state::{CloudPool, Completeness, ContainerLog, Kind};

/// What a file contains.
#[derive(Debug)]
pub(super) enum Content {
    /// Objects, how far the file covers their kinds, and pools that a cloud describes.
    Objects {
        items: Vec<Item>,
        extents: BTreeMap<Kind, Extent>,
        pools: Vec<CloudPool>,
    },
    /// A container log.
    Log(ContainerLog),
    /// The manifest of a snapshot.
    Manifest(Manifest),
    /// Something else.
    Ignored,
}

/// How far files cover the objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// A list.
    List,
    /// Single objects.
    Single,
    /// A list that ends early.
    Truncated(String),
}

impl Extent {
    /// Combines what two files say about a kind: one list is enough, unless a list ends early.
    pub(super) fn merge(&mut self, other: Self) {
        match (&*self, &other) {
            (Self::Truncated(_), _) | (Self::List, Self::Single | Self::List) => {}
            _ => *self = other,
        }
    }

    /// Whether the kind is complete, if the objects that were read are in these namespaces.
    pub(super) fn completeness(&self, namespaces: &BTreeSet<&str>) -> Completeness {
        let reason = match self {
            Self::Truncated(reason) => reason.clone(),
            Self::Single => "the folder contains single objects and no list".to_owned(),
            Self::List => {
                // Every cluster has such objects in `kube-system`.
                if namespaces.is_empty() || namespaces.contains("kube-system") {
                    return Completeness::Complete;
                }
                "the list does not contain the namespace `kube-system`".to_owned()
            }
        };
        Completeness::Truncated { reason }
    }
}

/// A file that could not be read.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// The kind that the file seems to contain.
    pub(super) kind: Option<Kind>,
    /// The error.
    pub(super) error: String,
}

impl Unreadable {
    /// A file whose content is not known.
    pub(super) fn new(path: &str, error: String) -> Self {
        let kind = kind_of_path(path);
        Self { kind, error }
    }
}

/// Parses a file.
pub(super) fn parse(path: &str, bytes: &[u8]) -> Result<Content, Unreadable> {
    let text = decode(bytes);
    if let Some(log) = logs::parse_path(path, &text) {
        return Ok(Content::Log(log));
    }
    let has_extension = |extension: &str| path.ends_with(extension);
    let is_json = text.trim_start().starts_with(['{', '[']);
    let is_yaml = has_extension(".yaml") || has_extension(".yml");
    if !is_json && !is_yaml {
        return if has_extension(".json") {
            Err(Unreadable::new(
                path,
                "line 1: the text is not JSON".to_owned(),
            ))
        } else {
            Ok(Content::Ignored)
        };
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    // In must-gather folders, a folder of single objects is the list.
    let extent = if path.contains("cluster-scoped-resources/") {
        Extent::List
    } else {
        Extent::Single
    };
    let result = if name == MANIFEST_FILE {
        let manifest = serde_json::from_str(&text).map(Content::Manifest);
        manifest.map_err(|error| json_problem(&error))
    } else if is_json {
        parse_json(&text, &extent)
    } else {
        parse_yaml(&text, &extent)
    };
    let result = result.map(|content| match content {
        // kubectl writes an empty list without its kind; the name of the file may be that of the kind.
        Content::Objects {
            items,
            mut extents,
            pools,
        } if items.is_empty() && extents.is_empty() && pools.is_empty() => {
            extents.extend(kind_of_path(path).map(|kind| (kind, Extent::List)));
            Content::Objects {
                items,
                extents,
                pools,
            }
        }
        other => other,
    });
    result.map_err(|error| Unreadable {
        kind: kind_of_path(path).or_else(|| kind_of_beginning(&text)),
        error,
    })
}

/// The text of a file: UTF-8, or UTF-16 with a byte order mark, which PowerShell writes.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let units = |to_unit: fn([u8; 2]) -> u16| -> String {
        let pairs = bytes[2..].chunks_exact(2);
        let units: Vec<u16> = pairs.map(|pair| to_unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes).into(),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes).into(),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        bytes => String::from_utf8_lossy(bytes),
    }
}

/// The fields at the top of a list, or of an object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    metadata: Option<ListMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

fn parse_yaml(text: &str, single: &Extent) -> Result<Content, String> {
    // The lists of large clusters have millions of values. No component writes aliases, which multiply values.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: 50_000_000,
            max_events: 100_000_000,
            max_total_scalar_bytes: 1 << 30,
            max_documents: 100_000,
            max_aliases: 0,
        },
    };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
            let text = error.to_string();
            let line = error.location().map_or(1, |it| it.line());
            yaml_problem(line, &text)
        })?;
    let mut all = (Vec::new(), BTreeMap::new());
    let mut pools = Vec::new();
    for document in documents {
        let text = document.to_string();
        match parse_json(&text, single)? {
            Content::Objects {
                items,
                extents,
                pools: found,
            } => {
                all.0.extend(items);
                pools.extend(found);
                for (kind, extent) in extents {
                    let known = all.1.entry(kind).or_insert_with(|| extent.clone());
                    known.merge(extent);
                }
            }
            Content::Log(_) | Content::Manifest(_) | Content::Ignored => {}
        }
    }
    let (items, extents) = all;
    Ok(Content::Objects {
        items,
        extents,
        pools,
    })
}

/// A sentence about text that is not JSON.
fn json_problem(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Eof => format!(
            "line {line}: the JSON text ends early, as if the file were not copied completely"
        ),
        Category::Syntax => format!("line {line}: the text is not valid JSON at column {column}"),
        Category::Data => format!(
            "line {line}: the value at column {column} is not of the type that Kubernetes writes"
        ),
        Category::Io => "the file cannot be read".to_owned(),
    }
}

/// A sentence about text that is not YAML, from the error of the parser.
fn yaml_problem(line: u64, error: &str) -> String {
    if error.contains("alias") {
        return format!("line {line}: aliases (`*name`) are not supported");
    }
    if error.contains("budget") {
        return format!(
            "line {line}: the file is too large; `kubectl get -o json` writes files without this limit"
        );
    }
    format!(
        "line {line}: the text is not valid YAML: check the indentation, and that the file was copied completely"
    )
}

/// `single` is the extent of a single object.
fn parse_json(text: &str, single: &Extent) -> Result<Content, String> {
    let error = |error: serde_json::Error| json_problem(&error);
    if text.trim_start().starts_with('[') {
        // Lists of objects without a head, as in older troubleshoot bundles.
        let items: Vec<&RawValue> = serde_json::from_str(text).map_err(error)?;
        return match parse_items(&items, None, &Extent::List)? {
            Content::Objects { items, .. } if items.is_empty() => Ok(parse_cloud(text)),
            objects => Ok(objects),
        };
    }
    let head: Head<'_> = serde_json::from_str(text).map_err(error)?;
    let kind = head.kind.as_deref().unwrap_or_default();
    let group = group_of(head.api_version.as_deref().unwrap_or_default());
    let Some(name) = kind.strip_suffix("List") else {
        let Some(kind) = Kind::find(group, kind) else {
            return Ok(if head.kind.is_none() {
                parse_cloud(text)
            } else {
                Content::Ignored
            });
        };
        let raw: &RawValue = serde_json::from_str(text).map_err(error)?;
        return parse_items(&[raw], Some(kind), single);
    };
    let items = head.items.unwrap_or_default();
    let token = head.metadata.and_then(|it| it.continue_token);
    let extent = match token.as_deref() {
        None | Some("") => Extent::List,
        Some(_) => Extent::Truncated("the list ends with a `continue` token".to_owned()),
    };
    match (name, Kind::find(group, name)) {
        ("", _) => parse_items(&items, None, &extent),
        (_, Some(kind)) => parse_items(&items, Some(kind), &extent),
        (_, None) => Ok(Content::Ignored),
    }
}

/// The pools that a cloud describes in a file that contains no objects of Kubernetes.
fn parse_cloud(text: &str) -> Content {
    const MAX_BYTES: usize = 16 << 20;
    if text.len() > MAX_BYTES {
        return Content::Ignored;
    }
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let pools = cloud::pools(&value);
    if pools.is_empty() {
        Content::Ignored
    } else {
        Content::Objects {
            items: Vec::new(),
            extents: BTreeMap::new(),
            pools,
        }
    }
}

/// The number of objects that one task parses.
const CHUNK: usize = 256;

/// Parses objects. Without `kind`, each object names its kind, and those that gpuc does not read are skipped.
fn parse_items(
    items: &[&RawValue],
    kind: Option<Kind>,
    extent: &Extent,
) -> Result<Content, String> {
    type Parsed = Result<Item, (Kind, String)>;
    let parsed: Result<Vec<Vec<Parsed>>, String> = items
        .par_chunks(CHUNK)
        .map(|chunk| {
            let parsed = chunk.iter().filter_map(|raw| {
                let kind = match kind {
                    Some(kind) => Ok(kind),
                    None => parse_kind(raw).transpose()?,
                };
                Some(kind.map(|kind| parse_item(kind, raw).map_err(|_| (kind, unexpected(raw)))))
            });
            parsed.collect()
        })
        .collect();
    let (mut items, mut extents) = (Vec::new(), BTreeMap::new());
    for parsed in parsed?.into_iter().flatten() {
        match parsed {
            Ok(item) => {
                extents.entry(item.kind()).or_insert_with(|| extent.clone());
                items.push(item);
            }
            // The other objects are known.
            Err((kind, reason)) => _ = extents.insert(kind, Extent::Truncated(reason)),
        }
    }
    if let Some(kind) = kind {
        extents.entry(kind).or_insert_with(|| extent.clone());
    }
    Ok(Content::Objects {
        extents,
        items,
        pools: Vec::new(),
    })
}

/// Why an object is left out: it has a value of another type than the API has.
fn unexpected(raw: &RawValue) -> String {
    let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let text = |key: &str| value["metadata"][key].as_str().unwrap_or_default();
    let name = match (text("namespace"), text("name")) {
        ("", "") => "an object without a name".to_owned(),
        ("", name) => format!("`{name}`"),
        (namespace, name) => format!("`{namespace}/{name}`"),
    };
    format!("{name} has a value of an unexpected type, and is left out")
}

fn parse_kind(raw: &RawValue) -> Result<Option<Kind>, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct TypeMeta<'a> {
        #[serde(borrow)]
        kind: Option<Cow<'a, str>>,
        #[serde(borrow)]
        api_version: Option<Cow<'a, str>>,
    }
    if !raw.get().starts_with('{') {
        return Ok(None);
    }
    let meta: TypeMeta<'_> = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    let group = group_of(meta.api_version.as_deref().unwrap_or_default());
    Ok(Kind::find(group, meta.kind.as_deref().unwrap_or_default()))
}

fn parse_item(kind: Kind, raw: &RawValue) -> Result<Item, String> {
    fn typed<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<Box<T>, String> {
        let value = serde_json::from_str(raw.get());
        value.map(Box::new).map_err(|error| error.to_string())
    }
    Ok(match kind {
        Kind::Node => Item::Node(typed(raw)?),
        Kind::Pod => Item::Pod(typed(raw)?),
        Kind::Event => Item::Event(typed(raw)?),
        Kind::DaemonSet => Item::DaemonSet(typed(raw)?),
        other => Item::Other(other, typed(raw)?),
    })
}

impl Item {
    fn kind(&self) -> Kind {
        match self {
            Self::Node(_) => Kind::Node,
            Self::Pod(_) => Kind::Pod,
            Self::Event(_) => Kind::Event,
            Self::DaemonSet(_) => Kind::DaemonSet,
            Self::Other(kind, _) => *kind,
        }
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The kind that the path names: a part of it is the plural of a kind, such as `pods.json` or `pods/default.json`.
fn kind_of_path(path: &str) -> Option<Kind> {
    let parts = path.rsplit('/').map(|part| part.split('.').next());
    parts.flatten().find_map(|part| {
        let mut kinds = crate::state::KINDS.iter();
        kinds.find(|info| info.plural == part).map(|info| info.kind)
    })
}

/// The kind that the beginning of a file names, in a file that is not complete JSON or YAML.
fn kind_of_beginning(text: &str) -> Option<Kind> {
    let end = text.floor_char_boundary(4096.min(text.len()));
    let beginning = &text[..end];
    let (_, rest) = beginning
        .split_once("kind\"")
        .or_else(|| beginning.split_once("kind:"))?;
    let word: String = rest
        .trim_start_matches([':', ' ', '"'])
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let name = word.strip_suffix("List").unwrap_or(&word);
    let mut kinds = crate::state::KINDS.iter();
    kinds.find(|info| info.name == name).map(|info| info.kind)
}
