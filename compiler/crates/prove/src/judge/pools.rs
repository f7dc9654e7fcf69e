//! Tests of the expectation of pools.

use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_model::Registry;
use gpuc_model::fabric::{Fabric, NoFabric};
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::{Levels, Report};
use gpuc_syntax::load::{self, MemoryFiles};
use gpuc_syntax::source::Sources;

use super::{Expectation, FloorOrigin};

static REGISTRY: Registry = Registry {
    clouds: gpuc_clouds::CLOUDS,
    rules: gpuc_checks::RULES,
    codes: || REGISTRY.codes_of_rules(),
};

const EKS: &str = include_str!("../../../../../examples/eks-training-job/gpu-cluster.yaml");
const GKE: &str = include_str!("../../../../../examples/gke-training-a3/gpu-cluster.yaml");
const ON_PREM: &str = include_str!("../../../../../examples/on-prem-infiniband/gpu-cluster.yaml");
const L4: &str = include_str!("../../../../../examples/gke-inference-l4/gpu-cluster.yaml");

fn compiled(text: &str) -> Compilation {
    let world = MemoryFiles::with_file("gpu-cluster.yaml", text);
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(&world, &["gpu-cluster.yaml"], &mut sources, &mut report);
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    compile(loaded.into_iter().next().unwrap(), &options)
}

/// The expectation of the pool with GPUs of a configuration.
fn expect(text: &str, nodes: u32) -> Result<Expectation, NoFabric> {
    let compilation = compiled(text);
    let cluster = compilation.cluster.unwrap();
    let (pool, _) = cluster.gpu_pools().next().unwrap();
    Expectation::for_pool(&cluster, pool, nodes, None)
}

fn floor(expected: &Expectation) -> Option<(f64, u64)> {
    let floor = expected.floor.as_ref()?;
    assert!(matches!(floor.origin, FloorOrigin::Facts(_)));
    Some((floor.gigabytes_per_second, floor.min_bytes >> 30))
}

#[test]
fn efa_has_the_floor_of_its_machine_and_number_of_nodes() {
    let two = expect(EKS, 2).unwrap();
    assert_eq!(
        (two.fabric, two.gpus_per_node, floor(&two)),
        (Fabric::Efa, 8, Some((300.0, 4)))
    );
    // Figures are not scaled to other numbers of nodes.
    let four = expect(EKS, 4).unwrap();
    assert_eq!((four.fabric, floor(&four)), (Fabric::Efa, None));
    let smaller = EKS.replace("p5.48xlarge", "p4d.24xlarge");
    let smaller = expect(&smaller, 2).unwrap();
    assert_eq!((smaller.fabric, floor(&smaller)), (Fabric::Efa, None));
}

#[test]
fn gpudirect_depends_on_the_machine() {
    let mega = expect(GKE, 2).unwrap();
    assert_eq!(
        (mega.fabric, floor(&mega)),
        (Fabric::TcpXo, Some((300.0, 8)))
    );
    let kept = |line: &&str| {
        !["gpu-4", "gpu-5", "gpu-6", "gpu-7"]
            .iter()
            .any(|it| line.contains(it))
    };
    let high: Vec<&str> = GKE.lines().filter(kept).collect();
    let high = expect(
        &high.join("\n").replace("a3-megagpu-8g", "a3-highgpu-8g"),
        2,
    )
    .unwrap();
    assert_eq!((high.fabric, floor(&high)), (Fabric::TcpX, None));
    assert!(high.measured_elsewhere.unwrap().contains("all_gather"));
}

#[test]
fn rdma_is_named_in_the_file() {
    let infiniband = expect(ON_PREM, 2).unwrap();
    assert_eq!(
        (infiniband.fabric, floor(&infiniband)),
        (Fabric::InfiniBand, None)
    );
    let roce = expect(&ON_PREM.replace("infiniband: {", "roce: {"), 2).unwrap();
    assert_eq!(roce.fabric, Fabric::Roce);
}

#[test]
fn imex_channels_precede_the_network() {
    let text = ON_PREM
        .replace("h100-sxm5-80gb, perNode: 8", "gb200-186gb, perNode: 4")
        .replace("stack: {", "stack: {extras: [imex], ");
    let expected = expect(&text, 2).unwrap();
    assert_eq!((expected.fabric, expected.ranks()), (Fabric::Mnnvl, 8));
    let without = text.replace("extras: [imex], ", "");
    assert_eq!(expect(&without, 2).unwrap().fabric, Fabric::InfiniBand);
}

#[test]
fn one_node_with_sxm_modules_has_nvlink() {
    let expected = expect(ON_PREM, 1).unwrap();
    assert_eq!(
        (expected.fabric, floor(&expected)),
        (Fabric::NvLink, Some((150.0, 1)))
    );
    assert_eq!(expected.subject(), "NVLink between 8 GPUs of a node");
    let half = expect(&ON_PREM.replace("perNode: 8", "perNode: 4"), 1).unwrap();
    assert_eq!((half.fabric, floor(&half)), (Fabric::NvLink, None));
}

#[test]
fn a_pool_without_a_fabric_says_why() {
    let plain = expect(&ON_PREM.replace("network:", "# network:"), 2).unwrap_err();
    assert_eq!(
        plain.reason,
        "the nodes of pool `dgx` are connected by the plain network only"
    );
    assert!(plain.help.contains("--nodes 1"), "{plain:?}");
    let pcie = expect(L4, 2).unwrap_err();
    assert!(!pcie.help.contains("--nodes 1"), "{pcie:?}");
    assert!(expect(L4, 1).is_err());
}

#[test]
fn the_floor_of_a_user_replaces_that_of_the_facts() {
    let cluster = compiled(EKS).cluster.unwrap();
    let pool = cluster.pool("train").unwrap();
    let expected = Expectation::for_pool(&cluster, pool, 2, Some(400.0)).unwrap();
    assert!(matches!(expected.floor.unwrap().origin, FloorOrigin::User));
    let system = cluster.pool("system").unwrap();
    let error = Expectation::for_pool(&cluster, system, 2, None).unwrap_err();
    assert_eq!(error.reason, "the nodes of pool `system` have no GPUs");
}
