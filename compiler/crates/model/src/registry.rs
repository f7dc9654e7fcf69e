//! The clouds and rules that a build of gpuc knows.

use gpuc_schema::config::CloudSection;
use gpuc_syntax::diag::Code;

use super::check::Rule;
use crate::cloud::Cloud;

/// The clouds and rules that a build of gpuc knows.
///
/// The crates below the package `gpuc` refer to clouds and rules only through the registry.
pub struct Registry {
    /// The clouds, in the order of their keys in the file.
    pub clouds: &'static [&'static dyn Cloud],
    /// The rules that apply on every cloud, by id.
    pub rules: &'static [&'static Rule],
    /// The codes of all diagnostics, by id.
    pub codes: fn() -> Vec<&'static Code>,
}

impl Registry {
    /// The code with this id.
    ///
    /// # Panics
    ///
    /// If no registered rule or phase has it, which is a bug in gpuc.
    pub fn code(&self, id: &str) -> &'static Code {
        let code = (self.codes)().into_iter().find(|code| code.id == id);
        code.unwrap_or_else(|| unreachable!("no code {id} is registered"))
    }

    /// The codes of resolution and of every rule.
    pub fn codes_of_rules(&self) -> Vec<&'static Code> {
        let of_clouds = self.clouds.iter().flat_map(|cloud| cloud.rules());
        let rules = self.rules.iter().chain(of_clouds);
        let of_resolution = crate::resolve::codes::CODES.iter().copied();
        let mut codes: Vec<_> = of_resolution.chain(rules.map(|rule| &rule.code)).collect();
        // Clouds can share a rule.
        codes.sort_by_key(|code| code.id);
        codes.dedup_by_key(|code| code.id);
        codes
    }

    /// The cloud that a section of the file configures.
    ///
    /// # Panics
    ///
    /// If no registered cloud owns the section, which is a bug in gpuc.
    pub fn cloud_for(&self, section: &CloudSection) -> &'static dyn Cloud {
        let cloud = self
            .clouds
            .iter()
            .find_map(|cloud| cloud.for_section(section));
        cloud.unwrap_or_else(|| unreachable!("every section of `cloud` has a registered cloud"))
    }
}
