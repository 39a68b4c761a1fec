package main

import (
	"fmt"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// drawn are the workers in the picture, and their lines.
var drawn = []struct {
	name  string
	color color.RGBA
}{
	{"naive cron", color.RGBA{0xb2, 0x6a, 0x00, 0xff}},
	{"ours", color.RGBA{0x1f, 0x5f, 0xbf, 0xff}},
}

// draw plots the mean age of the charts over the first days of the clean world of 300 units.
func draw(runs []simulated, file string) error {
	const days = 4
	p := plot.New()
	p.Title.Text = "Mean age of eight charts, 300 units a day"
	p.X.Label.Text, p.Y.Label.Text = "days", "hours"
	p.Title.Padding, p.Y.Min, p.Y.Max, p.Legend.Top, p.Legend.Left = vg.Points(6), 0, 27, true, true // the legend is above the lines
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 6, Label: "6"}, {Value: 12, Label: "12"}, {Value: 18, Label: "18"}, {Value: 24, Label: "24"}}
	p.Add(plotter.NewGrid())
	for _, d := range drawn {
		for _, s := range runs {
			if s.name != d.name || s.world.units != 300 || s.trouble.name != clean.name {
				continue
			}
			var points plotter.XYs
			for t := start; t.Before(start.AddDate(0, 0, days)); t = t.Add(10 * time.Minute) {
				points = append(points, plotter.XY{X: t.Sub(start).Hours() / 24, Y: s.ageAt(t, start).Hours()})
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				return fmt.Errorf("draw %s: %w", s, err)
			}
			line.Color, line.Width = d.color, vg.Points(1.5)
			p.Add(line)
			p.Legend.Add(d.name, line)
		}
	}
	if err := p.Save(18*vg.Centimeter, 8*vg.Centimeter, file); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}
