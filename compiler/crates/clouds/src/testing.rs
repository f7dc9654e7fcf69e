//! The registry of the tests of this crate.

use gpuc_model::Registry;
use gpuc_syntax::diag::Code;

/// Every cloud and rule, for tests.
pub(crate) static REGISTRY: Registry = Registry {
    clouds: crate::CLOUDS,
    rules: gpuc_checks::RULES,
    codes,
};

/// The codes of every rule and of resolution.
pub(crate) fn codes() -> Vec<&'static Code> {
    let of_clouds = REGISTRY.clouds.iter().flat_map(|cloud| cloud.rules());
    let rules = REGISTRY.rules.iter().chain(of_clouds);
    rules
        .map(|rule| &rule.code)
        .chain(gpuc_model::resolve::codes::CODES.iter().copied())
        .collect()
}
