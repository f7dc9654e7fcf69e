//! `gpuc schema`: the JSON Schema of gpu-cluster.yaml.

use anyhow::Result;

use super::{Exit, output};

/// Prints it.
pub(crate) fn run() -> Result<Exit> {
    output::print_data(&gpuc_syntax::schema::schema_json())?;
    Ok(Exit::Success)
}
