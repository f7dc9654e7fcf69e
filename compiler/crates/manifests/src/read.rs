//! Reads the objects of files, and records the documents that are skipped.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Report, Severity};
use gpuc_syntax::load::STDIN;
use gpuc_syntax::node::{Entry, Node, Origin, Scalar, Value};
use gpuc_syntax::source::{Sources, Span};
use gpuc_syntax::yaml;

use super::kustomize::{self, Kustomization};
use super::object::Object;
use super::{embedded_yaml, json_stream, pods, template, yaml_aliases};

/// The objects of some files.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// The objects in reading order, including the items of a `List`.
    pub objects: Vec<Object>,
    /// The skipped documents.
    pub skipped: Vec<SkippedDocument>,
    /// The number of files with objects.
    pub files: usize,
    /// The spans that aliases share.
    pub(super) aliased_spans: BTreeSet<Span>,
    /// Documents with only one of `apiVersion` and `kind`.
    pub(super) incomplete: Vec<Node>,
    /// The kustomizations among the files.
    pub(super) kustomizations: Vec<Kustomization>,
}

/// A skipped document or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedDocument {
    /// The file.
    pub path: String,
    /// The reason.
    pub reason: SkipReason,
}

/// The reason why a document or file was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// A template of Helm or of another program.
    Template,
    /// None of its documents is an object.
    NoObjects,
    /// A patch for an object: `Deployment trainer`.
    Patch(String),
    /// A kustomization that changes the objects that it includes.
    Kustomization,
}

/// The API group of kustomizations, which are not objects of a cluster.
const KUSTOMIZE_GROUP: &str = "kustomize.config.k8s.io/";

/// The keys by which a kustomization changes objects.
///
/// Source: kubernetes-sigs/kustomize `api/types/kustomization.go` (from memory).
const PATCHING_KEYS: &[&str] = &[
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "components",
    "replacements",
    "transformers",
    "images",
    "helmCharts",
    "helmChartInflationGenerator",
];

impl Manifests {
    /// Reads a file. Messages show `path`.
    pub fn read(&mut self, path: &str, text: &str, sources: &mut Sources, report: &mut Report) {
        let id = sources.add(path, text);
        let mut file_report = Report::default();
        let documents = yaml::parse_allow_empty(sources, id, &mut file_report).into_iter();
        let mut roots: Vec<_> = documents.map(|document| document.root).collect();
        if file_report.count(Severity::Error) > 0
            && let Some(objects) = json_stream::parse_json_stream(text, id)
        {
            (roots, file_report) = (objects, Report::default());
        }
        // kubectl accepts standard tags and ignores others.
        file_report
            .diagnostics_mut()
            .retain(|found| found.code.id != yaml::codes::TAG_UNKNOWN.id);
        let is_broken = file_report.count(Severity::Error) > 0;
        // Standard input is expected to be rendered.
        if is_broken && path != STDIN && template::is_template(text) {
            self.skip(path, SkipReason::Template);
            return;
        }
        if is_broken && !text.contains("apiVersion") && !text.contains("kind") {
            self.skip(path, SkipReason::NoObjects);
            return;
        }
        let has_object = roots.iter().any(|root| root.get("apiVersion").is_some());
        if !has_object {
            // A file without objects is not a manifest.
            let warnings = file_report.diagnostics_mut();
            warnings.retain(|found| found.severity == Severity::Error);
        }
        report.append(file_report);
        let before = self.objects.len();
        let mut is_known = is_broken;
        for mut root in roots {
            self.aliased_spans
                .append(&mut yaml_aliases::mark_aliased(&mut root));
            is_known |= self.add(path, root, sources);
        }
        if self.objects.len() > before {
            self.files += 1;
        } else if !is_known {
            self.skip(path, SkipReason::NoObjects);
        }
    }

