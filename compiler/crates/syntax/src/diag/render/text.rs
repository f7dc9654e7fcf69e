//! Human-readable findings: miette draws the source, the rest follows rustc's layout.

use std::fmt;
use std::fmt::Write;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents, ThemeCharacters, ThemeStyles,
};

use super::control_chars::{replace_control_char, replace_control_chars};
use super::location::find_location;
use super::options::Options;
use super::summary::summary;
use crate::diag::{Diagnostic, Label, Severity, phrases};
use crate::source::{Source, Sources, to_offset};

/// The maximum number of labels of a finding, in addition to the primary one. A finding about the services of a pool
/// can have thousands.
const MAX_LABELS: usize = 10;

/// The maximum distance in lines of labels that share an excerpt.
const MAX_LABEL_DISTANCE: usize = 4;

pub(super) fn render(sources: &Sources, diagnostics: &[&Diagnostic], options: Options) -> String {
    let mut text = String::new();
    for found in diagnostics {
        render_finding(&mut text, sources, found, options);
        text.push('\n');
    }
    if !diagnostics.is_empty() {
        text.push_str(&summary(diagnostics));
        text.push('\n');
    }
    text
}

fn render_finding(text: &mut String, sources: &Sources, found: &Diagnostic, options: Options) {
    let paint = |style: &'static str| if options.color { style } else { "" };
    let (bold, end) = (paint("\u{1b}[1m"), paint("\u{1b}[0m"));
    let color = match found.severity {
        Severity::Error => paint("\u{1b}[1;31m"),
        Severity::Warning => paint("\u{1b}[1;33m"),
    };
    let (word, code) = (found.severity.as_str(), found.code);
    let message = replace_control_chars(&found.message);
    write_line(
        text,
        format_args!(
            "{color}{word}[{} {}]{end}{bold}: {message}{end}",
            code.id, code.name
        ),
    );
    let (labels, omitted) = found.labels.split_at(found.labels.len().min(MAX_LABELS));
    for excerpt in excerpts(sources, &found.primary, labels, options.width) {
        write_line(
            text,
            format_args!("{}--> {}", " ".repeat(excerpt.gutter()), excerpt.location),
        );
        excerpt.draw(text, options.color);
    }
    if !omitted.is_empty() {
        let omitted = phrases::pluralize(omitted.len(), "more location");
        write_line(
            text,
            format_args!("... {omitted}; `--format json` lists all"),
        );
    }
    if let Some(help) = &found.help {
        let lines: Vec<String> = help.lines().map(replace_control_chars).collect();
        write_line(
            text,
            format_args!("{bold}help{end}: {}", lines.join("\n      ")),
        );
    }
}

fn write_line(text: &mut String, line: fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes all that is written");
}

/// An excerpt of a file with labels.
struct Excerpt {
    /// Path, line and column.
    location: String,
    /// The lines, with control characters made visible.
    text: String,
    /// The number of the first line, from 0.
    first: usize,
    /// The number of the last line, from 1.
    last: usize,
    labels: Vec<LabeledSpan>,
}

/// The excerpts of a finding; the first one contains the primary label.
fn excerpts(sources: &Sources, primary: &Label, labels: &[Label], width: usize) -> Vec<Excerpt> {
    let mut remaining: Vec<(&Label, bool)> = labels.iter().map(|label| (label, false)).collect();
    remaining.insert(0, (primary, true));
    remaining.retain(|(label, _)| sources.get(label.span.source).is_some());
    let mut excerpts = Vec::new();
    while !remaining.is_empty() {
        let mut together = vec![remaining.remove(0)];
        while let Some(next) = remaining.iter().position(|(label, _)| {
            together
                .iter()
                .any(|(other, _)| are_near(sources, other, label))
        }) {
            together.push(remaining.remove(next));
        }
        excerpts.extend(excerpt(sources, &together, width));
    }
    excerpts
}

fn are_near(sources: &Sources, one: &Label, other: &Label) -> bool {
    let line = |label: &Label| {
        sources
            .locate(label.span)
            .map(|(_, position)| position.line)
    };
    let (Some(first), Some(second)) = (line(one), line(other)) else {
        return false;
    };
    one.span.source == other.span.source && first.abs_diff(second) <= MAX_LABEL_DISTANCE
}

fn excerpt(sources: &Sources, labels: &[(&Label, bool)], width: usize) -> Option<Excerpt> {
    let (main, _) = labels.first()?;
    let source = sources.get(main.span.source)?;
    let shown = find_location(sources, main.span)?;
    let line_of = |label: &Label| source.position(label.span.start).line;
    let first = labels.iter().map(|(label, _)| line_of(label)).min()?;
    let last = labels.iter().map(|(label, _)| line_of(label)).max()?;
    let mut excerpt = Excerpt {
        location: replace_control_chars(&format!(
            "{}:{}:{}",
            shown.file, shown.start.line, shown.start.column
        )),
        text: String::new(),
        first: first.saturating_sub(2),
        last: (last + 1).min(last_line(source)).max(last),
        labels: Vec::new(),
    };
    for number in excerpt.first + 1..=excerpt.last {
        let on_line = labels.iter().filter(|(label, _)| line_of(label) == number);
        excerpt.add_line(source, number, &on_line.copied().collect::<Vec<_>>(), width);
    }
    Some(excerpt)
}

