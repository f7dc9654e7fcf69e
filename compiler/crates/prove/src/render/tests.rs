//! Tests of the output.

use gpuc_model::fabric::Fabric;
use serde_json::Value;

use super::{json, text};
use crate::testing::{good_log, judge_log};

#[test]
fn the_verdict_is_first_and_values_are_last() {
    let judgement = judge_log(Fabric::Efa, &good_log(Fabric::Efa));
    assert_eq!(
        text(&judgement),
        "\
proven: EFA between 2 nodes with 4 GPUs each

measured:
  NCCL                             2.27.7+cuda12.8
  ranks                            8 ranks on 2 hosts
  network                          AWS Libfabric (8 ranks)
  network interfaces of a node     32
  connections with GPUDirect RDMA  2 of 2
  bus bandwidth                    486.90 GB/s, all_reduce, 8 GiB
  floor                            300 GB/s, set by the user

proven
"
    );
}

#[test]
fn reasons_have_evidence_and_help() {
    let log = good_log(Fabric::Efa)
        .replace(
            "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
            "NET/OFI No eligible providers were found",
        )
        .replace("AWS Libfabric", "Socket");
    let judgement = judge_log(Fabric::Efa, &log);
    let text = text(&judgement);
    assert!(
        text.starts_with("not proven: EFA between 2 nodes"),
        "{text}"
    );
    for part in [
        "\nerror[tcp-fallback]: NCCL uses TCP (`Socket`) instead of EFA\n  --> line 26\n  = fabric-0:100:200 \
[0] NCCL INFO Using network Socket\nhelp: request `vpc.amazonaws.com/efa`",
        "\ncause[efa-provider-missing]: the EFA plugin found no EFA device in the container\n  --> line 4\n",
        "\nnot proven: 1 reason\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn json_has_the_same_content() {
    let judgement = judge_log(Fabric::Roce, &good_log(Fabric::Efa));
    let value: Value = serde_json::from_str(&json(&judgement)).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["verdict"], "notProven");
    assert_eq!(value["subject"], "RoCE between 2 nodes with 4 GPUs each");
    let first = &value["reasons"][0];
    assert_eq!(first["id"], "wrong-network");
    assert!(first["evidence"]["line"].is_u64());
    assert!(first["help"].as_str().unwrap().contains("IPC_LOCK"));
    assert_eq!(
        value["reasons"].as_array().unwrap().len(),
        judgement.reasons.len()
    );
    let proven = json(&judge_log(Fabric::Efa, &good_log(Fabric::Efa)));
    assert!(proven.contains("\"verdict\": \"proven\""));
}
