//! Violations of Pod Security Standards.
//!
//! Source: <https://kubernetes.io/docs/concepts/security/pod-security-standards/>, and kubernetes
//! `staging/src/k8s.io/pod-security-admission/policy/` (from memory).

use gpuc_schema::Span;
use gpuc_schema::config::PodSecurityLevel;
use gpuc_syntax::node::Node;

use super::Completeness;
use super::scalar::{ParsedValue, parse_value};

/// Capabilities that `baseline` allows containers to add.
const BASELINE_CAPABILITIES: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The capability that `restricted` allows containers to add.
const RESTRICTED_CAPABILITIES: &[&str] = &["NET_BIND_SERVICE"];

/// The sysctls that `baseline` allows.
const SAFE_SYSCTLS: &[&str] = &[
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

/// The volume types that `restricted` allows.
const RESTRICTED_VOLUME_KINDS: &[&str] = &[
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The name of a level; `None` for `privileged`.
pub fn level_name(level: PodSecurityLevel) -> Option<&'static str> {
    match level {
        PodSecurityLevel::Privileged => None,
        PodSecurityLevel::Baseline => Some("baseline"),
        PodSecurityLevel::Restricted => Some("restricted"),
    }
}

/// The violations of a level by a pod with these containers, as phrases after the pod's name, with their spans. For a
/// partial pod, missing fields are not reported.
pub fn pod_security_violations(
    spec: &Node,
    containers: &[&Node],
    level: PodSecurityLevel,
    extent: Completeness,
) -> Vec<(Option<Span>, String)> {
    let mut pod = PodSecurityCheck {
        violations: Vec::new(),
        is_complete: extent == Completeness::Complete,
    };
    if level != PodSecurityLevel::Privileged {
        pod.check_baseline(spec, containers);
    }
    if level == PodSecurityLevel::Restricted {
        pod.check_restricted(spec, containers);
    }
    pod.violations
}

struct PodSecurityCheck {
    violations: Vec<(Option<Span>, String)>,
    is_complete: bool,
}

impl PodSecurityCheck {
    fn add(&mut self, node: Option<&Node>, violation: impl Into<String>) {
        let span = node.map(Node::span).filter(|span| span.is_written());
        self.violations.push((span, violation.into()));
    }

    /// Reports a required setting that is missing or different.
    fn add_missing(&mut self, written: Option<&Node>, near: Option<&Node>, violation: &str) {
        if written.is_some() || self.is_complete {
            self.add(written.or(near), violation);
        }
    }

    fn check_baseline(&mut self, spec: &Node, containers: &[&Node]) {
        for key in ["hostNetwork", "hostPID", "hostIPC"] {
            if let Some(node) = spec.get(key).filter(|node| is_true(node)) {
                self.add(Some(node), format!("has `{key}`"));
            }
        }
        for volume in spec.get("volumes").map_or(&[][..], Node::items) {
            if let Some(path) = volume.get("hostPath") {
                self.add(Some(path), "has a `hostPath` volume");
            }
        }
        let pod_context = spec.get("securityContext");
        let sysctls = pod_context.and_then(|it| it.get("sysctls"));
        for sysctl in sysctls.map_or(&[][..], Node::items) {
            let name = sysctl.get("name");
            let name = name.and_then(|node| Some((node, node.text()?)));
            if let Some((node, name)) = name.filter(|(_, name)| !SAFE_SYSCTLS.contains(name)) {
                self.add(Some(node), format!("sets the sysctl `{name}`"));
            }
        }
        let contexts = containers.iter().filter_map(|it| it.get("securityContext"));
        for context in pod_context.into_iter().chain(contexts) {
            self.check_security_context(context);
        }
        for container in containers {
            for port in container.get("ports").map_or(&[][..], Node::items) {
                let host = port.get("hostPort");
                if let Some(node) = host.filter(|node| !is_zero(node)) {
                    self.add(Some(node), "uses a `hostPort`");
                }
            }
        }
    }

    /// The `baseline` violations of a security context of a pod or container.
    fn check_security_context(&mut self, context: &Node) {
        let at = |path: &[&str]| path.iter().try_fold(context, |node, key| node.get(key));
        if let Some(node) = at(&["privileged"]).filter(|node| is_true(node)) {
            self.add(Some(node), "has a `privileged` container");
        }
        if let Some(node) = at(&["windowsOptions", "hostProcess"]).filter(|node| is_true(node)) {
            self.add(Some(node), "has a `hostProcess`");
        }
        let is_not = |node: &&Node, allowed: &[&str]| {
            let text = node.text();
            text.is_some_and(|text| !allowed.contains(&text))
        };
        for (path, allowed) in [
            (
                &["appArmorProfile", "type"][..],
                &["RuntimeDefault", "Localhost"][..],
            ),
            (
                &["seccompProfile", "type"],
                &["RuntimeDefault", "Localhost"],
            ),
            (&["procMount"], &["Default"]),
            (
                &["seLinuxOptions", "type"],
                &[
                    "",
                    "container_t",
                    "container_init_t",
                    "container_kvm_t",
                    "container_engine_t",
                ],
            ),
            (&["seLinuxOptions", "user"], &[""]),
            (&["seLinuxOptions", "role"], &[""]),
        ] {
            if let Some(node) = at(path).filter(|node| is_not(node, allowed)) {
                let text = node.text().unwrap_or_default();
                self.add(Some(node), format!("has `{}: {text}`", path.join(".")));
            }
        }
        self.check_added_capabilities(context, BASELINE_CAPABILITIES);
    }

    /// The added capabilities of a container that are not allowed.
    fn check_added_capabilities(&mut self, context: &Node, allowed: &[&str]) {
        let added = context.get("capabilities").and_then(|it| it.get("add"));
        for node in added.map_or(&[][..], Node::items) {
            let name = node.text().unwrap_or_default();
            if !allowed.contains(&name) {
                self.add(Some(node), format!("adds the capability `{name}`"));
            }
        }
    }

    fn check_restricted(&mut self, spec: &Node, containers: &[&Node]) {
        for volume in spec.get("volumes").map_or(&[][..], Node::items) {
            let mut kinds = volume.entries().iter().filter(|it| it.key != "name");
            let other = kinds.find(|it| !RESTRICTED_VOLUME_KINDS.contains(&it.key.as_str()));
            if let Some(kind) = other.filter(|it| it.key != "hostPath") {
                self.add(
                    Some(&kind.value),
                    format!("has a volume of kind `{}`", kind.key),
                );
            }
        }
        let pod_context = spec.get("securityContext");
        let of_pod = |path: &[&str]| {
            let mut path = path.iter();
            path.try_fold(pod_context?, |node, key| node.get(key))
        };
        for container in containers {
            let context = container.get("securityContext");
            let own = |path: &[&str]| {
                let mut path = path.iter();
                path.try_fold(context?, |node, key| node.get(key))
            };
            let either = |path: &[&str]| own(path).or_else(|| of_pod(path));
            let escalates = own(&["allowPrivilegeEscalation"]);
            if escalates.is_none_or(|node| !is_or_may_be(node, ParsedValue::Bool(false))) {
                let violation = "does not set `allowPrivilegeEscalation: false`";
                self.add_missing(escalates, context, violation);
            }
            let root = either(&["runAsNonRoot"]);
            if root.is_none_or(|node| !is_or_may_be(node, ParsedValue::Bool(true))) {
                self.add_missing(root, pod_context, "does not set `runAsNonRoot: true`");
            }
            for user in [own(&["runAsUser"]), of_pod(&["runAsUser"])] {
                if let Some(node) = user.filter(|node| is_zero(node)) {
                    self.add(Some(node), "runs as root");
                }
            }
            if either(&["seccompProfile", "type"]).is_none() {
                let written = own(&["seccompProfile"]);
                self.add_missing(written, pod_context, "has no `seccompProfile`");
            }
            let dropped = own(&["capabilities", "drop"]);
            let mut names = dropped.map_or(&[][..], Node::items).iter();
            if !names.any(|name| name.text() == Some("ALL")) {
                self.add_missing(dropped, context, "does not drop all capabilities");
            }
            if let Some(context) = context {
                self.check_added_capabilities(context, RESTRICTED_CAPABILITIES);
            }
        }
    }
}

fn is_true(node: &Node) -> bool {
    parse_value(node) == ParsedValue::Bool(true)
}

/// Whether a condition holds, or can hold after values are filled in.
fn is_or_may_be(node: &Node, expected: ParsedValue<'_>) -> bool {
    [expected, ParsedValue::Templated].contains(&parse_value(node))
}

fn is_zero(node: &Node) -> bool {
    parse_value(node) == ParsedValue::Integer(0)
}
