//! Renders a picture as a self-contained SVG.

use std::fmt::Write;

use super::measure::{FONTS, to_single_line};
use super::palette::style;
use super::scene::{Anchor, Frame, Line, Text};

/// Renders the picture with its title and description. `id` makes its ids unique on a page.
pub(super) fn svg(picture: &Frame, id: &str, title: &str, description: &str) -> String {
    let (w, h) = (px(picture.w()), px(picture.h()));
    let mut out = String::new();
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\" font-family=\"{FONTS}\">\n\
         <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n\
         <style>\n{}\n{SHAPES}\n</style>\n",
        escape(&to_single_line(title)),
        escape(&to_single_line(description)),
        style()
    );
    out.push_str(&head);
    write_frame(picture, 0, &mut out);
    out.push_str("</svg>\n");
    out
}

/// The styles that do not depend on the theme.
const SHAPES: &str = ".gpuc-dash{stroke-dasharray:4 3}.gpuc-bold{font-weight:700}\
                      .gpuc-mid{text-anchor:middle}.gpuc-end{text-anchor:end}";

fn write_frame(frame: &Frame, depth: usize, out: &mut String) {
    let (x, y) = (px(frame.rect.x), px(frame.rect.y));
    let transform = if x == "0" && y == "0" {
        String::new()
    } else {
        format!(" transform=\"translate({x} {y})\"")
    };
    let indent = " ".repeat(depth);
    put(out, &format!("{indent}<g{transform}>"));
    if let Some(title) = &frame.title {
        put(out, &format!("<title>{}</title>", escape(title)));
    }
    if let Some(role) = frame.role {
        let dash = if frame.dashed { " gpuc-dash" } else { "" };
        // The stroke is inside the rectangle, so that touching rectangles do not overlap.
        let (w, h) = ((frame.w() - 1.0).max(0.2), (frame.h() - 1.0).max(0.2));
        let round = frame.round.min(w / 2.0).min(h / 2.0);
        let text = format!(
            "<rect class=\"gpuc-{}{dash}\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
            role.class(),
            px(w),
            px(h),
            px(round)
        );
        put(out, &text);
    }
    frame.lines.iter().for_each(|it| write_line(it, out));
    frame.texts.iter().for_each(|it| write_text(it, out));
    if frame.frames.is_empty() {
        put(out, "</g>\n");
        return;
    }
    put(out, "\n");
    frame
        .frames
        .iter()
        .for_each(|it| crate::graph::svg::write_frame(it, depth + 1, out));
    put(out, &format!("{indent}</g>\n"));
}

fn write_line(line: &Line, out: &mut String) {
    let ((x1, y1), (x2, y2)) = (line.from, line.to);
    let middle = px(f64::midpoint(x1, x2));
    let path = format!(
        "<path class=\"gpuc-line\" d=\"M{} {}C{middle} {} {middle} {} {} {}\"/>",
        px(x1),
        px(y1),
        px(y1),
        px(y2),
        px(x2),
        px(y2)
    );
    put(out, &path);
}

fn write_text(text: &Text, out: &mut String) {
    let bold = if text.font.bold { " gpuc-bold" } else { "" };
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " gpuc-mid",
        Anchor::End => " gpuc-end",
    };
    let full = text.full_text.as_ref();
    let full = full.map_or(String::new(), |it| format!("<title>{}</title>", escape(it)));
    let text = format!(
        "<text class=\"gpuc-{}{bold}{anchor}\" x=\"{}\" y=\"{}\" font-size=\"{}\">{full}{}</text>",
        text.ink.class(),
        px(text.x),
        px(text.y),
        px(text.font.size),
        escape(&text.content)
    );
    put(out, &text);
}

fn put(out: &mut String, text: &str) {
    out.write_str(text).expect("a String takes everything");
}

/// A length with a tenth of a pixel, without trailing zeros.
fn px(length: f64) -> String {
    let text = format!("{length:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Escapes text for XML and HTML.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_no_trailing_zeros() {
        assert_eq!([px(4.0), px(4.25), px(-0.01)], ["4", "4.2", "0"]);
    }

    #[test]
    fn markup_in_names_is_escaped() {
        assert_eq!(
            escape("<a href='x'>&\""),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;"
        );
    }
}
