package report

import (
	"slices"

	"github.com/trendvidstream/ingest/internal/term"
)

// The rows of exported documents: a cell for each field that a document always has, named as in JSON.

// ChartCells returns the row of a video in a chart.
func (d MovesDocument) ChartCells(v ChartItem) []term.Cell {
	row := []term.Cell{{Name: "region", Value: string(d.Region)}, {Name: "job", Value: d.Job},
		{Name: "slot", Value: d.Slot}}
	return append(row, term.CellsOf(v)...)
}

// MoveCells returns the row of a video in a comparison. A video that is gone has no rank.
func (d MovesDocument) MoveCells(v MoveItem) []term.Cell {
	row, all := d.ChartCells(v.ChartItem), term.CellsOf(v)
	if v.Change == "gone" {
		term.SetCell(row, "rank", nil)
	}
	row = append(row, term.Cell{Name: "compared_to", Value: d.ComparedTo})
	return append(row, all[len(term.CellsOf(v.ChartItem)):]...)
}

// SightingCells returns the row of a place in a chart.
func (d HistoryDocument) SightingCells(s SightingDocument) []term.Cell {
	return append([]term.Cell{{Name: "video_id", Value: d.VideoID}, {Name: "title", Value: d.Title}}, term.CellsOf(s)...)
}

// ItemCells returns the row of a result.
func (d SearchDocument) ItemCells(v SearchItem) []term.Cell {
	row := slices.DeleteFunc(term.CellsOf(v), func(c term.Cell) bool { return c.Name == "highlight" })
	places := []string{}
	for _, region := range v.Regions {
		places = append(places, string(region))
	}
	term.SetCell(row, "regions", places)
	return row
}
