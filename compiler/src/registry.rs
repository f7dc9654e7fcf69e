//! The clouds and rules that this build of gpuc knows.

use gpuc_clouds::CLOUDS;
use gpuc_model::Registry;
use gpuc_syntax::diag::Code;

/// Every cloud, rule and kind of finding.
pub static REGISTRY: Registry = Registry {
    clouds: CLOUDS,
    rules: gpuc_checks::RULES,
    codes,
};

/// Every kind of finding about a running cluster, by id.
pub fn doctor_codes() -> Vec<&'static Code> {
    let checks = gpuc_live::doctor::CHECKS.iter();
    checks.map(|check| &check.code).collect()
}

/// Every kind of finding about files, by id.
pub fn codes() -> Vec<&'static Code> {
    let mut codes: Vec<&'static Code> = [
        gpuc_syntax::yaml::codes::CODES,
        gpuc_syntax::decode::codes::CODES,
        gpuc_syntax::load::codes::CODES,
        gpuc_compile::fleet::CODES,
        gpuc_compile::compile::CODES,
        gpuc_compile::audit::codes::CODES,
        gpuc_contract::CODES,
        gpuc_manifests::CODES,
    ]
    .concat();
    codes.extend(gpuc_manifests::RULES.iter().map(|rule| &rule.code));
    codes.extend(REGISTRY.codes_of_rules());
    codes.sort_by_key(|code| code.id);
    codes
}
