//! Metrics that are made anew for each scrape: a name, and a number for every set of labels.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

/// Names and values of labels, in the order in which they are written.
pub(super) type Labels = Vec<(&'static str, String)>;

/// A metric with all its series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: Kind,
    pub(super) series: Vec<(Labels, Number)>,
}

/// What a number may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anything.
    Gauge,
    /// Grow. Its name does not end in `_total`, as OpenMetrics wants of counters, since DCGM named it; there it is of
    /// an unknown type, and in Prometheus' own format a counter as from dcgm-exporter.
    DcgmCounter,
}

/// A number. Whole ones are written without an exponent, however large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Whole(u64),
    Real(f64),
}

/// What a registry asks at a scrape.
#[derive(Debug)]
pub(super) struct Families(pub(super) Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in self.0.iter().filter(|family| !family.series.is_empty()) {
            let kind = match family.kind {
                Kind::Gauge => MetricType::Gauge,
                Kind::DcgmCounter => MetricType::Unknown,
            };
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            for (labels, number) in &family.series {
                let mut series = metric.encode_family(labels)?;
                match number {
                    Number::Whole(number) => series.encode_gauge(number)?,
                    Number::Real(number) => series.encode_gauge(number)?,
                }
            }
        }
        Ok(())
    }
}
