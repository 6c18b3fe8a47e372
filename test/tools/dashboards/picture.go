package main

import (
	"fmt"
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes in points: of a column, of which a dashboard has 24, of a unit of height, and of what is around panels.
const (
	column, height = 40, 24
	margin, gap    = 12, 4
	headHeight     = 44
	rowHeight      = 24
)

var (
	ink     = color.RGBA{0x22, 0x22, 0x26, 0xff}
	pale    = color.RGBA{0x70, 0x70, 0x7a, 0xff}
	lineInk = color.RGBA{0xd8, 0xd8, 0xde, 0xff}
	// colors are those of limits.
	colors = map[string]color.Color{"red": color.RGBA{0xc4, 0x16, 0x2a, 0xff}, "orange": color.RGBA{0xd9, 0x70, 0x00, 0xff},
		"green": color.RGBA{0x1e, 0x7d, 0x3a, 0xff}}
)

// size is how wide and high a panel is, in columns and units of height, as in Grafana.
func (p panel) size() (int, int) {
	if p.kind == number || p.kind == named {
		return width / rowOfNumbers, 4
	}
	return width / rowOfLines, 8
}

// flow calls place with where each row and panel goes: from the left to the right, and then below. The panel of a row's
// title is nil. It returns how high all of them are.
func (b board) flow(place func(title string, p *panel, left, top vg.Length)) vg.Length {
	top := vg.Length(headHeight)
	for _, r := range b.rows {
		place(r.title, nil, 0, top)
		top += rowHeight
		left, high := 0, 0
		for i, p := range r.panels {
			wide, tall := p.size()
			if left+wide > width {
				top, left = top+vg.Length(high*height), 0
			}
			place(p.title, &r.panels[i], vg.Length(left*column), top)
			left, high = left+wide, tall
		}
		top += vg.Length(high * height)
	}
	return top
}

// pictureSize is how large the picture of a dashboard is.
func (b board) pictureSize() (wide, high vg.Length) {
	return width*column + 2*margin, b.flow(func(string, *panel, vg.Length, vg.Length) {}) + 2*margin
}

// draw draws every panel with what was seen.
func (b board) draw(c draw.Canvas, w window) error {
	fill(c, color.White)
	c = draw.Crop(c, margin, -margin, margin, -margin)
	c.FillText(bold(letters(15, ink, text.XLeft)), vg.Point{X: c.Min.X, Y: c.Max.Y}, b.title)
	c.FillText(letters(9, pale, text.XLeft), vg.Point{X: c.Min.X, Y: c.Max.Y - 22}, fmt.Sprintf("%s From %s to %s UTC.",
		b.description, w.begin.UTC().Format("15:04"), w.end.UTC().Format("15:04")))
	var failed error
	b.flow(func(title string, p *panel, left, top vg.Length) {
		corner := vg.Point{X: c.Min.X + left, Y: c.Max.Y - top}
		if p == nil {
			c.FillText(bold(letters(11, ink, text.XLeft)), vg.Point{X: corner.X, Y: corner.Y - 6}, title)
			return
		}
		wide, tall := p.size()
		frame := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: corner.X, Y: corner.Y - vg.Length(tall*height)}, Max: vg.Point{X: corner.X + vg.Length(wide*column), Y: corner.Y}}}
		if err := p.draw(draw.Crop(frame, 0, -gap, gap, 0), w); err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", title, err)
		}
	})
	return failed
}

// draw draws the frame and the title of a panel, and what was seen in it.
func (p panel) draw(c draw.Canvas, w window) error {
	style := draw.LineStyle{Color: lineInk, Width: 0.7}
	c.StrokeLines(style, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}, c.Min})
	c.FillText(bold(letters(9, ink, text.XLeft)), vg.Point{X: c.Min.X + 6, Y: c.Max.Y - 5}, p.title)
	var seen []series
	for _, q := range p.queries {
		answer, err := w.ask(q)
		if err != nil {
			return err
		}
		seen = append(seen, answer...)
	}
	body := draw.Crop(c, 6, -6, 5, -20)
	switch {
	case p.kind == number || p.kind == named:
		p.drawNow(body, w, seen)
	case len(seen) == 0:
		p.drawNone(body)
	case p.kind == timeline:
		drawTimeline(body, w, seen)
	default:
		p.drawLines(body, w, seen)
	}
	return nil
}

const noData = "no data"

// drawNone says that nothing answered.
func (p panel) drawNone(c draw.Canvas) {
	said := noData
	if p.none != "" {
		said += ": " + p.none
	}
	c.FillText(letters(10, pale, text.XCenter), vg.Point{X: c.Center().X, Y: c.Center().Y + 5}, said)
}

// letters are how text is written, below the point where it stands.
func letters(size vg.Length, ink color.Color, align text.XAlignment) text.Style {
	return text.Style{Color: ink, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign: align, YAlign: text.YTop, Handler: plot.DefaultTextHandler}
}

func bold(style text.Style) text.Style {
	style.Font.Weight = xfont.WeightBold
	return style
}

func fill(c draw.Canvas, with color.Color) {
	c.FillPolygon(with, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
}
