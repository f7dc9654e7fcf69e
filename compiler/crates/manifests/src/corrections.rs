//! Which corrections of names a fix may make, and which only the author can decide.

use gpuc_model::POOL_LABEL;
use gpuc_syntax::diag::Applicability;
use gpuc_syntax::diag::phrases;

/// The most pools that a help names with their label.
const NAMED_POOLS: usize = 3;

/// A help to select nodes by the label of one of these pools: with an expression of a node affinity (`is_expression`),
/// or with an entry of `nodeSelector`.
pub(crate) fn select_by_pool(pools: &[&str], is_expression: bool) -> String {
    let label = |pool: &&str| {
        if is_expression {
            format!("{{key: {POOL_LABEL}, operator: In, values: [{pool}]}}")
        } else {
            format!("{POOL_LABEL}: {pool}")
        }
    };
    let labels: Vec<_> = pools.iter().take(NAMED_POOLS).map(label).collect();
    let more = match pools.len().saturating_sub(NAMED_POOLS) {
        0 => String::new(),
        more => format!(", or {}", phrases::pluralize(more, "other pool")),
    };
    format!(
        "select by {}{more}",
        phrases::quoted_conjunction(&labels, "or")
    )
}

/// Keys whose corrections are never applied, in lower case: they and what is below them grant access, or name images,
/// commands and other objects. `unprivileged` is not a misspelled `privileged`.
const SENSITIVE_KEYS: &[&str] = &[
    "allowprivilegeescalation",
    "apparmorprofile",
    "args",
    "automountserviceaccounttoken",
    "capabilities",
    "capability",
    "command",
    "egress",
    "exec",
    "externalip",
    "hostip",
    "hostipc",
    "hostnetwork",
    "hostpath",
    "hostpid",
    "hostport",
    "hostuser",
    "image",
    "imagepullpolicy",
    "imagepullsecret",
    "ingress",
    "lifecycle",
    "loadbalancer",
    "loadbalancersourcerange",
    "nodeport",
    "poststart",
    "prestop",
    "privileged",
    "procmount",
    "readonlyrootfilesystem",
    "seccompprofile",
    "secret",
    "securitycontext",
    "selinuxoption",
    "sysctl",
    "targetreplicatedjob",
    "token",
    "windowsoption",
];

/// The beginnings of keys that determine a user or a group.
const SENSITIVE_PREFIXES: &[&str] = &["runas", "fsgroup", "supplementalgroup"];

/// The ends of keys that name other objects.
const REFERENCE_SUFFIXES: &[&str] = &["ref", "name", "from", "account"];

/// API groups whose objects only grant or limit access.
const ACCESS_GROUPS: &[&str] = &[
    "admissionregistration.k8s.io",
    "certificates.k8s.io",
    "networking.k8s.io",
    "rbac.authorization.k8s.io",
];

/// Whether a correction of a key or value may be applied to an object of an API group. `path` are the keys that lead to
/// it, and `written` becomes `meant`. `None` if only the author can decide.
pub(crate) fn correction_applicability<'p>(
    group: &str,
    path: impl IntoIterator<Item = &'p str>,
    written: &'p str,
    meant: &'p str,
) -> Option<Applicability> {
    let mut keys = path.into_iter().chain([written, meant]);
    let is_decided_by_author = ACCESS_GROUPS.contains(&group) || keys.any(is_sensitive_key);
    (!is_decided_by_author).then(|| spelling_applicability(written, meant))
}

/// Whether two spellings differ only in case or in a plural.
pub(crate) fn spelling_applicability(written: &str, meant: &str) -> Applicability {
    if singular(written) == singular(meant) {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    }
}

fn is_sensitive_key(key: &str) -> bool {
    let key = singular(key);
    let key = key.as_str();
    SENSITIVE_KEYS.iter().any(|it| singular(it) == key)
        || SENSITIVE_PREFIXES.iter().any(|it| key.starts_with(it))
        || REFERENCE_SUFFIXES.iter().any(|it| key.ends_with(it))
}

/// The word in lower case, without the `s` of a plural.
fn singular(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    lower.strip_suffix('s').unwrap_or(&lower).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_case_and_plurals_are_safe() {
        for (written, meant, expected) in [
            ("Replicas", "replicas", Some(Applicability::Safe)),
            ("replica", "replicas", Some(Applicability::Safe)),
            ("never", "Never", Some(Applicability::Safe)),
            ("replcias", "replicas", Some(Applicability::Unsafe)),
            ("unprivileged", "privileged", None),
            ("Privileged", "privileged", None),
            ("denyPrivilegeEscalation", "allowPrivilegeEscalation", None),
            ("hostIP", "hostIPC", None),
            ("hostipc", "hostIPC", None),
            ("preStart", "postStart", None),
            ("Loadbalancer", "LoadBalancer", None),
            ("images", "image", None),
            ("egres", "egress", None),
            ("arguments", "args", None),
            ("Capabilities", "capabilities", None),
            ("commands", "command", None),
            ("serviceAcountName", "serviceAccountName", None),
            ("runAsUsr", "runAsUser", None),
            ("configMapref", "configMapRef", None),
        ] {
            let found = correction_applicability("apps", ["spec", "template"], written, meant);
            assert_eq!(found, expected, "{written}");
        }
    }

    #[test]
    fn everything_below_a_sensitive_key_is_sensitive() {
        for path in [["spec", "securityContext"], ["lifecycle", "httpGet"]] {
            assert_eq!(correction_applicability("", path, "Port", "port"), None);
        }
        let rbac = "rbac.authorization.k8s.io";
        assert_eq!(
            correction_applicability(rbac, ["metadata"], "label", "labels"),
            None
        );
    }
}
