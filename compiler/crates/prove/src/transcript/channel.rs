//! Connections between ranks: `Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/1/GDRDMA`.

/// The transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport<'t> {
    /// A network.
    Net {
        /// Its name.
        network: &'t str,
        /// Whether the network device accesses the memory of the GPU.
        is_direct: bool,
    },
    /// NVLink or PCIe, with the method.
    P2p(&'t str),
    /// NVLink to a GPU of another node.
    Mnnvl,
    /// The memory of the host.
    Shm,
}

/// The transport of a connection, if the message is one.
pub(super) fn transport(message: &str) -> Option<Transport<'_>> {
    // Before NCCL 2.6, connections were called rings.
    let is_channel = message.starts_with("Channel ") || message.starts_with("Ring ");
    let (peers, transport) = message.split_once(" via ")?;
    if !is_channel || !peers.contains("->") {
        return None;
    }
    if let Some(net) = transport.strip_prefix("NET/") {
        let (network, rest) = split_device(net)?;
        return Some(Transport::Net {
            network,
            is_direct: rest.contains("/GDRDMA"),
        });
    }
    if let Some(method) = transport.strip_prefix("P2P/") {
        let method = method.split('/').next().unwrap_or_default();
        let method = method.split(" comm ").next().unwrap_or_default().trim();
        return match method {
            "" => None,
            "MNNVL" => Some(Transport::Mnnvl),
            method => Some(Transport::P2p(method)),
        };
    }
    transport.starts_with("SHM").then_some(Transport::Shm)
}

/// The name of a network, and the rest after the number of its device.
fn split_device(net: &str) -> Option<(&str, &str)> {
    let is_device = |rest: &str| rest.starts_with(|it: char| it.is_ascii_digit());
    let slash = net
        .match_indices('/')
        .find(|(at, _)| is_device(&net[at + 1..]))?
        .0;
    (slash > 0).then(|| (&net[..slash], &net[slash + 1..]))
}

#[cfg(test)]
mod tests {
    use super::{Transport, transport};

    #[test]
    fn all_transports_are_read() {
        let net = |network, is_direct| Some(Transport::Net { network, is_direct });
        for (text, expected) in [
            (
                "[receive] via NET/AWS Libfabric/1/GDRDMA",
                net("AWS Libfabric", true),
            ),
            ("[send] via NET/IB/0(3)/GDRDMA(PCI)/Shared", net("IB", true)),
            (
                "[send] via NET/NCCL RDMA Plugin v10/0",
                net("NCCL RDMA Plugin v10", false),
            ),
            ("[send] via NET/Socket/0/Shared", net("Socket", false)),
            ("via P2P/CUMEM/read", Some(Transport::P2p("CUMEM"))),
            (
                "via P2P/direct pointer comm 0x1 nRanks 08",
                Some(Transport::P2p("direct pointer")),
            ),
            ("via P2P/MNNVL", Some(Transport::Mnnvl)),
            ("via SHM/direct/direct", Some(Transport::Shm)),
            ("via NET/IB", None),
            ("via NET//0", None),
            ("via P2P/", None),
        ] {
            let message = format!("Channel 00/0 : 8[0] -> 0[0] {text}");
            assert_eq!(transport(&message), expected, "{text}");
        }
        assert_eq!(transport("Connected via P2P/CUMEM"), None);
    }
}
