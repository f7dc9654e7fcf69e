//! What to do about an Xid, the error code of NVIDIA's driver.

/// What to do about an Xid.
///
/// Source: gpuc `runtime/src/health/xid.rs`, from NVIDIA's catalog of Xids,
/// <https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html>, 2026-11-28.
pub(super) fn xid_help(xid: u32) -> &'static str {
    match xid {
        13 | 31 | 43 | 45 | 68 | 94 | 109 => {
            "restart the application; its Xid concerns no other application"
        }
        63 => "drain the node and reset the GPU, so that it remaps the memory row",
        74 | 136 | 144..=150 | 155 => {
            "drain the node and reset its GPUs; replace the machine if the NVLink fails again"
        }
        79 => "drain and reboot the node, or replace it: the GPU is no longer on the bus",
        46 | 48 | 54 | 62 | 64 | 95 | 110 | 119 | 120 | 140 | 143 | 151 | 156 | 158 | 167 | 171
        | 172 => "drain the node and reset the GPU; replace the machine if the Xid comes again",
        _ => "look up the Xid in NVIDIA's catalog, and drain the node if it requires a reset",
    }
}

/// What to do about errors of memory and `NVLink` that EKS reports without an Xid.
///
/// Source: aws/eks-node-monitoring-agent `pkg/reasons` (`NvidiaDoubleBitError`, `NvidiaNVLinkError`) and pull request
/// 246 (`NvidiaRowRemapPending`, `NvidiaRowRemapFailure`), 2026-11-28.
pub(super) fn reason_help(reason: &str) -> Option<&'static str> {
    match reason {
        "NvidiaDoubleBitError" => Some(xid_help(48)),
        "NvidiaNVLinkError" => Some(xid_help(74)),
        "NvidiaRowRemapPending" => Some(xid_help(63)),
        it if it.starts_with("NvidiaRowRemap") => {
            Some("replace the machine: a GPU has no spare rows of memory left")
        }
        _ => None,
    }
}

/// The Xid in a text, after one of these words: `Xid=79`, `XID79`, `ErrorCode:79`, `"79"`.
pub(super) fn find_xid(text: &str, words: &[&str]) -> Option<u32> {
    words.iter().find_map(|word| {
        let (_, rest) = text.split_once(word)?;
        let rest = rest.trim_start_matches([' ', '=', ':']);
        let end = rest
            .find(|it: char| !it.is_ascii_digit())
            .unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xids_are_read_from_the_texts_of_clouds() {
        assert_eq!(find_xid("NvidiaXID79Error", &["NvidiaXID"]), Some(79));
        assert_eq!(find_xid(r#"{"79":true}"#, &["{\""]), Some(79));
        assert_eq!(
            find_xid("ErrorCode:119 PCI:0000", &["ErrorCode"]),
            Some(119)
        );
        assert_eq!(find_xid("ErrorCode", &["ErrorCode"]), None);
        assert_eq!(find_xid("Xid=99999999999999", &["Xid"]), None);
    }
}
