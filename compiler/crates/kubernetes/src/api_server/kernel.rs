//! Kernel settings of a pod: host namespaces, sysctls and supplemental groups.

use std::collections::BTreeSet;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_bool, get_non_null, get_text, indexed_items, parse_value};

/// Sysctls of the network namespace and of the IPC namespace.
///
/// Source: kubernetes `pkg/kubelet/sysctl/namespace.go` and component-helpers `node/util/sysctl/namespace.go` (from
/// memory).
const NETWORK_SYSCTLS: &[&str] = &["net."];
const IPC_SYSCTLS: &[&str] = &["kernel.shm", "kernel.msg", "fs.mqueue."];

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateSysctls`, `validatePodSpecSecurityContext`
/// and `validateProcMountType`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.type_name != "PodSpec" {
        return;
    }
    let is_on = |ctx: &ObjectContext<'_, '_>, key: &str| get_bool(ctx.node, key) == Some(true);
    if is_on(ctx, "shareProcessNamespace") && is_on(ctx, "hostPID") {
        ctx.report(
            [Step::from("shareProcessNamespace")],
            |path| format!("`{path}` cannot be combined with `hostPID: true`"),
            "remove one of the two",
        );
    }
    check_sysctls(ctx);
    check_supplemental_groups(ctx);
    if ctx.is_complete
        && get_non_null(ctx.node, "hostUsers")
            .is_none_or(|it| parse_value(it) == ParsedValue::Bool(true))
    {
        check_proc_mount(ctx);
    }
}

fn check_sysctls(ctx: &mut ObjectContext<'_, '_>) {
    let Some(context) = ctx.node.get("securityContext") else {
        return;
    };
    let mut seen = BTreeSet::new();
    for (index, it) in indexed_items(context, "sysctls") {
        let Some(name) = get_text(it, "name") else {
            continue;
        };
        let is_host_sysctl = |key: &str, names: &[&str]| {
            let is_on = get_bool(ctx.node, key) == Some(true);
            is_on && names.iter().any(|prefix| name.starts_with(prefix))
        };
        let problem = if !is_sysctl_name(name) {
            "which is not a valid sysctl name".to_owned()
        } else if !seen.insert(name) {
            "which is already used".to_owned()
        } else if is_host_sysctl("hostNetwork", NETWORK_SYSCTLS) {
            "which is the node's with `hostNetwork`".to_owned()
        } else if is_host_sysctl("hostIPC", IPC_SYSCTLS) {
            "which is the node's with `hostIPC`".to_owned()
        } else {
            continue;
        };
        let key_path = ["securityContext", "sysctls"].map(Step::from).into_iter();
        ctx.report(
            key_path.chain([Step::from(index), Step::from("name")]),
            |path| format!("`{path}` is `{name}`, {problem}"),
            "write another, or remove it",
        );
    }
}

/// Source: `IsValidSysctlName` there.
fn is_sysctl_name(name: &str) -> bool {
    let is_end =
        |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        let allowed =
            |it: &u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-_".contains(it);
        bytes.iter().all(allowed) && is_end(bytes.first()) && is_end(bytes.last())
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_part)
}

fn check_supplemental_groups(ctx: &mut ObjectContext<'_, '_>) {
    let Some(context) = ctx.node.get("securityContext") else {
        return;
    };
    for (index, group) in indexed_items(context, "supplementalGroups") {
        let ParsedValue::Integer(group) = parse_value(group) else {
            continue;
        };
        if !(0..=i128::from(i32::MAX)).contains(&group) {
            let key_path = ["securityContext", "supplementalGroups"]
                .map(Step::from)
                .into_iter();
            ctx.report(
                key_path.chain([Step::from(index)]),
                |path| format!("`{path}` is {group}, but must be 0 or more"),
                "write 0 or more, or remove it",
            );
        }
    }
}

fn check_proc_mount(ctx: &mut ObjectContext<'_, '_>) {
    for list in ["containers", "initContainers"] {
        for (index, container) in indexed_items(ctx.node, list) {
            let context = container.get("securityContext");
            if context.and_then(|it| get_text(it, "procMount")) != Some("Unmasked") {
                continue;
            }
            let key_path = [Step::from(list), Step::from(index)].into_iter();
            ctx.report(
                key_path.chain(["securityContext", "procMount"].map(Step::from)),
                |path| {
                    format!(
                        "`{path}` is `Unmasked`, which is only allowed in pods with a user namespace"
                    )
                },
                "set `hostUsers: false` in the pod, or remove it",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sysctl_names_match_kubernetes() {
        for name in [
            "net.ipv4.tcp_syncookies",
            "kernel.shm_rmid_forced",
            "net/ipv4/a-b",
            "a",
        ] {
            assert!(super::is_sysctl_name(name), "{name}");
        }
        for name in ["", "a b", "Net.a", "net..a", "_a", "a.", "a."] {
            assert!(!super::is_sysctl_name(name), "{name}");
        }
    }
}