/// The number of the last line, without a trailing empty line.
fn last_line(source: &Source) -> usize {
    let last = source.position(to_offset(source.text().len())).line;
    if source.line(last).is_empty() {
        last - 1
    } else {
        last
    }
}

impl Excerpt {
    fn add_line(
        &mut self,
        source: &Source,
        number: usize,
        labels: &[(&Label, bool)],
        width: usize,
    ) {
        let line = source.line(number);
        let start_of = |label: &Label| source.position(label.span.start).column - 1;
        let first = labels.iter().map(|(label, _)| start_of(label)).min();
        let primary = labels.iter().find(|(_, is_primary)| *is_primary);
        let primary = primary.map(|(label, _)| start_of(label));
        let window_start = |column: usize| column.saturating_sub(width / 3);
        let skipped = match (first, primary) {
            _ if is_shorter(line, width) => 0,
            // The primary label is always visible.
            (Some(first), Some(primary)) if primary >= window_start(first) + width => {
                window_start(primary)
            }
            (Some(first), _) => window_start(first),
            (None, _) => 0,
        };
        // The text before the excerpt can be long; only its length counts.
        let line_start = source.byte_of_column(number, 1);
        let from = source.byte_of_column(number, skipped + 1) - line_start;
        let line = line.get(from..).unwrap_or_default();
        let excerpt_text: String = line.chars().take(width).map(display_char).collect();
        self.text.push_str(if skipped > 0 { "…" } else { "" });
        let kept_begin = self.text.len();
        self.text.push_str(&excerpt_text);
        for (label, is_primary) in labels {
            let written = source
                .text()
                .get(label.span.start as usize..label.span.end as usize);
            let on_line = written
                .unwrap_or_default()
                .lines()
                .next()
                .unwrap_or_default();
            let byte = |column: usize| {
                let mut bytes = excerpt_text.char_indices().map(|(byte, _)| byte);
                kept_begin + bytes.nth(column).unwrap_or(excerpt_text.len())
            };
            let (start, end) = match start_of(label).checked_sub(skipped) {
                Some(column) => {
                    let end = column + on_line.chars().take(width).count().max(1);
                    (byte(column), byte(end))
                }
                // A label before the window points at the ellipsis.
                None => (kept_begin - '…'.len_utf8(), kept_begin),
            };
            let text = (!label.text.is_empty()).then(|| replace_control_chars(&label.text));
            let span = (start, end - start);
            self.labels.push(if *is_primary {
                LabeledSpan::new_primary_with_span(text, span)
            } else {
                LabeledSpan::new_with_span(text, span)
            });
        }
        if !is_shorter(line, width) {
            self.text.push('…');
        }
        self.text.push('\n');
    }

    /// The width of line numbers.
    fn gutter(&self) -> usize {
        self.last.to_string().len() + 1
    }

    fn draw(self, text: &mut String, color: bool) {
        let theme = GraphicalTheme {
            characters: ThemeCharacters::ascii(),
            styles: if color {
                ThemeStyles::ansi()
            } else {
                ThemeStyles::none()
            },
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_context_lines(MAX_LABEL_DISTANCE + 1)
            .with_links(false)
            .without_cause_chain();
        let mut rendered = String::new();
        let lines = Lines(&self);
        handler
            .render_report(&mut rendered, &lines)
            .expect("the labels lie inside of the text that is drawn");
        // Drop miette's header, which shows the file differently, and its closing line.
        let body = rendered.lines().skip_while(|line| !line.contains(",-"));
        let body: Vec<&str> = body.skip(1).collect();
        for line in body
            .iter()
            .take_while(|line| !line.trim_start().starts_with("`---"))
        {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

/// Whether a text has at most `width` characters.
fn is_shorter(text: &str, width: usize) -> bool {
    text.chars().nth(width).is_none()
}

/// A character of a source line, one column wide.
fn display_char(c: char) -> char {
    if c == '\t' {
        ' '
    } else {
        replace_control_char(c)
    }
}

/// An excerpt as a miette diagnostic.
#[derive(Clone, Copy)]
struct Lines<'e>(&'e Excerpt);

impl fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.location)
    }
}

impl fmt::Display for Lines<'_> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Lines<'_> {}

impl miette::Diagnostic for Lines<'_> {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.0)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.0.labels.iter().cloned()))
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = self.text.read_span(span, before, after)?;
        Ok(Box::new(MietteSpanContents::new(
            contents.data(),
            *contents.span(),
            contents.line() + self.first,
            contents.column(),
            contents.line_count(),
        )))
    }
}
