//! Graphs in a real browser: text fits its box, nothing overlaps, and it is legible in light and dark.

use std::fs;
use std::process::{Command, Stdio};

use gpuc_diff::graph;
use gpuc_diff::graph::palette::{Color, Role, Theme};

use super::{HOSTILE_NAMES, all_views, example, view_with_name};

const SCRIPT: &str = include_str!("measure.js");

/// The browser: `GPUC_CHROMIUM`, or chromium on the path.
fn chromium() -> Command {
    let program = std::env::var_os("GPUC_CHROMIUM");
    Command::new(program.unwrap_or_else(|| "chromium".into()))
}

#[derive(serde::Deserialize)]
struct Measured {
    texts: usize,
    dark: bool,
    images: Vec<Image>,
    wrong: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Image {
    width: u32,
    ground: u32,
}

/// Measures a page with this viewport width in the browser.
fn measure_page(page: &str, width: u32, dark: bool) -> Measured {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let script = format!("<script>{SCRIPT}</script></body>");
    fs::write(&file, page.replace("</body>", &script)).unwrap();
    let mut command = chromium();
    command
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--dump-dom",
        ])
        .arg(format!("--window-size={width},900"))
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        // Blink's `PreferredColorScheme`: 0 is dark, 1 is light.
        .arg(format!(
            "--blink-settings=preferredColorScheme={}",
            u32::from(!dark)
        ))
        .arg(format!("file://{}", file.display()))
        .stderr(Stdio::null());
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("chromium does not run: {error}"));
    let dom = String::from_utf8(output.stdout).unwrap();
    let found = dom
        .split_once("<pre id=\"measured\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"));
    let (codes, _) = found.unwrap_or_else(|| panic!("nothing was measured: {dom}"));
    let codes = codes
        .split(' ')
        .map(|it| char::from_u32(it.parse().unwrap()).unwrap());
    serde_json::from_str(&codes.collect::<String>()).unwrap()
}

fn assert_fits(name: &str, page: &str, width: u32) {
    for dark in [false, true] {
        let measured = measure_page(page, width, dark);
        assert!(measured.texts > 10, "{name}: no text was measured");
        assert_eq!(
            measured.dark, dark,
            "{name}: the browser shows the other theme"
        );
        assert!(
            measured.wrong.is_empty(),
            "{name}, dark {dark}: {:#?}",
            measured.wrong
        );
    }
}

fn page(pictures: &[String]) -> String {
    format!(
        "<!doctype html><meta charset=utf-8><body>{}</body>",
        pictures.join("\n")
    )
}

#[test]
#[ignore = "needs chromium"]
fn graphs_fit_in_a_browser() {
    let images = all_views().into_iter().filter(|(name, _)| {
        let is_text = name.starts_with("examples/") || name.starts_with("tests/");
        is_text || name.starts_with("huge") || name.starts_with("fleet")
    });
    let images: Vec<_> = images.map(|(_, views)| graph::svg(&views)).collect();
    assert!(images.len() > 40);
    assert_fits("the corpus", &page(&images), 1280);
}

/// Names in any script stay within their boxes, whatever font the browser chooses.
#[test]
#[ignore = "needs chromium"]
fn hostile_names_fit_in_a_browser() {
    let images: Vec<_> = HOSTILE_NAMES
        .iter()
        .map(|name| graph::svg(&[view_with_name(name)]))
        .collect();
    assert_fits("hostile names", &page(&images), 1280);
}

/// The HTML pages in a wide and in a narrow viewport. Content that does not fit scrolls within the page.
#[test]
#[ignore = "needs chromium"]
fn pages_fit_in_a_browser() {
    for name in ["eks-queues", "fleet", "on-prem-mps"] {
        for width in [1280, 500] {
            assert_fits(name, &graph::html(&example(name)), width);
        }
    }
}

/// An image in `<img>`, as in a README, follows the theme and loads nothing.
#[test]
#[ignore = "needs chromium"]
fn images_follow_the_theme() {
    let svg = graph::svg(&example("eks-queues"));
    let mut data = String::new();
    for byte in svg.bytes() {
        data.push_str(&format!("%{byte:02x}"));
    }
    let image = format!("<img src=\"data:image/svg+xml,{data}\">");
    for (dark, theme) in [(false, Theme::Light), (true, Theme::Dark)] {
        let measured = measure_page(&page(std::slice::from_ref(&image)), 1280, dark);
        let [image] = measured.images.as_slice() else {
            panic!("{} images", measured.images.len());
        };
        assert_eq!(image.width, 960);
        assert_eq!(
            Color(image.ground),
            Role::Background.fill(theme),
            "{theme:?}"
        );
    }
}

/// A box that is too small for its text is reported.
#[test]
#[ignore = "needs chromium"]
fn overflows_are_detected() {
    let svg = graph::svg(&example("eks-queues"));
    let wider = svg.replacen("font-size=\"24\"", "font-size=\"240\"", 1);
    let faint = svg.replace(".gpuc-soft{fill:#4d5968}", ".gpuc-soft{fill:#c0c8d0}");
    assert!(wider != svg && faint != svg);
    for (broken, why) in [(wider, "leaves its box"), (faint, "has a contrast of")] {
        let measured = measure_page(&page(&[broken]), 1280, false);
        assert!(
            measured.wrong.iter().any(|it| it.contains(why)),
            "{why}: {:?}",
            measured.wrong
        );
    }
}
