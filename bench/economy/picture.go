package main

import (
	"fmt"
	"image/color"
	"os"
	"regexp"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// drawn are the workers in the picture, the names that its readers know them by, and their lines.
var drawn = []struct {
	worker, name string
	color        color.RGBA
}{
	{"naive cron", "a cron script", color.RGBA{0xb2, 0x6a, 0x00, 0xff}},
	{"ours", "ingest", color.RGBA{0x1f, 0x5f, 0xbf, 0xff}},
}

// pictured matches the runs that the picture shows: eight regions, one host, 300 units a day, and no trouble.
const pictured = `^300 units/clean/(ours|naive cron)$`

// draw plots the mean age of the charts over the first days of the pictured world, one line for each worker. The legend
// has the means over all days, so that a caption can be checked against the picture.
func draw(runs []simulated, file string) error {
	const days = 4
	p := plot.New()
	p.Title.Text = "Mean age of eight charts, with 300 units a day"
	p.X.Label.Text, p.Y.Label.Text = "days", "hours"
	p.Title.Padding, p.Y.Min, p.X.Min, p.X.Max, p.Legend.Top, p.Legend.Left = vg.Points(6), 0, 0, days, true, true
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(0, 1, 2, 3, days), ticks(0, 6, 12, 18, 24)
	p.Add(plotter.NewGrid())
	for _, d := range drawn {
		s := find(runs, 300, clean, d.worker)
		if s == nil {
			return fmt.Errorf("draw %s: %s was not simulated under 300 units", file, d.worker)
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
		p.Legend.Add(fmt.Sprintf("%s: %.1f h on average", d.name, s.Mean.Hours()), line)
	}
	p.Y.Max = 1.25 * p.Y.Max // the legend is above the lines
	if err := p.Save(18*vg.Centimeter, 8*vg.Centimeter, file); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	script := find(runs, 300, clean, "naive cron")
	return writeCaption(readme, find(runs, 300, clean, "ours").Mean, script.Mean, script.Oldest)
}

// readme has the picture, its description and a caption, with the figures of the two workers.
const readme = "../README.md"

var (
	captioned = regexp.MustCompile(`(its charts are )[0-9.]+( h old on average\. A plain cron script's charts are )[0-9.]+( h old)`)
	described = regexp.MustCompile(`(a cron script's charts are up to )[0-9]+( h old each day, ingest's stay near )[0-9.]+(\s+h\])`)
)

// writeCaption writes the mean ages of the picture into its caption, and the script's oldest chart into its description.
func writeCaption(file string, ours, script, oldest time.Duration) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the caption: %w", err)
	}
	for pattern, figures := range map[*regexp.Regexp]string{
		captioned: fmt.Sprintf("${1}%.1f${2}%.1f${3}", ours.Hours(), script.Hours()),
		described: fmt.Sprintf("${1}%.0f${2}%.1f${3}", oldest.Hours(), ours.Hours()),
	} {
		if !pattern.Match(text) {
			return fmt.Errorf("%s has no text about the picture like %s", file, pattern)
		}
		text = pattern.ReplaceAll(text, []byte(figures))
	}
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // public
		return fmt.Errorf("write the caption: %w", err)
	}
	return nil
}

func ticks(at ...float64) (marks plot.ConstantTicks) {
	for _, v := range at {
		marks = append(marks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return marks
}
