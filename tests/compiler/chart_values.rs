//! The pinned charts read every Helm value that gpuc writes, with the expected type.

use gpuc_compile::charts::CHARTS;
use gpuc_compile::charts::keys::{Keys, unknown_keys};
use gpuc_syntax::node::Node;
use serde_json::json;

use crate::corpus::cases;

#[test]
fn charts_read_every_value() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for case in cases() {
        for release in &case.plan().releases {
            seen += 1;
            let keys = Keys::for_chart(release.chart.name).unwrap();
            for misfit in unknown_keys(keys, &release.values) {
                wrong.push(format!(
                    "{}: {}: {}",
                    case.name,
                    release.name,
                    misfit.message()
                ));
            }
        }
    }
    assert!(seen > 3, "only {seen} releases were checked");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mistake = Node::from_json(json!({"config": {"default2": "a"}, "tolerations": "a"}));
    let found = unknown_keys(Keys::for_chart("nvidia-device-plugin").unwrap(), &mistake);
    assert_eq!(found.len(), 2);
}

#[test]
fn charts_have_the_list_of_their_version() {
    for chart in CHARTS {
        let keys = Keys::for_chart(chart.name)
            .unwrap_or_else(|| panic!("no list of keys for {}", chart.name));
        assert_eq!(keys.version, chart.version, "{}", chart.name);
    }
}
