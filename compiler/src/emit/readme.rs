//! x
pub(super) fn readme(_: &crate::plan::Plan) -> String {
    String::new()
}
