package main

import (
	"cmp"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// lineColors are those of the first lines of a panel, and again of the next ones.
var lineColors = []color.Color{color.RGBA{0x1f, 0x5f, 0xc4, 0xff}, color.RGBA{0xd9, 0x70, 0x00, 0xff}, color.RGBA{0x1e, 0x7d, 0x3a, 0xff},
	color.RGBA{0x8a, 0x3f, 0xbf, 0xff}, color.RGBA{0xc4, 0x16, 0x2a, 0xff}, color.RGBA{0x0f, 0x8b, 0x8d, 0xff},
	color.RGBA{0x8d, 0x6e, 0x2f, 0xff}, color.RGBA{0x6b, 0x6b, 0x76, 0xff}}

// drawNow writes the values at the end, or the names of the series that are there then.
func (p panel) drawNow(c draw.Canvas, w window, seen []series) {
	type shown struct {
		big, small string
		ink        color.Color
	}
	var all []shown
	for _, s := range seen {
		value, isThere := w.last(s)
		switch {
		case isThere && p.kind == named:
			all = append(all, shown{s.name, "", p.colorOf(value)})
		case isThere:
			all = append(all, shown{written(p.unit, value), s.name, p.colorOf(value)})
		}
	}
	if len(all) == 0 {
		all = []shown{{cmp.Or(p.none, noData), "", pale}}
	}
	wide := (c.Max.X - c.Min.X) / vg.Length(len(all))
	for i, one := range all {
		size := min(24, 1.6*wide/vg.Length(len(one.big)))
		at := vg.Point{X: c.Min.X + wide*(vg.Length(i)+0.5), Y: c.Center().Y + size/2 + 4}
		c.FillText(bold(letters(size, one.ink, text.XCenter)), at, one.big)
		c.FillText(letters(8, pale, text.XCenter), vg.Point{X: at.X, Y: c.Min.Y + 9}, one.small)
	}
}

// colorOf is the colour of a value by the panel's limits.
func (p panel) colorOf(value float64) color.Color {
	found := color.Color(ink)
	for i, l := range p.limits {
		if i == 0 || value >= l.from {
			found = colors[l.color]
		}
	}
	return found
}

// drawLines draws each series over time, with the limits that it may reach, and below what each line is called.
func (p panel) drawLines(c draw.Canvas, w window, seen []series) {
	chart := plot.New()
	styleAxes(chart)
	chart.X.Min, chart.X.Max = float64(w.begin.Unix()), float64(w.end.Unix())
	chart.X.Tick.Marker = plot.TickerFunc(func(float64, float64) []plot.Tick { return w.ticks() })
	highest := highestOf(seen)
	step := valueStep(p.unit, highest)
	for mark := 0.0; ; mark += step {
		chart.Y.Max = mark
		if mark >= highest*1.02 {
			break
		}
	}
	chart.Y.Tick.Marker = plot.TickerFunc(func(float64, float64) (marks []plot.Tick) {
		for mark := 0.0; mark <= chart.Y.Max*1.001; mark += step {
			marks = append(marks, plot.Tick{Value: mark, Label: written(p.unit, mark)})
		}
		return marks
	})
	for _, l := range p.limits[min(1, len(p.limits)):] {
		if l.from <= chart.Y.Max {
			limit := plotter.XYs{{X: chart.X.Min, Y: l.from}, {X: chart.X.Max, Y: l.from}}
			chart.Add(&plotter.Line{XYs: limit, LineStyle: draw.LineStyle{Color: colors[l.color], Width: 1, Dashes: []vg.Length{4, 3}}})
		}
	}
	for i, s := range seen {
		for _, piece := range w.pieces(s) {
			chart.Add(&plotter.Line{XYs: piece, LineStyle: draw.LineStyle{Color: lineColors[i%len(lineColors)], Width: 1.3}})
		}
	}
	chart.Y.Min = 0 // as in Grafana
	below := drawLegend(c, seen)
	chart.Draw(draw.Crop(c, 0, -6, below, 0))
}

// styleAxes makes them pale, with lines across the chart.
func styleAxes(chart *plot.Plot) {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = lineInk, lineInk
	chart.Add(grid)
	for _, axis := range []*plot.Axis{&chart.X, &chart.Y} {
		axis.Color, axis.Tick.Color, axis.Padding = lineInk, lineInk, 0
		axis.Tick.Label.Color, axis.Tick.Label.Font.Variant, axis.Tick.Label.Font.Size = pale, "Sans", 7.5
	}
	chart.X.Tick.Length, chart.Y.Tick.Length = 2, 2
}

// highestOf is the highest value that was seen, and 1 where all are 0.
func highestOf(seen []series) float64 {
	highest := 0.0
	for _, s := range seen {
		for _, p := range s.XYs {
			highest = max(highest, p.Y)
		}
	}
	if highest == 0 {
		return 1
	}
	return highest
}

// ticks are the marks of an axis of time.
func (w window) ticks() []plot.Tick {
	step := timeStep(w.end.Sub(w.begin))
	layout := "15:04"
	if step < time.Minute {
		layout = "15:04:05"
	}
	var marks []plot.Tick
	for t := w.begin.UTC().Truncate(step).Add(step); !t.After(w.end); t = t.Add(step) {
		marks = append(marks, plot.Tick{Value: float64(t.Unix()), Label: t.Format(layout)})
	}
	return marks
}

// drawLegend writes what each line is called, from the left to the right, in as many rows as it takes up to 3. It returns
// how high they are.
func drawLegend(c draw.Canvas, seen []series) vg.Length {
	const row, dash, size, most = 11, 10, 7.5, 3
	left, rows := c.Min.X, [][]func(vg.Length){nil}
	for i, s := range seen {
		if s.name == "" {
			continue
		}
		wide := letters(size, ink, text.XLeft).Width(s.name) + dash + 14
		if left+wide > c.Max.X && left > c.Min.X {
			if len(rows) == most {
				break
			}
			left, rows = c.Min.X, append(rows, nil)
		}
		at := left
		rows[len(rows)-1] = append(rows[len(rows)-1], func(y vg.Length) {
			c.StrokeLine2(draw.LineStyle{Color: lineColors[i%len(lineColors)], Width: 2}, at, y-4, at+dash, y-4)
			c.FillText(letters(size, ink, text.XLeft), vg.Point{X: at + dash + 3, Y: y}, s.name)
		})
		left += wide
	}
	for i, all := range rows {
		for _, drawOne := range all {
			drawOne(c.Min.Y + row*vg.Length(len(rows)-i))
		}
	}
	return row*vg.Length(len(rows)) + 3
}

// run is a time in which a series kept its value.
type run struct{ begin, end, value float64 }

// runs are those of a series, one after the other. Each point lasts until the next step.
func (w window) runs(s series) []run {
	var all []run
	for _, piece := range w.pieces(s) {
		for i, p := range piece {
			if i == 0 || p.Y != piece[i-1].Y {
				all = append(all, run{begin: p.X, value: p.Y})
			}
			all[len(all)-1].end = p.X + w.step().Seconds()
		}
	}
	return all
}

// drawTimeline draws bars for each series: blue with a yes while it is 1, and pale with a no while it is 0.
func drawTimeline(c draw.Canvas, w window, seen []series) {
	const names, axis = 90, 14
	bars := draw.Crop(c, names, -6, axis, 0)
	x := func(seconds float64) vg.Length {
		return bars.X((seconds - float64(w.begin.Unix())) / w.end.Sub(w.begin).Seconds())
	}
	tall := (bars.Max.Y - bars.Min.Y) / vg.Length(len(seen))
	for i, s := range seen {
		top := bars.Max.Y - tall*vg.Length(i)
		c.FillText(letters(8, ink, text.XRight), vg.Point{X: bars.Min.X - 5, Y: top - tall/2 + 4.5}, s.name)
		for _, r := range w.runs(s) {
			said, shade, inside := "no", color.Color(lineInk), color.Color(ink)
			if r.value != 0 {
				said, shade, inside = "yes", lineColors[0], color.White
			}
			bar := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x(r.begin), Y: top - tall + 1},
				Max: vg.Point{X: min(bars.Max.X, x(r.end)), Y: top - 1}}}
			fill(bar, shade)
			if bar.Max.X-bar.Min.X > 20 {
				c.FillText(letters(7.5, inside, text.XCenter), vg.Point{X: bar.Center().X, Y: bar.Center().Y + 4}, said)
			}
		}
	}
	for _, t := range w.ticks() {
		c.FillText(letters(7.5, pale, text.XCenter), vg.Point{X: x(t.Value), Y: bars.Min.Y - 2}, t.Label)
	}
}
