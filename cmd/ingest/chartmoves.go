package main

import (
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func moveItems(newer store.Chart, moves []store.Move) (items []report.MoveItem) {
	for _, m := range moves {
		item := report.MoveItem{ChartItem: newChartItem(newer, m.Placement), Change: string(m.Change), ViewsGained: m.Gained}
		if m.Was > 0 {
			item.WasRank = &m.Was
		}
		items = append(items, item)
	}
	return items
}

// moveCells returns a row of an exported comparison. A video that is gone has no rank.
func moveCells(older, newer store.Chart, m store.Move) []term.Cell {
	row := chartCells(newer, m.Placement)
	var was any
	if m.Was > 0 {
		was = m.Was
	}
	if m.Change == store.Gone {
		term.SetCell(row, "rank", nil)
	}
	return append(row,
		term.Cell{Name: "compared_to", Value: older.Slot},
		term.Cell{Name: "change", Value: string(m.Change)},
		term.Cell{Name: "was_rank", Value: was},
		term.Cell{Name: "views_gained", Value: m.Gained},
	)
}