    /// Adds a document. Returns whether it is an object, a list or a kustomization.
    fn add(&mut self, path: &str, mut root: Node, sources: &Sources) -> bool {
        let text = |key: &str| root.get(key).and_then(Node::text).map(str::to_owned);
        let written = (text("apiVersion"), text("kind"));
        let is_plain = written == (None, None) && kustomize::is_kustomization(path);
        let is_kustomize = written
            .0
            .as_ref()
            .is_some_and(|it| it.starts_with(KUSTOMIZE_GROUP));
        if is_plain || is_kustomize {
            self.kustomizations
                .push(Kustomization::from_document(path, &root));
            if PATCHING_KEYS.iter().any(|key| root.get(key).is_some()) {
                self.skip(path, SkipReason::Kustomization);
            }
            return true;
        }
        let (api_version, kind) = match written {
            (Some(api_version), Some(kind)) => (api_version, kind),
            (None, None) => return false,
            _ => {
                self.incomplete.push(root);
                return false;
            }
        };
        if kind.ends_with("List") && root.entry("items").is_some() {
            let Value::Mapping(entries) = root.value else {
                return true;
            };
            let items = entries.into_iter().find(|entry| entry.key == "items");
            if let Some(Value::Sequence(items)) = items.map(|entry| entry.value.value) {
                for mut item in items {
                    set_type(&mut item, &api_version, kind.trim_end_matches("List"));
                    self.add(path, item, sources);
                }
            }
            return true;
        }
        let created = embedded_yaml::expand_embedded(&mut root, &api_version, &kind, sources);
        let metadata = |key: &str| {
            let value = root.get("metadata").and_then(|it| it.get(key));
            value.and_then(Node::text).map(str::to_owned)
        };
        let object = Object {
            name: metadata("name"),
            namespace: metadata("namespace"),
            is_embedded: false,
            kind,
            api_version,
            root,
        };
        let namespace = object.namespace.clone();
        // kustomize treats names of patches with a target as regular expressions.
        let names_many = object
            .name
            .as_deref()
            .is_some_and(|name| name.contains('*'));
        if names_many || pods::is_patch(&object) {
            self.skip(path, SkipReason::Patch(object.title()));
        } else {
            self.objects.push(object);
        }
        for root in created {
            let before = self.objects.len();
            self.add(path, root, sources);
            // Objects that a workflow creates are in its namespace by default.
            for object in &mut self.objects[before..] {
                object.namespace = object.namespace.take().or_else(|| namespace.clone());
                object.is_embedded = true;
            }
        }
        true
    }

    /// Whether a file contains an object, a part of one or a kustomization.
    pub fn contains_file(&self, path: &str, sources: &Sources) -> bool {
        let is_in = |node: &Node| {
            let source = sources.get(node.span().source);
            source.is_some_and(|it| it.path() == path)
        };
        let mut passed_over = self.skipped.iter().filter(|it| it.path == path);
        self.objects.iter().any(|it| is_in(&it.root))
            || self.incomplete.iter().any(is_in)
            || passed_over.any(|it| !matches!(it.reason, SkipReason::NoObjects))
    }

    fn skip(&mut self, path: &str, reason: SkipReason) {
        let path = path.to_owned();
        self.skipped.push(SkippedDocument { path, reason });
    }
}

