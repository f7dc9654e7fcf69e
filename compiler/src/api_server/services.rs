//! The ports of a Service.

use std::collections::BTreeSet;

use super::Here;
use super::place::Step;
use super::read::{items, text, whole};

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateService` and `validateServicePort`.
pub(super) fn look(here: &mut Here<'_, '_>) {
    if here.name != "ServiceSpec" {
        return;
    }
    let many = items(here.node, "ports").count() > 1;
    let (mut names, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in items(here.node, "ports") {
        let below = |key: &str| [Step::from("ports"), Step::from(index), Step::from(key)];
        match text(port, "name") {
            Some(name) if !names.insert(name) => here.refuse(
                below("name"),
                |path| format!("`{path}` is `{name}`, which is there already"),
                "write another name",
            ),
            None if many && port.get("name").is_none() => here.refuse(
                [Step::from("ports"), Step::from(index)],
                |path| {
                    format!("`{path}` has no `name`, and a Service with several ports needs them")
                },
                "write a `name` for each port",
            ),
            _ => {}
        }
        let protocol = text(port, "protocol").unwrap_or("TCP");
        if let Some(number) = whole(port, "port")
            && !ports.insert((protocol, number))
        {
            here.refuse(
                below("port"),
                |path| format!("`{path}` is {number}, which is there already"),
                "remove one of the two, or write another port",
            );
        }
    }
}
