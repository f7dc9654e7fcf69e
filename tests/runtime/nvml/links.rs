//! The connections between GPUs.

use gpuc_runtime::nvml::{CommonAncestor, Link, Nvml};

use super::H100;
use crate::fake_driver::FakeDriver;

#[test]
fn direct_links_are_counted() {
    let mut driver = FakeDriver::new(
        "gpus = 3
        level = 40
        level.0.1 = 10
        gpu.0.links = 1 1 2 off
        gpu.1.links = 0 0 off off
        gpu.2.links = off",
    );
    let real = driver.open().unwrap();
    let link = |meet, nvlinks| Ok(Link { meet, nvlinks });
    for (one, other) in [(0, 1), (1, 0)] {
        assert_eq!(real.link(one, other), link(CommonAncestor::Switch, 2));
    }
    // GPU 2 does not see the link that GPU 0 sees.
    for (one, other) in [(0, 2), (2, 0)] {
        assert_eq!(real.link(one, other), link(CommonAncestor::Processor, 1));
    }
    assert_eq!(real.link(1, 2), link(CommonAncestor::Processor, 0));
    driver.set("gpu.0.links", "1 off off off");
    driver.set("gpu.1.links", "0 off off off");
    assert!(real.gpu(0).is_ok() && real.gpu(1).is_ok());
    assert_eq!(
        real.link(0, 1),
        link(CommonAncestor::Switch, 1),
        "links are read again when the GPU is"
    );
}

#[test]
fn links_through_switches_count() {
    let switches = "switch ".repeat(18);
    let mut driver = FakeDriver::new(&format!("{H100}level = 50\ngpu.links = {switches}"));
    driver.set("gpu.6.links", &"switch ".repeat(12));
    let real = driver.open().unwrap();
    let nvlinks = |one, other| real.link(one, other).unwrap().nvlinks;
    assert_eq!(nvlinks(0, 7), 18);
    assert_eq!(nvlinks(6, 0), 12);
    assert_eq!(real.link(0, 1).unwrap().meet, CommonAncestor::System);
}

#[test]
fn gpus_without_nvlink_have_a_common_ancestor() {
    for (level, meet) in [
        ("0", CommonAncestor::Board),
        ("10", CommonAncestor::Switch),
        ("20", CommonAncestor::Switches),
        ("30", CommonAncestor::HostBridge),
        ("40", CommonAncestor::Processor),
        ("50", CommonAncestor::System),
    ] {
        let driver = FakeDriver::new(&format!("gpus = 2\ngpu.model = l4-24gb\nlevel = {level}"));
        let real = driver.open().unwrap();
        assert_eq!(real.link(0, 1), Ok(Link { meet, nvlinks: 0 }));
    }
}

/// Sixteen GPUs have 120 pairs, so that calls for each pair and link would be thousands.
#[test]
fn links_are_read_once_per_gpu() {
    let switches = "switch ".repeat(18);
    let driver = FakeDriver::new(&format!("gpus = 16\ngpu.links = {switches}"));
    let real = driver.open().unwrap();
    for one in 0..16 {
        for other in one + 1..16 {
            assert_eq!(real.link(one, other).unwrap().nvlinks, 18);
        }
    }
    assert_eq!(driver.calls("nvmlDeviceGetNvLinkState"), 16 * 18);
}