/// Sets the `apiVersion` and `kind` of an item in a typed list, if it has neither.
///
/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/helpers.go`, `decodeToList` (from
/// memory).
fn set_type(item: &mut Node, api_version: &str, kind: &str) {
    let is_set = ["apiVersion", "kind"].map(|key| item.get(key).is_some());
    let span = item.span();
    let Value::Mapping(entries) = &mut item.value else {
        return;
    };
    if kind.is_empty() || is_set != [false, false] {
        return;
    }
    for (key, text) in [("kind", kind), ("apiVersion", api_version)] {
        let value = Value::Scalar(Scalar::Text(text.to_owned()));
        let entry = Entry {
            key: key.to_owned(),
            key_span: span,
            value: Node {
                value,
                origin: Origin::Inherited,
            },
        };
        entries.insert(0, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> (Manifests, Report) {
        let (mut manifests, mut report) = (Manifests::default(), Report::default());
        manifests.read(path, text, &mut Sources::default(), &mut report);
        (manifests, report)
    }

    fn skip_reasons(text: &str) -> Vec<SkipReason> {
        let (manifests, report) = read("a.yaml", text);
        assert!(report.diagnostics().is_empty(), "{report:?}");
        let reasons = manifests.skipped.into_iter().map(|it| it.reason);
        reasons.collect()
    }

    #[test]
    fn lists_and_documents_are_split() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n\
                    - {apiVersion: v1, kind: PodList, items: [{apiVersion: v1, kind: Pod, metadata: {name: b}}]}\n\
                    ---\n# nothing\n---\napiVersion: v1\nkind: Service\nmetadata: {name: c, namespace: d}\n";
        let (manifests, _) = read("a.yaml", text);
        let titles: Vec<_> = manifests.objects.iter().map(Object::title).collect();
        assert_eq!(titles, ["Pod a", "Pod b", "Service c"]);
        assert_eq!(manifests.objects[2].namespace.as_deref(), Some("d"));
        assert_eq!(manifests.files, 1);
    }

    #[test]
    fn items_of_typed_lists_have_its_kind() {
        let text = "apiVersion: batch/v1\nkind: JobList\nitems:\n- {metadata: {name: a}}\n\
                    - {apiVersion: v1, kind: Pod, metadata: {name: b}}\n";
        let (manifests, _) = read("a.yaml", text);
        let titles: Vec<_> = manifests.objects.iter().map(Object::title).collect();
        assert_eq!(titles, ["Job a", "Pod b"]);
        assert_eq!(manifests.objects[0].api_version, "batch/v1");
        let (manifests, _) = read(
            "a.yaml",
            "apiVersion: v1\nkind: List\nitems: [{metadata: {name: a}}]\n",
        );
        assert!(manifests.objects.is_empty());
    }

    #[test]
    fn other_documents_are_skipped() {
        assert_eq!(skip_reasons("image: {tag: x}\n"), [SkipReason::NoObjects]);
        assert_eq!(skip_reasons("# nothing\n"), [SkipReason::NoObjects]);
        for other in [
            "markdown_extensions: [{emoji: {index: !!python/name:material.emoji.twemoji ''}}]\n",
            "Resources: {Bucket: {Name: !Sub '${AWS::StackName}-x'}}\n",
            "test: {script: [!reference [.setup, script]]}\n",
            "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n",
            "{\"a\": 1}\n{\"a\": 2}\n",
        ] {
            assert_eq!(skip_reasons(other), [SkipReason::NoObjects], "{other}");
        }
        assert_eq!(
            skip_reasons("{{- if .Values.on }}\nkind: Pod\n{{- end }}\n"),
            [SkipReason::Template]
        );
        let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
        assert_eq!(skip_reasons(kustomization), []);
        let patched = format!("{kustomization}patches: [{{path: a.yaml}}]\n");
        assert_eq!(skip_reasons(&patched), [SkipReason::Kustomization]);
        let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n\
                     spec: {template: {spec: {containers: [{name: a, tty: true}]}}}\n";
        assert_eq!(
            skip_reasons(patch),
            [SkipReason::Patch("Deployment a".to_owned())]
        );
        let patch =
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '*'}\nspec: {replicas: 2}\n";
        assert_eq!(
            skip_reasons(patch),
            [SkipReason::Patch("Deployment *".to_owned())]
        );
    }

    #[test]
    fn standard_tags_are_accepted() {
        let text =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: !!str a}\ndata: {a: !!binary aGk=}\n";
        let (manifests, report) = read("a.yaml", text);
        assert!(report.diagnostics().is_empty(), "{report:?}");
        assert_eq!(manifests.objects.len(), 1);
    }

    #[test]
    fn invalid_yaml_is_reported_unless_it_is_a_template() {
        let rule = "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nspec: {a: '{{ $labels.pod }}'}\n";
        assert_eq!(read("a.yaml", rule).0.objects.len(), 1);
        let (manifests, report) = read("a.yaml", "kind: [\n");
        assert_eq!(
            (manifests.objects.len(), report.count(Severity::Error)),
            (0, 1)
        );
        assert_eq!(manifests.skipped, []);
        let quoted = "apiVersion: v1\nkind: Pod\nargs: ['{{.Name}}']\n b: c\n";
        let (manifests, report) = read("a.yaml", quoted);
        assert_eq!(manifests.skipped, []);
        assert_eq!(report.count(Severity::Error), 1);
        let template = "{{ if .on }}\nkind: Pod\n{{ end }}\n";
        let (manifests, report) = read(STDIN, template);
        assert_eq!(manifests.skipped, []);
        assert_ne!(report.count(Severity::Error), 0);
        let beside = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\n---\n{quoted}");
        assert_eq!(read("a.yaml", &beside).0.objects.len(), 1);
    }
}
