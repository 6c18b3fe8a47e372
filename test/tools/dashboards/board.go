package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// board is a dashboard: rows of panels, of which each shows the answers to its queries.
type board struct {
	title, uid, description string
	variables               []variable
	rows                    []row
}

// variable is chosen on top of the dashboard, from the answers to a query.
type variable struct{ name, query string }

type row struct {
	title  string
	panels []panel
}

// panel has a Kind, and a sentence for who looks at it for the first time.
type panel struct {
	kind        kind
	title       string
	description string
	unit        string // of Grafana's own: s, bytes, percentunit, ops
	limits      []limit
	none        string // what is shown where nothing is answered
	queries     []query
}

type kind int

const (
	lines    kind = iota // over time
	number               // the last value, with a colour
	named                // the same, with what it is called
	timeline             // yes and no over time
)

// query is PromQL. A legend names the series by their labels.
type query struct{ expr, legend string }

// limit is from which value on a colour is shown. The first one is shown for all that is below as well.
type limit struct {
	from  float64
	color string
}

// boards are the dashboards by file.
var boards = map[string]board{"operator.json": operator, "cluster.json": cluster}

// rowOfNumbers is how many panels with one number stand side by side, on a width of 24.
const width, rowOfNumbers, rowOfLines = 24, 6, 2

var source = common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}

// build makes the older of the two forms that Grafana reads: the sidecar of its chart knows no other.
func (b board) build() (dashboard.Dashboard, error) { //nolint:staticcheck // see above
	builder := dashboard.NewDashboardBuilder(b.title). //nolint:staticcheck // see above
								Uid(b.uid).Description(b.description).Tags([]string{"etcd", "etcd-steward"}).
								Time("now-3h", "now").Refresh("30s").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
								WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus"))
	for _, v := range b.variables {
		builder.WithVariable(dashboard.NewQueryVariableBuilder(v.name).Label(v.name).Datasource(source).
			Query(dashboard.StringOrMap{String: &v.query}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc))
	}
	for _, r := range b.rows {
		builder.WithRow(dashboard.NewRowBuilder(r.title))
		for _, p := range r.panels {
			builder.WithPanel(p.builder())
		}
	}
	return builder.Build()
}

func (p panel) builder() cog.Builder[dashboard.Panel] {
	switch p.kind {
	case number, named:
		return p.asNumber()
	case timeline:
		return p.asTimeline()
	default:
		return p.asLines()
	}
}

func (p panel) asNumber() *stat.PanelBuilder {
	text := common.BigValueTextModeAuto
	if p.kind == named {
		text = common.BigValueTextModeName
	}
	return stat.NewPanelBuilder().Title(p.title).Description(p.description).Unit(p.unit).NoValue(p.none).
		Height(4).Span(width / rowOfNumbers).Datasource(source).Targets(p.targets()).
		Thresholds(p.thresholds()).TextMode(text).GraphMode(common.BigValueGraphModeNone).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
}

func (p panel) asLines() *timeseries.PanelBuilder {
	return timeseries.NewPanelBuilder().Title(p.title).Description(p.description).Unit(p.unit).NoValue(p.none).
		Height(8).Span(width / rowOfLines).Datasource(source).Targets(p.targets()).
		Thresholds(p.thresholds()).ThresholdsStyle(p.style()).Min(0).FillOpacity(5).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
			DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom))
}

func (p panel) asTimeline() *statetimeline.PanelBuilder {
	yesOrNo := dashboard.ValueMapping{ValueMap: &dashboard.ValueMap{Type: "value", Options: map[string]dashboard.ValueMappingResult{
		"0": {Text: new("no"), Color: new("text"), Index: new(int32(0))},
		"1": {Text: new("yes"), Color: new("blue"), Index: new(int32(1))},
	}}}
	return statetimeline.NewPanelBuilder().Title(p.title).Description(p.description).NoValue(p.none).
		Height(8).Span(width / rowOfLines).Datasource(source).Targets(p.targets()).
		Thresholds(p.thresholds()).Mappings([]dashboard.ValueMapping{yesOrNo})
}

func (p panel) targets() []cog.Builder[variants.Dataquery] {
	var all []cog.Builder[variants.Dataquery]
	for i, q := range p.queries {
		target := prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).RefId(string(rune('A' + i)))
		if p.kind == number || p.kind == named {
			target.Instant()
		} else {
			target.Range()
		}
		all = append(all, target)
	}
	return all
}

func (p panel) thresholds() *dashboard.ThresholdsConfigBuilder {
	var steps []dashboard.Threshold
	for i, l := range p.limits {
		step := dashboard.Threshold{Value: &l.from, Color: l.color}
		if i == 0 {
			step.Value = nil
		}
		steps = append(steps, step)
	}
	if steps == nil {
		steps = []dashboard.Threshold{{Color: "text"}}
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// style draws a line where lines have limits.
func (p panel) style() *common.GraphThresholdsStyleConfigBuilder {
	mode := common.GraphThresholdsStyleModeOff
	if len(p.limits) > 0 {
		mode = common.GraphThresholdsStyleModeDashed
	}
	return common.NewGraphThresholdsStyleConfigBuilder().Mode(mode)
}
