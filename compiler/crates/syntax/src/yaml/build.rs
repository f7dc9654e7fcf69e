//! Builds a document's tree from parser events.

use std::collections::BTreeMap;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::continuations::Insertions;
use super::mapping::MappingBuilder;
use super::parse::{EventParser, report_depth, report_syntax, span_at};
use super::{codes, limits, tag};
use crate::diag::Report;
use crate::node::{Node, Origin, Scalar, Value};
use crate::source::Span;

/// The reason why a tree is incomplete. It is already reported.
#[derive(Clone, Copy, Debug)]
pub(super) enum ParseStop {
    /// The document is invalid from here on; the next document can be valid.
    Document,
    /// The file exceeds a limit.
    File,
}

/// The value of an anchor.
struct Anchored {
    node: Node,
    size: TreeSize,
    /// The depth below the node.
    height: usize,
}

/// The size of a tree.
#[derive(Clone, Copy, Default)]
pub(super) struct TreeSize {
    /// The number of nodes.
    pub(super) nodes: usize,
    /// The bytes of its texts and keys.
    pub(super) bytes: usize,
}

/// The state of building a document's tree.
pub(super) struct Builder<'t, 'r> {
    pub(super) parser: EventParser<'t>,
    source: u32,
    insertions: &'t Insertions,
    pub(super) report: &'r mut Report,
    /// The values of anchors, by the parser's number.
    anchors: BTreeMap<usize, Anchored>,
    /// The maximum number of findings before the rest of the file is skipped.
    max_findings: usize,
    /// The number of nodes.
    nodes: usize,
    /// The size of all copies.
    copies: TreeSize,
}

impl<'t, 'r> Builder<'t, 'r> {
    pub(super) fn new(
        parser: EventParser<'t>,
        source: u32,
        insertions: &'t Insertions,
        report: &'r mut Report,
    ) -> Self {
        Self {
            parser,
            source,
            insertions,
            anchors: BTreeMap::new(),
            max_findings: report.diagnostics().len() + limits::FINDINGS,
            nodes: 0,
            copies: TreeSize::default(),
            report,
        }
    }

    /// Forgets the anchors, which are valid in one document only.
    pub(super) fn forget_anchors(&mut self) {
        self.anchors.clear();
    }

