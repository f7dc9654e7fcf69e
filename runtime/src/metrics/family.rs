//! Metrics that are computed at each scrape: a name, and a value for every set of labels.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

/// Names and values of labels, in output order.
pub(super) type Labels = Vec<(&'static str, String)>;

/// A metric with all its series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: MetricKind,
    pub(super) series: Vec<(Labels, Number)>,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// A gauge.
    Gauge,
    /// A counter whose name does not end in `_total`, as OpenMetrics requires, because DCGM named it. In OpenMetrics it
    /// has the type unknown, and in Prometheus' own format it is a counter, as with dcgm-exporter.
    DcgmCounter,
}

/// A value. Integers are written without an exponent, however large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(u64),
    Float(f64),
}

/// The collector that a registry calls at a scrape.
#[derive(Debug)]
pub(super) struct Families(pub(super) Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in self.0.iter().filter(|family| !family.series.is_empty()) {
            let kind = match family.kind {
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::DcgmCounter => MetricType::Unknown,
            };
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            for (labels, number) in &family.series {
                let mut series = metric.encode_family(labels)?;
                match number {
                    Number::Integer(number) => series.encode_gauge(number)?,
                    Number::Float(number) => series.encode_gauge(number)?,
                }
            }
        }
        Ok(())
    }
}
