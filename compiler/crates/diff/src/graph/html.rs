//! Renders clusters as an HTML page: a picture and a table each.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, context};

use super::scene::format_range;
use super::view::{PoolView, View};
use super::{description, layout, svg};

const TEMPLATE_NAME: &str = "page.html";
const TEMPLATE: &str = include_str!("page.html.j2");

pub(super) fn html(views: &[View]) -> String {
    let sections: Vec<_> = views.iter().enumerate().map(section).collect();
    let title = match views {
        [one] => one.name.clone(),
        several => format!("{} GPU clusters", several.len()),
    };
    let context = context! { title => title, sections => Serde(sections) };
    let template = TEMPLATES.get_template(TEMPLATE_NAME);
    let rendered = template.and_then(|template| template.render(context));
    rendered.expect("the template is right, which a test shows")
}

#[derive(serde::Serialize)]
struct Section {
    id: String,
    name: String,
    picture: String,
    rows: Vec<Vec<String>>,
}

fn section((index, view): (usize, &View)) -> Section {
    let id = format!("cluster-{}", index + 1);
    let picture = layout::draw_picture(std::slice::from_ref(view));
    let title = format!("GPU cluster {}", view.name);
    Section {
        picture: svg::svg(&picture, &id, &title, &description::describe_view(view)),
        name: view.name.clone(),
        rows: view.pools.iter().map(table_row).collect(),
        id,
    }
}

fn table_row(pool: &PoolView) -> Vec<String> {
    let (nodes, gpus) = (pool.node_count(), pool.gpu_count());
    let offers = pool.advertised.iter();
    let offers: Vec<_> = offers
        .map(|it| format!("{} × {}", it.per_node, it.name))
        .collect();
    let runs: Vec<_> = pool.workloads.iter().map(|it| it.name.as_str()).collect();
    vec![
        pool.name.clone(),
        std::iter::once(pool.summary())
            .chain(pool.marks.iter().cloned())
            .collect::<Vec<_>>()
            .join(" · "),
        format_range(nodes.0, nodes.1),
        format_range(gpus.0, gpus.1),
        offers.join("\n"),
        pool.taints.join("\n"),
        runs.join("\n"),
        pool.provided_by.clone(),
    ]
}

/// The template, parsed once. Everything except the pictures is escaped.
static TEMPLATES: LazyLock<Environment> = LazyLock::new(|| {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the usual ones"));
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    // Line breaks of a cell are kept; other invisible characters are removed.
    environment.add_filter("text", |text: &str| {
        let lines = text.lines().map(super::measure::to_single_line);
        svg::escape(&lines.collect::<Vec<_>>().join("\n"))
    });
    let added = environment.add_template(TEMPLATE_NAME, TEMPLATE);
    added.expect("the template is right, which a test shows");
    environment
});
