//! The limits of teams, which are enforced whatever the guard does with pods that cannot run.

use super::api_server::{AdmissionResult, Namespace};
use super::{GPU_TOLERATION, POOLS, pod, pod_requesting, server_for_pools};

#[test]
fn container_over_the_limit_of_its_team_is_rejected() {
    for guard in ["warn", "enforce"] {
        assert_limits(guard);
    }
}

fn assert_limits(guard: &str) {
    let server = server_for_pools(&format!(
        "{POOLS}\nadmission: {{guard: {guard}}}\n\
         teams: [{{name: research, limits: {{gpusPerContainer: 2}}}}, {{name: vision}}]"
    ));
    let research: Namespace<'_> = ("a", &[("gpuc.dev/team", "research")]);
    let vision: Namespace<'_> = ("b", &[("gpuc.dev/team", "vision")]);
    let three = pod_requesting("nvidia.com/gpu: '3'", GPU_TOLERATION);
    let expected = "a container of team research may request at most 2 nvidia.com/gpu";
    let results = server.admit_create(&three, research);
    assert!(
        matches!(&results[..], [AdmissionResult::Denied(message)] if message.contains(expected)),
        "{results:?}"
    );
    assert_eq!(server.admit_create(&three, vision), []);
    // Each container counts separately, including init containers.
    let limits = |count: u32| format!("resources: {{limits: {{nvidia.com/gpu: '{count}'}}}}");
    let pods = |main: u32, init: u32| {
        let (main, init) = (limits(main), limits(init));
        pod(&format!(
            "{{containers: [{{name: a, {main}}}, {{name: b, {main}}}], initContainers: [{{name: c, {init}}}], {GPU_TOLERATION}}}"
        ))
    };
    assert_eq!(server.admit_create(&pods(2, 2), research), []);
    assert!(matches!(
        server.admit_create(&pods(2, 3), research)[..],
        [AdmissionResult::Denied(_)]
    ));
    assert_eq!(
        server.admit_create(&pod_requesting("cpu: '3'", ""), research),
        []
    );
}