    pub(super) fn next_event(&mut self) -> Result<(Event<'t>, Span), ParseStop> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                let range = span.byte_range().unwrap_or_default();
                Ok((event, self.span(range.start, range.end)))
            }
            Some(Err(error)) => {
                let at = error.marker().byte_offset().unwrap_or_default();
                Err(report_syntax(&error, self.span(at, at), self.report))
            }
            None => Ok((Event::StreamEnd, span_at(self.source, 0, 0))),
        }
    }

    /// The span of a range of the parsed text.
    fn span(&self, start: usize, end: usize) -> Span {
        self.insertions.original_span(self.source, start, end)
    }

    /// The node that an event starts.
    pub(super) fn build_node(
        &mut self,
        event: Event<'t>,
        span: Span,
        depth: usize,
    ) -> Result<Node, ParseStop> {
        if depth > limits::DEPTH {
            return Err(report_depth(span, self.report));
        }
        if self.report.diagnostics().len() >= self.max_findings {
            return Err(ParseStop::File);
        }
        let nodes_before = self.nodes;
        self.count_nodes(1, span)?;
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar::Written {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                };
                let value =
                    tag::apply_tag(tag.as_deref(), Value::Scalar(scalar), span, self.report);
                (Node::written(value, span), anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let (items, end) = self.build_items(style, span, depth)?;
                let span = Span { end, ..span };
                let value =
                    tag::apply_tag(tag.as_deref(), Value::Sequence(items), span, self.report);
                (Node::written(value, span), anchor)
            }
            Event::MappingStart(style, anchor, tag) => {
                let (entries, end) = self.build_mapping(style, span, depth)?;
                let span = Span { end, ..span };
                let value = tag::apply_tag(tag.as_deref(), entries, span, self.report);
                (Node::written(value, span), anchor)
            }
            Event::Alias(anchor) => return self.build_alias(anchor, span, depth),
            Event::UnresolvedAlias(name) => {
                let message = format!("unknown anchor `{name}` in the alias `*{name}`");
                return Ok(self.report_invalid_alias(span, message));
            }
            other => unreachable!("the parser starts no node with {other:?}"),
        };
        if anchor != 0 {
            let size = TreeSize {
                nodes: self.nodes - nodes_before,
                bytes: text_bytes(&node),
            };
            self.count_copies(size, span)?;
            let anchored = Anchored {
                node: node.clone(),
                size,
                height: tree_height(&node),
            };
            self.anchors.insert(anchor, anchored);
        }
        Ok(node)
    }

    fn build_items(
        &mut self,
        style: StructureStyle,
        start: Span,
        depth: usize,
    ) -> Result<(Vec<Node>, u32), ParseStop> {
        let mut items: Vec<Node> = Vec::new();
        loop {
            match self.next_event()? {
                (Event::SequenceEnd, end) => {
                    let last = items.last().map_or(start, Node::span);
                    return Ok((items, collection_end(style, last, end)));
                }
                (event, span) => items.push(self.build_node(event, span, depth + 1)?),
            }
        }
    }

    fn build_mapping(
        &mut self,
        style: StructureStyle,
        start: Span,
        depth: usize,
    ) -> Result<(Value, u32), ParseStop> {
        let mut mapping = MappingBuilder::default();
        let mut last = start;
        loop {
            let (event, span) = self.next_event()?;
            if event == Event::MappingEnd {
                let entries = Value::Mapping(mapping.finish(self.report));
                return Ok((entries, collection_end(style, last, span)));
            }
            let key = self.build_node(event, span, depth + 1)?;
            let (event, span) = self.next_event()?;
            let value = self.build_node(event, span, depth + 1)?;
            last = if value.span().end > key.span().end {
                value.span()
            } else {
                key.span()
            };
            mapping.add(key, value, self.report);
        }
    }

    /// A copy of an anchor's value.
    fn build_alias(&mut self, anchor: usize, span: Span, depth: usize) -> Result<Node, ParseStop> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Ok(self.report_invalid_alias(
                span,
                "an alias cannot be inside the value of its own anchor".to_owned(),
            ));
        };
        let size = anchored.size;
        if depth + anchored.height > limits::DEPTH {
            return Err(report_depth(span, self.report));
        }
        self.count_copies(size, span)?;
        self.count_nodes(size.nodes - 1, span)?;
        let mut node = self.anchors[&anchor].node.clone();
        set_alias(&mut node, span);
        Ok(node)
    }

    /// Reports an invalid alias and returns a placeholder.
    fn report_invalid_alias(&mut self, span: Span, message: String) -> Node {
        self.report
            .diagnostic(&codes::ALIAS_UNKNOWN, span, message)
            .help("define the anchor with `&name` before the alias")
            .emit();
        self.report.poison(span);
        Node::written(Value::Scalar(Scalar::Null), span)
    }

    /// Counts nodes before they are created.
    fn count_nodes(&mut self, nodes: usize, span: Span) -> Result<(), ParseStop> {
        self.nodes += nodes;
        self.check_limit(self.nodes, limits::NODES, "values", span)
    }

    /// Counts copied nodes before they are copied.
    pub(super) fn count_copies(&mut self, size: TreeSize, span: Span) -> Result<(), ParseStop> {
        self.copies.nodes += size.nodes;
        self.copies.bytes += size.bytes;
        let TreeSize { nodes, bytes } = self.copies;
        self.check_limit(nodes, limits::COPIES, "values from aliases", span)?;
        self.check_limit(bytes, limits::COPIED_BYTES, "bytes from aliases", span)
    }

    fn check_limit(
        &mut self,
        count: usize,
        limit: usize,
        noun: &str,
        span: Span,
    ) -> Result<(), ParseStop> {
        if count <= limit {
            return Ok(());
        }
        let message = format!("the file has more than {limit} {noun}");
        self.report
            .diagnostic(&codes::YAML_LIMIT, span, message)
            .primary_label("while reading this")
            .help(
                "reduce the number of aliases: every alias is a copy, and nested aliases multiply",
            )
            .emit();
        Err(ParseStop::File)
    }
}

/// The end of a collection: the bracket of a flow collection, or the last part of a block collection.
fn collection_end(style: StructureStyle, last: Span, end: Span) -> u32 {
    match style {
        StructureStyle::Flow => end.end,
        StructureStyle::Block => last.end,
    }
}

/// The bytes of the texts and keys of a tree.
pub(super) fn text_bytes(node: &Node) -> usize {
    match &node.value {
        Value::Scalar(Scalar::Written { text, .. }) => text.len(),
        Value::Scalar(_) => 0,
        Value::Sequence(items) => items.iter().map(text_bytes).sum(),
        Value::Mapping(entries) => entries
            .iter()
            .map(|entry| entry.key.len() + text_bytes(&entry.value))
            .sum(),
    }
}

/// The depth of a tree below its root.
fn tree_height(node: &Node) -> usize {
    let below = match &node.value {
        Value::Scalar(_) => return 0,
        Value::Sequence(items) => items.iter().map(tree_height).max(),
        Value::Mapping(entries) => entries.iter().map(|entry| tree_height(&entry.value)).max(),
    };
    1 + below.unwrap_or_default()
}

/// Sets the location where a copied tree is used.
fn set_alias(node: &mut Node, alias: Span) {
    if let Origin::Written { alias: used, .. } = &mut node.origin {
        *used = Some(alias);
    }
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter_mut().for_each(|item| set_alias(item, alias)),
        Value::Mapping(entries) => {
            for entry in entries {
                set_alias(&mut entry.value, alias);
            }
        }
    }
}
