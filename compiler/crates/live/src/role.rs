//! The rights that reading a cluster needs.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::state::KINDS;

/// The name of the ClusterRole.
pub const ROLE_NAME: &str = "gpuc-doctor";

/// A ClusterRole with the rights to read everything that `gpuc doctor` and `gpuc snapshot` read, as YAML. It permits no
/// changes, and no access to Secrets.
pub fn cluster_role() -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for info in KINDS {
        groups.entry(info.group).or_default().push(info.plural);
    }
    let mut text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {ROLE_NAME}\nrules:\n"
    );
    for (group, mut plurals) in groups {
        plurals.sort_unstable();
        let _ = write!(
            text,
            "- apiGroups: [\"{group}\"]\n  resources: [{}]\n  verbs: [list]\n",
            plurals.join(", ")
        );
    }
    text.push_str("- apiGroups: [\"\"]\n  resources: [pods/log]\n  verbs: [get]\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_permits_reading_only() {
        let role = cluster_role();
        assert!(!role.contains("secrets"));
        let verbs: Vec<_> = role
            .lines()
            .filter_map(|line| line.strip_prefix("  verbs: "))
            .collect();
        assert!(verbs.iter().all(|verb| ["[list]", "[get]"].contains(verb)));
        for info in KINDS {
            assert!(role.contains(info.plural), "{}", info.plural);
        }
    }
}
