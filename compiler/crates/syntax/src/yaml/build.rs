//! Builds a document's tree from parser events.

use std::collections::BTreeMap;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::mapping::Mapping;
use super::parse::{Events, place, report_depth, report_syntax};
use super::{codes, limits, tag};
use crate::diag::Report;
use crate::node::{Node, Origin, Scalar, Value};
use crate::source::Span;

/// The reason why a tree is incomplete. It is already reported.
#[derive(Clone, Copy, Debug)]
pub(super) enum Abandoned {
    /// The document is invalid from here on; the next document can be valid.
    Document,
    /// The file exceeds a limit.
    File,
}

/// The value of an anchor.
struct Anchored {
    node: Node,
    /// The number of nodes.
    size: usize,
    /// The depth below the node.
    height: usize,
}

/// The state of building a document's tree.
pub(super) struct Builder<'t, 'r> {
    pub(super) parser: Events<'t>,
    source: u32,
    pub(super) report: &'r mut Report,
    /// The values of anchors, by the parser's number.
    anchors: BTreeMap<usize, Anchored>,
    /// The maximum number of findings before the rest of the file is skipped.
    most_findings: usize,
    /// The number of nodes.
    nodes: usize,
    /// The number of copied nodes.
    copies: usize,
}

impl<'t, 'r> Builder<'t, 'r> {
    pub(super) fn new(parser: Events<'t>, source: u32, report: &'r mut Report) -> Self {
        Self {
            parser,
            source,
            anchors: BTreeMap::new(),
            most_findings: report.diagnostics().len() + limits::FINDINGS,
            nodes: 0,
            copies: 0,
            report,
        }
    }

    /// Forgets the anchors, which are valid in one document only.
    pub(super) fn forget_anchors(&mut self) {
        self.anchors.clear();
    }

    pub(super) fn next(&mut self) -> Result<(Event<'t>, Span), Abandoned> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                let range = span.byte_range().unwrap_or_default();
                Ok((event, place(self.source, range.start, range.end)))
            }
            Some(Err(error)) => Err(report_syntax(&error, self.source, self.report)),
            None => Ok((Event::StreamEnd, place(self.source, 0, 0))),
        }
    }

    /// The node that an event starts.
    pub(super) fn node(
        &mut self,
        event: Event<'t>,
        span: Span,
        depth: usize,
    ) -> Result<Node, Abandoned> {
        if depth > limits::DEPTH {
            return Err(report_depth(span, self.report));
        }
        if self.report.diagnostics().len() >= self.most_findings {
            return Err(Abandoned::File);
        }
        let nodes_before = self.nodes;
        self.count(1, span)?;
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar::Written {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                };
                let value = tag::apply(tag.as_deref(), Value::Scalar(scalar), span, self.report);
                (Node::written(value, span), anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let (items, end) = self.items(style, span, depth)?;
                let span = Span { end, ..span };
                let value = tag::apply(tag.as_deref(), Value::Sequence(items), span, self.report);
                (Node::written(value, span), anchor)
            }
            Event::MappingStart(style, anchor, tag) => {
                let (entries, end) = self.mapping(style, span, depth)?;
                let span = Span { end, ..span };
                let value = tag::apply(tag.as_deref(), entries, span, self.report);
                (Node::written(value, span), anchor)
            }
            Event::Alias(anchor) => return self.alias(anchor, span, depth),
            Event::UnresolvedAlias(name) => {
                let message = format!("unknown anchor `{name}` in the alias `*{name}`");
                return Ok(self.hole(span, message));
            }
            other => unreachable!("the parser starts no node with {other:?}"),
        };
        if anchor != 0 {
            let size = self.nodes - nodes_before;
            self.count_copies(size, span)?;
            let anchored = Anchored {
                node: node.clone(),
                size,
                height: height(&node),
            };
            self.anchors.insert(anchor, anchored);
        }
        Ok(node)
    }

    fn items(
        &mut self,
        style: StructureStyle,
        start: Span,
        depth: usize,
    ) -> Result<(Vec<Node>, u32), Abandoned> {
        let mut items: Vec<Node> = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, end) => {
                    let last = items.last().map_or(start, Node::span);
                    return Ok((items, extent(style, last, end)));
                }
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn mapping(
        &mut self,
        style: StructureStyle,
        start: Span,
        depth: usize,
    ) -> Result<(Value, u32), Abandoned> {
        let mut mapping = Mapping::default();
        let mut last = start;
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                let entries = Value::Mapping(mapping.finish(self.report));
                return Ok((entries, extent(style, last, span)));
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            last = if value.span().end > key.span().end {
                value.span()
            } else {
                key.span()
            };
            mapping.add(key, value, self.report);
        }
    }

    /// A copy of an anchor's value.
    fn alias(&mut self, anchor: usize, span: Span, depth: usize) -> Result<Node, Abandoned> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Ok(self.hole(
                span,
                "an alias cannot be inside the value of its own anchor".to_owned(),
            ));
        };
        let size = anchored.size;
        if depth + anchored.height > limits::DEPTH {
            return Err(report_depth(span, self.report));
        }
        self.count_copies(size, span)?;
        self.count(size - 1, span)?;
        let mut node = self.anchors[&anchor].node.clone();
        use_at(&mut node, span);
        Ok(node)
    }

    /// Reports an invalid alias and returns a placeholder.
    fn hole(&mut self, span: Span, message: String) -> Node {
        self.report
            .diagnostic(&codes::ALIAS_UNKNOWN, span, message)
            .help("define the anchor with `&name` before the alias")
            .emit();
        self.report.poison(span);
        Node::written(Value::Scalar(Scalar::Null), span)
    }

    /// Counts nodes before they are created.
    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Abandoned> {
        self.nodes += nodes;
        self.within(self.nodes, limits::NODES, "values", span)
    }

    /// Counts copied nodes before they are copied.
    pub(super) fn count_copies(&mut self, nodes: usize, span: Span) -> Result<(), Abandoned> {
        self.copies += nodes;
        self.within(self.copies, limits::COPIES, "values from aliases", span)
    }

    fn within(
        &mut self,
        count: usize,
        limit: usize,
        what: &str,
        span: Span,
    ) -> Result<(), Abandoned> {
        if count <= limit {
            return Ok(());
        }
        let message = format!("the file has more than {limit} {what}");
        self.report
            .diagnostic(&codes::YAML_LIMIT, span, message)
            .primary_label("while reading this")
            .help(
                "reduce the number of aliases: every alias is a copy, and nested aliases multiply",
            )
            .emit();
        Err(Abandoned::File)
    }
}

/// The end of a collection: the bracket of a flow collection, or the last part of a block collection.
fn extent(style: StructureStyle, last: Span, end: Span) -> u32 {
    match style {
        StructureStyle::Flow => end.end,
        StructureStyle::Block => last.end,
    }
}

/// The depth of a tree below its root.
fn height(node: &Node) -> usize {
    let below = match &node.value {
        Value::Scalar(_) => return 0,
        Value::Sequence(items) => items.iter().map(height).max(),
        Value::Mapping(entries) => entries.iter().map(|entry| height(&entry.value)).max(),
    };
    1 + below.unwrap_or_default()
}

/// Sets the location where a copied tree is used.
fn use_at(node: &mut Node, alias: Span) {
    if let Origin::Written { used, .. } = &mut node.origin {
        *used = Some(alias);
    }
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter_mut().for_each(|item| use_at(item, alias)),
        Value::Mapping(entries) => {
            for entry in entries {
                use_at(&mut entry.value, alias);
            }
        }
    }
}
