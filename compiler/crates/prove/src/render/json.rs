//! A judgement as JSON.

use serde::Serialize;

use crate::judgement::Judgement;

/// The document; fields are only added to a version.
#[derive(Serialize)]
struct Document<'j> {
    /// The version of the format.
    version: u32,
    #[serde(flatten)]
    judgement: &'j Judgement,
}

/// The judgement as JSON: `{"version":1,"subject":…,"verdict":"proven","reasons":[…],"causes":[…],"warnings":[…],
/// "measured":[…]}`.
pub fn json(judgement: &Judgement) -> String {
    let document = Document {
        version: 1,
        judgement,
    };
    let text = serde_json::to_string_pretty(&document).expect("all keys are texts");
    format!("{text}\n")
}
