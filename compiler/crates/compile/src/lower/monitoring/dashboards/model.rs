//! Typed subset of Grafana's classic dashboard model, with automatic layout.
//!
//! Source: <https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/>, read
//! 2026-11-21: the model is the default before Grafana 13, and later versions still read it. The options of panels are
//! general knowledge.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::expression::Expression;

/// The version of the model: Grafana 12.0's (general knowledge). Later ones migrate it when they read it.
const SCHEMA_VERSION: u32 = 41;

/// The number of columns of a dashboard.
const COLUMNS: u32 = 24;

/// A dashboard.
pub(super) struct Dashboard {
    /// The target of links; stable across releases.
    pub(super) uid: &'static str,
    /// The title.
    pub(super) title: &'static str,
    /// The description.
    pub(super) description: &'static str,
    /// The variables to select at the top, in addition to the data source.
    pub(super) variables: Vec<Variable>,
    /// The rows of panels.
    pub(super) rows: Vec<Row>,
}

/// A selectable variable of a dashboard.
pub(super) struct Variable {
    /// The name, which is also its label in the dashboard.
    pub(super) name: &'static str,
    /// The Prometheus label whose values can be selected.
    pub(super) label: &'static str,
    /// The series that have the label.
    pub(super) series: Expression,
    /// Whether several values, or all, can be selected.
    pub(super) is_multi_select: bool,
}

/// A row of panels under a title.
pub(super) struct Row {
    /// The title.
    pub(super) title: &'static str,
    /// The height of the panels, in units of 30 pixels.
    pub(super) height: u32,
    /// The panels, which share the width evenly.
    pub(super) panels: Vec<Panel>,
}

/// A panel.
pub(super) struct Panel {
    /// The visualization.
    pub(super) kind: PanelKind,
    /// The title.
    pub(super) title: &'static str,
    /// The description.
    pub(super) description: &'static str,
    /// The unit of the values.
    pub(super) unit: Unit,
    /// The queries.
    pub(super) targets: Vec<Target>,
}

/// The visualization of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PanelKind {
    /// Lines over time.
    TimeSeries,
    /// One number.
    Stat,
    /// A number on a dial.
    Gauge,
    /// Numbers as bars.
    BarGauge,
    /// Numbers in rows.
    Table,
    /// States over time.
    StateTimeline,
}

/// A unit that Grafana has an id for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A count.
    Count,
    /// A fraction of 1, shown in percent.
    Ratio,
    /// Degrees Celsius.
    Celsius,
    /// Watts.
    Watt,
    /// Watt-hours.
    WattHours,
    /// Bytes.
    Bytes,
    /// Hertz.
    Hertz,
}

/// A query.
pub(super) struct Target {
    /// The expression.
    pub(super) expression: Expression,
    /// The legend of its series: `{{node}}`.
    pub(super) legend: &'static str,
}

impl Unit {
    fn id(self) -> &'static str {
        match self {
            Self::Count => "short",
            Self::Ratio => "percentunit",
            Self::Celsius => "celsius",
            Self::Watt => "watt",
            Self::WattHours => "watth",
            Self::Bytes => "bytes",
            Self::Hertz => "hertz",
        }
    }
}

impl PanelKind {
    fn id(self) -> &'static str {
        match self {
            Self::TimeSeries => "timeseries",
            Self::Stat => "stat",
            Self::Gauge => "gauge",
            Self::BarGauge => "bargauge",
            Self::Table => "table",
            Self::StateTimeline => "state-timeline",
        }
    }

    /// Whether it only shows the latest values.
    fn is_instant(self) -> bool {
        !matches!(self, Self::TimeSeries | Self::StateTimeline)
    }

    fn options(self) -> Value {
        let last = json!({"calcs": ["lastNotNull"], "fields": "", "values": false});
        match self {
            Self::TimeSeries => json!({
                "legend": {"calcs": ["mean", "max"], "displayMode": "table", "placement": "bottom", "showLegend": true},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }),
            Self::Stat => json!({
                "colorMode": "none", "graphMode": "area", "justifyMode": "auto", "orientation": "auto",
                "reduceOptions": last, "textMode": "auto", "wideLayout": true,
            }),
            Self::Gauge => json!({
                "orientation": "auto", "reduceOptions": last,
                "showThresholdLabels": false, "showThresholdMarkers": true,
            }),
            Self::BarGauge => json!({
                "displayMode": "basic", "orientation": "horizontal", "reduceOptions": last,
                "showUnfilled": true, "valueMode": "color",
            }),
            Self::Table => json!({"cellHeight": "sm", "showHeader": true}),
            Self::StateTimeline => json!({
                "alignValue": "left", "legend": {"displayMode": "list", "placement": "bottom", "showLegend": true},
                "mergeValues": true, "rowHeight": 0.9, "showValue": "auto", "tooltip": {"mode": "single", "sort": "none"},
            }),
        }
    }
}

