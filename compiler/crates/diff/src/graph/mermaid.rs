//! Renders pools, their advertised resources and the teams with quota as a Mermaid flowchart.

use std::collections::BTreeMap;
use std::fmt::Write;

use gpuc_model::Cluster;
use gpuc_model::plan::Summary;

use super::measure::to_single_line;
use super::palette::{Ink, Role, Theme};
use super::scene::{format_grouped, format_range};
use super::view::{PoolView, View};

/// The maximum length of a chart in characters: Mermaid rejects charts of more than 50,000 characters or 500 arrows.
///
/// Source: mermaid 11.17.2 on npm, `maxTextSize:5e4` and `maxEdges:500` in `dist/mermaid.min.js`, 2026-11-22.
pub const MAX_MERMAID_LENGTH: usize = 40_000;

/// The maximum number of arrows.
const MAX_ARROWS: usize = 400;

/// The maximum length of a name in characters.
const MAX_NAME_LENGTH: usize = 60;

/// A cluster as a flowchart of at most `most` characters; pools that exceed it are omitted.
pub fn cluster_mermaid(cluster: &Cluster, summary: &Summary, most: usize) -> String {
    mermaid(&[View::from_cluster(cluster, summary, &[])], most)
}

/// Clusters as one flowchart of at most `most` characters, with a subgraph for each if there are several.
pub fn mermaid(views: &[View], most: usize) -> String {
    let most = most.min(MAX_MERMAID_LENGTH);
    let largest = views.iter().map(|view| view.pools.len()).max().unwrap_or(0);
    let (mut pools, mut clusters) = (largest, views.len());
    loop {
        let text = build_flowchart(views, clusters, pools);
        // Nothing more can be omitted.
        let fits = text.len() <= most && text.matches("-->").count() <= MAX_ARROWS;
        if fits || (pools == 0 && clusters == 0) {
            return text;
        }
        if pools > 0 {
            pools /= 2;
        } else {
            clusters /= 2;
        }
    }
}

/// The first clusters with the first pools of each.
fn build_flowchart(views: &[View], clusters: usize, pools: usize) -> String {
    let names: Vec<_> = views
        .iter()
        .take(3)
        .map(|view| view.name.as_str())
        .collect();
    let mut out = Flowchart::default();
    out.line("flowchart LR");
    out.line(&format!(
        "  accTitle: {}",
        plain_text(&format!("GPU cluster {}", names.join(", ")))
    ));
    out.line("  accDescr: Node pools, the resources that they advertise, and the teams with quota for them");
    for (index, view) in views.iter().take(clusters).enumerate() {
        if views.len() > 1 {
            out.line(&format!(
                "  subgraph c{index}[\"{}\"]",
                quoted_label(&view.name)
            ));
        }
        add_cluster(&mut out, view, index, pools);
        if views.len() > 1 {
            out.line("  end");
        }
    }
    if views.len() > clusters {
        let text = format!(
            "and {}",
            gpuc_syntax::diag::phrases::pluralize(views.len() - clusters, "more cluster")
        );
        out.line(&format!("  more[\"{text}\"]:::more"));
    }
    for (class, role) in CLASSES {
        if out.text.contains(&format!(":::{class}")) {
            let theme = Theme::Light;
            let dash = if class == "later" {
                ",stroke-dasharray:4 3"
            } else {
                ""
            };
            out.line(&format!(
                "  classDef {class} fill:{},stroke:{},color:{}{dash}",
                role.fill(theme),
                role.stroke(theme),
                Ink::Strong.color(theme)
            ));
        }
    }
    out.text
}

/// Classes by role. Fill, stroke and text color are set together, so that they are readable in every theme.
const CLASSES: [(&str, Role); 6] = [
    ("pool", Role::Node),
    ("later", Role::OptionalNode),
    ("offer", Role::Gpu),
    ("slice", Role::MigDevice),
    ("team", Role::Guaranteed),
    ("more", Role::Advertised),
];

#[derive(Default)]
struct Flowchart {
    text: String,
}

impl Flowchart {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a String takes everything");
    }
}

