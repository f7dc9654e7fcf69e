//! Ports that probes name.

use super::read::{items, text};
use super::{Refused, Step, words};
use crate::diag::words::nearest;
use crate::node::Node;

/// Where a container asks a port of its own by a name.
const ASKED: &[&[&str]] = &[
    &["livenessProbe", "httpGet"],
    &["livenessProbe", "tcpSocket"],
    &["readinessProbe", "httpGet"],
    &["readinessProbe", "tcpSocket"],
    &["startupProbe", "httpGet"],
    &["startupProbe", "tcpSocket"],
    &["lifecycle", "postStart", "httpGet"],
    &["lifecycle", "preStop", "httpGet"],
];

/// The ports of the containers of a pod that are asked by a name that their container has not. The API server takes
/// them: the kubelet finds no port, and the answer never comes.
///
/// Source: kubernetes `pkg/probe/util.go`, `ResolveContainerPort`, and `pkg/kubelet/prober/worker.go`, `doProbe` (from
/// memory).
pub fn lost_ports(spec: &Node) -> Vec<Refused> {
    let lists = ["containers", "initContainers"].into_iter();
    let containers = lists.flat_map(|list| items(spec, list).map(move |it| (list, it)));
    let found = containers.flat_map(|(list, (index, container))| {
        ASKED.iter().filter_map(move |asked| {
            let mut path = vec![Step::from(list), Step::from(index)];
            path.extend(asked.iter().map(|key| Step::from(*key)));
            path.push(Step::from("port"));
            let mut keys = asked.iter();
            let action = keys.try_fold(container, |node, key| node.get(key))?;
            lost(container, text(action, "port")?, path)
        })
    });
    found.collect()
}

fn lost(container: &Node, port: &str, path: Vec<Step>) -> Option<Refused> {
    let names = items(container, "ports").map(|(_, it)| it.get("name").map(|_| text(it, "name")));
    // A name that a program fills in may be this one.
    let names: Vec<_> = names.flatten().collect::<Option<_>>()?;
    // What is no name at all is refused.
    let is_name = port.bytes().any(|byte| byte.is_ascii_lowercase());
    if names.contains(&port) || !is_name {
        return None;
    }
    let near = nearest(port, names.iter().copied());
    Some(Refused {
        message: format!(
            "`{}` is `{port}`, and the container has no port of this name",
            words(&path)
        ),
        of_key: false,
        path,
        help: match near {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write its number, or a port `{port}` into the container's `ports`"),
        },
        meant: near.map(str::to_owned),
        unknown_to: None,
        rule_of: None,
    })
}
