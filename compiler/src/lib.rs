//! A compiler for GPU clusters.
//!
//! ```text
//! Source ─parse→ Document ─decode→ Config ─resolve→ Cluster ─check→ Checked ─lower→ Plan ─audit→ Audited ─emit→ Tree
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and run programs"
    )
)]

pub mod api_server;
pub mod audit;
pub mod chart;
pub mod check;
pub mod cloud;
pub mod compile;
pub mod decode;
pub mod diag;
pub mod diff;
pub mod emit;
pub mod expand;
pub mod fleet;
pub mod graph;
pub mod load;
pub mod lock;
pub mod lower;
pub mod manifests;
pub mod model;
pub mod node;
pub mod placement;
pub mod plan;
pub mod resolve;
pub mod schema;
pub mod shell;
pub mod source;
pub mod tree;
pub mod why;
pub mod yaml;

use diag::Code;

/// Every kind of finding, by id.
pub fn codes() -> Vec<&'static Code> {
    let rules = check::RULES.iter();
    let of_clouds = cloud::CLOUDS.iter().flat_map(|cloud| cloud.rules());
    let mut codes: Vec<&'static Code> = [
        yaml::codes::CODES,
        decode::codes::CODES,
        load::codes::CODES,
        resolve::codes::CODES,
        fleet::CODES,
        check::CODES,
        audit::codes::CODES,
        manifests::CODES,
    ]
    .concat();
    codes.extend(manifests::RULES.iter().map(|rule| &rule.code));
    codes.extend(rules.chain(of_clouds).map(|rule| &rule.code));
    codes.sort_by_key(|code| code.id);
    codes
}
