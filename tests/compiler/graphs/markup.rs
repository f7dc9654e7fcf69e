//! Graphs are valid XML, have legible text, and load nothing from elsewhere.

use std::collections::BTreeMap;

use gpuc_diff::graph::palette::Color;
use gpuc_diff::graph::{self, View};
use roxmltree::{Document, Node};

use super::{HOSTILE_NAMES, all_views, view_with_name};

const SVG: &str = "http://www.w3.org/2000/svg";

/// The colors of text and background come from the file itself, in the light and the dark theme.
#[test]
fn text_is_legible_in_light_and_dark() {
    let mut min_contrast = f64::MAX;
    for (name, views) in all_views() {
        let svg = graph::svg(&views);
        let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
        let style = text_of(&document, "style");
        for sheet in parse_style_sheets(&style) {
            let texts = document
                .descendants()
                .filter(|it| it.has_tag_name((SVG, "text")));
            for text in texts {
                let foreground = sheet.fill(text);
                let background = sheet.fill(background_of(text));
                let contrast = foreground.contrast(background);
                min_contrast = min_contrast.min(contrast);
                assert!(
                    contrast >= 4.5,
                    "{name}: {foreground} on {background}: {contrast:.2}"
                );
            }
        }
    }
    assert!(min_contrast < 21.0, "no text was checked");
}

/// The innermost rectangle behind a text.
fn background_of<'a, 'i>(text: Node<'a, 'i>) -> Node<'a, 'i> {
    let groups = text.ancestors().filter(|it| it.has_tag_name((SVG, "g")));
    let mut rects = groups.filter_map(|group| {
        let mut children = group.children();
        children.find(|it| it.has_tag_name((SVG, "rect")))
    });
    rects.next().unwrap()
}

/// Fill colors by CSS class.
struct FillsByClass(BTreeMap<String, Color>);

impl FillsByClass {
    fn from_css(css: &str) -> Self {
        let rules = css.split('}').filter_map(|rule| {
            let (selector, body) = rule.split_once('{')?;
            let fill = body.split(';').find_map(|it| it.strip_prefix("fill:#"))?;
            let color = Color(u32::from_str_radix(fill, 16).ok()?);
            Some((selector.trim().trim_start_matches('.').to_owned(), color))
        });
        Self(rules.collect())
    }

    fn fill(&self, node: Node<'_, '_>) -> Color {
        let classes = node.attribute("class").unwrap().split(' ');
        let mut fills = classes.filter_map(|class| self.0.get(class));
        *fills
            .next()
            .unwrap_or_else(|| panic!("{node:?} has no fill"))
    }
}

/// The fill colors of the light and the dark theme.
fn parse_style_sheets(style: &str) -> [FillsByClass; 2] {
    let (light, rest) = style
        .split_once("@media (prefers-color-scheme:dark){")
        .unwrap();
    let sheets = [FillsByClass::from_css(light), FillsByClass::from_css(rest)];
    assert!(sheets[0].0.len() > 15 && sheets[0].0.keys().eq(sheets[1].0.keys()));
    assert!(sheets[0].0["gpuc-page"] != sheets[1].0["gpuc-page"]);
    sheets
}

fn text_of(document: &Document<'_>, tag: &str) -> String {
    let mut found = document
        .descendants()
        .filter(|it| it.has_tag_name((SVG, tag)));
    found.next().unwrap().text().unwrap().to_owned()
}

#[test]
fn names_are_escaped() {
    for name in HOSTILE_NAMES {
        let view = view_with_name(name);
        let svg = graph::svg(std::slice::from_ref(&view));
        let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_known_tags(&document, name);
        let title = text_of(&document, "title");
        let expected = graph::measure::to_single_line(&format!("GPU cluster {name}"));
        assert_eq!(title, expected, "{name}");
        let html = graph::html(&[view]);
        assert_eq!(html.matches("<script").count(), 0, "{name}");
        assert_eq!(html.matches("<svg").count(), 1, "{name}");
        assert_valid_page(&html, name);
    }
}

/// Asserts that a page is well-formed XML, except for the doctype and three void elements.
fn assert_valid_page(html: &str, name: &str) {
    let body = html.strip_prefix("<!doctype html>\n").unwrap();
    let mut xml = String::new();
    for line in body.lines() {
        let void = line.starts_with("<meta ");
        xml.push_str(&if void {
            line.replace('>', "/>")
        } else {
            line.to_owned()
        });
        xml.push('\n');
    }
    let document = Document::parse(&xml).unwrap_or_else(|error| panic!("{name}: {error}"));
    let ids = document.descendants().filter_map(|it| it.attribute("id"));
    let mut ids: Vec<_> = ids.collect();
    let number = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), number, "{name}: duplicate id");
    for link in document.descendants().filter_map(|it| it.attribute("href")) {
        assert!(
            ids.contains(&link.strip_prefix('#').unwrap()),
            "{name}: {link}"
        );
    }
    assert_known_tags(&document, name);
}

#[test]
fn fleet_pages_are_valid() {
    for (name, views) in all_views() {
        assert_valid_page(&graph::html(&views), &name);
    }
}

fn assert_known_tags(document: &Document<'_>, name: &str) {
    const KNOWN: &[&str] = &[
        "svg", "title", "desc", "style", "g", "rect", "path", "text", "html", "head", "meta",
        "body", "h1", "h2", "nav", "ul", "li", "a", "main", "section", "div", "details", "summary",
        "table", "thead", "tbody", "tr", "th", "td",
    ];
    for node in document.descendants().filter(Node::is_element) {
        let tag = node.tag_name().name();
        assert!(KNOWN.contains(&tag), "{name}: <{tag}>");
        for attribute in node.attributes() {
            assert!(!attribute.name().starts_with("on"), "{name}: {attribute:?}");
        }
    }
}

/// Graphs are also shown without a network, and by sites that block external content.
#[test]
fn nothing_external_is_loaded() {
    for (name, views) in all_views() {
        for text in [graph::svg(&views), graph::html(&views)] {
            let text = text.replace(SVG, "");
            for word in [
                "url(",
                "@import",
                "xlink",
                "src=",
                "<link",
                "<image",
                "<use",
                "@font-face",
                "javascript:",
            ] {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
    }
}

#[test]
fn graph_has_a_text_description() {
    let view: Vec<View> = super::example("eks-queues");
    let svg = graph::svg(&view);
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    let named: Vec<_> = root
        .attribute("aria-labelledby")
        .unwrap()
        .split(' ')
        .collect();
    assert_eq!(root.attribute("role"), Some("img"));
    for id in named {
        assert!(
            document
                .descendants()
                .any(|it| it.attribute("id") == Some(id)),
            "{id}"
        );
    }
    let description = text_of(&document, "desc");
    for part in [
        "Pool train: 2–4 nodes",
        "8 nvidia.com/gpu",
        "research has 16 guaranteed and a limit of 28",
    ] {
        assert!(description.contains(part), "{part}: {description}");
    }
}

/// The graph of a huge cluster omits some elements and says so.
#[test]
fn huge_clusters_are_summarized() {
    let svg = graph::svg(&[super::huge_view(3000)]);
    assert!(svg.len() < 400_000, "{}", svg.len());
    assert!(
        svg.contains("and 2940 more pools"),
        "omitted pools are not mentioned"
    );
    assert!(svg.contains("and 2940 more teams") && svg.contains("and 2940 more quotas"));
    assert!(svg.contains("and 250 more steps"));
}
