//! `gpuc schema`: the JSON Schema of gpu-cluster.yaml.

use anyhow::Result;

use super::{Exit, output};

/// Prints it.
pub(crate) fn run() -> Result<Exit> {
    output::data(&gpuc_syntax::schema::json())?;
    Ok(Exit::Fine)
}
