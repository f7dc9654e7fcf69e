//! Named ports of probes.

use gpuc_syntax::diag::words::nearest;
use gpuc_syntax::node::Node;

use super::scalar::{items, text};
use super::{Refused, Step, words};

/// The fields in which a container refers to its own ports by name.
const PORT_FIELDS: &[&[&str]] = &[
    &["livenessProbe", "httpGet"],
    &["livenessProbe", "tcpSocket"],
    &["readinessProbe", "httpGet"],
    &["readinessProbe", "tcpSocket"],
    &["startupProbe", "httpGet"],
    &["startupProbe", "tcpSocket"],
    &["lifecycle", "postStart", "httpGet"],
    &["lifecycle", "preStop", "httpGet"],
];

/// Reports probes with a port name that their container does not have. The API server accepts them, but the kubelet
/// cannot run the probe.
///
/// Source: kubernetes `pkg/probe/util.go`, `ResolveContainerPort`, and `pkg/kubelet/prober/worker.go`, `doProbe` (from
/// memory).
pub fn lost_ports(spec: &Node) -> Vec<Refused> {
    let lists = ["containers", "initContainers"].into_iter();
    let containers = lists.flat_map(|list| items(spec, list).map(move |it| (list, it)));
    let found = containers.flat_map(|(list, (index, container))| {
        PORT_FIELDS.iter().filter_map(move |field| {
            let mut path = vec![Step::from(list), Step::from(index)];
            path.extend(field.iter().map(|key| Step::from(*key)));
            path.push(Step::from("port"));
            let mut keys = field.iter();
            let action = keys.try_fold(container, |node, key| node.get(key))?;
            lost(container, text(action, "port")?, path)
        })
    });
    found.collect()
}

fn lost(container: &Node, port: &str, path: Vec<Step>) -> Option<Refused> {
    let names = items(container, "ports").map(|(_, it)| it.get("name").map(|_| text(it, "name")));
    // A name that is filled in later can be this one.
    let names: Vec<_> = names.flatten().collect::<Option<_>>()?;
    // Invalid names are reported separately.
    let is_name = port.bytes().any(|byte| byte.is_ascii_lowercase());
    if names.contains(&port) || !is_name {
        return None;
    }
    let near = nearest(port, names.iter().copied());
    Some(Refused {
        message: format!(
            "`{}` is `{port}`, but the container has no port with this name",
            words(&path)
        ),
        of_key: false,
        path,
        help: match near {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write its number, or add a port `{port}` to the container's `ports`"),
        },
        meant: near.map(str::to_owned),
        unknown_to: None,
        rule_of: None,
    })
}