/// One cluster.
fn add_cluster(out: &mut Flowchart, view: &View, cluster: usize, pools: usize) {
    let mut teams: BTreeMap<String, usize> = BTreeMap::new();
    for (index, pool) in view.pools.iter().take(pools).enumerate() {
        let id = format!("c{cluster}p{index}");
        let class = if pool.min_nodes == 0 { "later" } else { "pool" };
        out.line(&format!("  {id}[\"{}\"]:::{class}", pool_label(pool)));
        for (at, resource) in pool.advertised.iter().enumerate() {
            let resource_id = format!("{id}o{at}");
            let class = if resource.name.contains("/mig-") {
                "slice"
            } else {
                "offer"
            };
            let text = [
                quoted_label(&resource.name),
                format_range(resource.min, resource.max),
            ]
            .join("<br/>");
            out.line(&format!("  {resource_id}([\"{text}\"]):::{class}"));
            let per_node = format_grouped(resource.per_node.into());
            out.line(&format!(
                "  {id} -->|\"{per_node} per node\"| {resource_id}"
            ));
            let promises = view.quota_totals.iter();
            let promises =
                promises.filter(|it| it.pool == pool.name && it.resource == resource.name);
            let promised = promises.flat_map(|promise| {
                let alone = promise.teams.len() == 1;
                // The last of several entries is their sum.
                let last = promise.teams.len().saturating_sub(usize::from(!alone));
                &promise.teams[..last]
            });
            for team in promised {
                let next = teams.len();
                let number = *teams.entry(team.name.clone()).or_insert(next);
                let quota_text = if team.guaranteed == team.limit {
                    format!("{} guaranteed", format_grouped(team.guaranteed))
                } else {
                    format!(
                        "{} guaranteed, max {}",
                        format_grouped(team.guaranteed),
                        format_grouped(team.limit)
                    )
                };
                out.line(&format!(
                    "  {resource_id} -->|\"{quota_text}\"| c{cluster}t{number}"
                ));
            }
        }
    }
    if view.pools.len() > pools {
        let rest = View {
            pools: view.pools[pools..].to_vec(),
            ..View::default()
        };
        let (nodes, gpus) = (
            rest.sum(PoolView::node_count),
            rest.sum(PoolView::gpu_count),
        );
        let text = format!(
            "and {}<br/>nodes: {}, GPUs: {}",
            gpuc_syntax::diag::phrases::pluralize(rest.pools.len(), "more pool"),
            format_range(nodes.0, nodes.1),
            format_range(gpus.0, gpus.1)
        );
        out.line(&format!("  c{cluster}more[\"{text}\"]:::more"));
    }
    for (team, number) in &teams {
        out.line(&format!(
            "  c{cluster}t{number}(\"{}\"):::team",
            quoted_label(team)
        ));
    }
}

fn pool_label(pool: &PoolView) -> String {
    let (few, many) = pool.node_count();
    let word = if many == 1 { "node" } else { "nodes" };
    let nodes = format!("{} {word}", format_range(few, many));
    let mut lines = vec![
        quoted_label(&pool.name),
        format!("{} · {nodes}", quoted_label(&pool.machine)),
    ];
    let words = [&pool.gpus, &pool.sharing].into_iter();
    lines.extend(words.filter(|it| !it.is_empty()).map(|it| quoted_label(it)));
    lines.join("<br/>")
}

/// Escapes a name for a quoted label: characters with a meaning in Mermaid, Markdown or HTML become Mermaid entities,
/// such as `#35;` for `#`.
fn quoted_label(text: &str) -> String {
    let text = to_single_line(text);
    let mut shown: String = text.chars().take(MAX_NAME_LENGTH).collect();
    if text.chars().nth(MAX_NAME_LENGTH).is_some() {
        shown.push('…');
    }
    // Mermaid rejects an empty label.
    if shown.is_empty() {
        return "unnamed".to_owned();
    }
    let mut out = String::new();
    let characters: Vec<char> = shown.chars().collect();
    let is_word = |index: usize| {
        let character = characters.get(index);
        character.is_some_and(char::is_ascii_alphanumeric)
    };
    for (index, character) in characters.iter().copied().enumerate() {
        let plain = match character {
            it if !it.is_ascii() || it.is_ascii_alphanumeric() => true,
            // Within a word; otherwise it could start a Markdown list.
            '-' | '.' => index > 0 && is_word(index - 1) && is_word(index + 1),
            it => " ,_/:=".contains(it),
        };
        if plain {
            out.push(character);
        } else {
            out.push_str(&format!("#{};", u32::from(character)));
        }
    }
    out
}

/// Sanitizes a text for a line outside of quotes.
fn plain_text(text: &str) -> String {
    let text = to_single_line(text);
    let keeps = |it: char| it.is_alphanumeric() || " -.,_".contains(it);
    let shown = text.chars().take(200);
    shown.map(|it| if keeps(it) { it } else { ' ' }).collect()
}