impl Dashboard {
    /// The dashboard in Grafana's JSON model.
    pub(super) fn to_json(&self) -> Value {
        let datasource = json!({
            "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
            "hide": 0, "includeAll": false, "multi": false, "refresh": 1, "regex": "", "options": [], "current": {},
        });
        let variables = self.variables.iter().map(Variable::to_json);
        let variables: Vec<_> = std::iter::once(datasource).chain(variables).collect();
        json!({
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "tags": ["gpuc", "gpu"],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": true,
            "graphTooltip": 1,
            "fiscalYearStartMonth": 0,
            "timezone": "browser",
            "time": {"from": "now-6h", "to": "now"},
            "refresh": "1m",
            "annotations": {"list": []},
            "links": [{
                "type": "dashboards", "title": "GPUs", "tags": ["gpuc"], "asDropdown": true,
                "includeVars": true, "keepTime": true, "targetBlank": false, "icon": "external link", "tooltip": "", "url": "",
            }],
            "templating": {"list": variables},
            "panels": self.panels(),
        })
    }

    /// The names of the series that it queries.
    pub(super) fn queried_series(&self) -> BTreeSet<&'static str> {
        let panels = self.rows.iter().flat_map(|row| &row.panels);
        let targets = panels.flat_map(|panel| &panel.targets);
        let expressions = targets.map(|target| &target.expression);
        let variables = self.variables.iter().map(|variable| &variable.series);
        expressions
            .chain(variables)
            .flat_map(|it| it.queried_series.clone())
            .collect()
    }

    fn panels(&self) -> Vec<Value> {
        let (mut panels, mut id, mut y) = (Vec::new(), 0, 0);
        for row in &self.rows {
            id += 1;
            panels.push(json!({
                "id": id, "type": "row", "title": row.title, "collapsed": false, "panels": [],
                "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": y},
            }));
            y += 1;
            let count = u32::try_from(row.panels.len()).unwrap_or(COLUMNS);
            let width = COLUMNS / count.max(1);
            for (panel, column) in row.panels.iter().zip(0..) {
                id += 1;
                let grid_position =
                    json!({"h": row.height, "w": width, "x": column * width, "y": y});
                panels.push(panel.to_json(id, &grid_position));
            }
            y += row.height;
        }
        panels
    }
}

impl Variable {
    fn to_json(&self) -> Value {
        let query = format!("label_values({}, {})", self.series.text, self.label);
        json!({
            "name": self.name, "label": self.name, "type": "query", "datasource": data_source(),
            "query": {"query": query, "refId": "StandardVariableQuery"}, "definition": query,
            "hide": 0, "includeAll": self.is_multi_select, "multi": self.is_multi_select, "refresh": 2, "regex": "", "sort": 1,
            "options": [], "current": {},
        })
    }
}

impl Panel {
    fn to_json(&self, id: u32, grid_position: &Value) -> Value {
        let targets = self.targets.iter().zip('A'..);
        let targets: Vec<_> = targets
            .map(|(target, name)| {
                let instant = self.kind.is_instant();
                let format = match self.kind {
                    PanelKind::Table => "table",
                    _ => "time_series",
                };
                json!({
                    "refId": name.to_string(), "datasource": data_source(), "editorMode": "code", "format": format,
                    "expr": target.expression.text, "legendFormat": target.legend,
                    "instant": instant, "range": !instant,
                })
            })
            .collect();
        let mut panel = json!({
            "id": id,
            "type": self.kind.id(),
            "title": self.title,
            "description": self.description,
            "datasource": data_source(),
            "gridPos": grid_position,
            "fieldConfig": {"defaults": self.defaults(), "overrides": []},
            "options": self.kind.options(),
            "targets": targets,
        });
        if self.kind == PanelKind::Table {
            // One row for each set of labels, one column for each query.
            let hidden = json!({"id": "organize", "options": {"excludeByName": {"Time": true}}});
            panel["transformations"] = json!([{"id": "merge", "options": {}}, hidden]);
        }
        panel
    }

    fn defaults(&self) -> Value {
        let mut defaults = json!({
            "unit": self.unit.id(),
            "color": {"mode": "palette-classic"},
            "mappings": [],
            "thresholds": {"mode": "absolute", "steps": [{"color": "green", "value": null}]},
        });
        if self.unit == Unit::Ratio {
            defaults["min"] = json!(0);
            defaults["max"] = json!(1);
        }
        if self.unit == Unit::Count {
            defaults["min"] = json!(0);
            defaults["decimals"] = json!(0);
        }
        if self.kind == PanelKind::TimeSeries {
            defaults["custom"] = json!({
                "drawStyle": "line", "fillOpacity": 10, "lineWidth": 1, "showPoints": "never", "spanNulls": false,
            });
        }
        defaults
    }
}

/// The data source selected at the top.
fn data_source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}
