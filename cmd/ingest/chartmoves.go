package main

import (
	"fmt"
	"io"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/store"
)

// movesDocument is a chart compared with an older one. Its items say how they have moved.
type movesDocument struct {
	web.ChartDocument

	ComparedTo time.Time      `json:"compared_to"` // the slot of the older chart
	Changes    map[string]int `json:"changes"`
	Items      []moveItem     `json:"items"` // the newer chart
	Gone       []moveItem     `json:"gone"`  // with the rank and the counts they had
}

type moveItem struct {
	web.ChartItem
	Change      store.Change `json:"change"`
	WasRank     *int         `json:"was_rank"`
	ViewsGained *int64       `json:"views_gained"`
}

func newMovesDocument(older, newer store.Chart, moves []store.Move) movesDocument {
	doc := movesDocument{
		ChartDocument: newChartDocument(newer), ComparedTo: older.Slot.UTC(), Changes: countMoves(moves), Items: []moveItem{}, Gone: []moveItem{},
	}
	for _, m := range moves {
		item := moveItem{ChartItem: newChartItem(newer, m.Placement), Change: m.Change, ViewsGained: m.Gained}
		if m.Was > 0 {
			item.WasRank = &m.Was
		}
		if m.Change == store.Gone {
			doc.Gone = append(doc.Gone, item)
		} else {
			doc.Items = append(doc.Items, item)
		}
	}
	return doc
}

// changes are all there are, in the order in which they are reported.
var changes = []store.Change{store.New, store.Risen, store.Fallen, store.Same, store.Gone}

func countMoves(moves []store.Move) map[string]int {
	n := map[string]int{}
	for _, c := range changes {
		n[string(c)] = 0
	}
	for _, m := range moves {
		n[string(m.Change)]++
	}
	return n
}

// printMoves prints the newer chart, how far each video has moved, and what is gone, in 80 columns.
func printMoves(w io.Writer, older, newer store.Chart, moves []store.Move) {
	fmt.Fprintln(w, chartHead(newer))
	fmt.Fprintf(w, "against slot %s:", term.Stamp(older.Slot))
	n := countMoves(moves)
	for i, c := range changes {
		fmt.Fprintf(w, "%s %d %s", []string{"", ","}[min(i, 1)], n[string(c)], c)
	}
	fmt.Fprint(w, "\n\n")
	for _, m := range moves {
		rank, moved := fmt.Sprint(m.Rank), string(m.Change)
		switch m.Change {
		default: // new
		case store.Risen, store.Fallen:
			moved = fmt.Sprintf("%+d", m.Was-m.Rank)
		case store.Same:
			moved = "="
		case store.Gone:
			rank = "-"
		}
		fmt.Fprintf(w, "%3s %5s %s%s %s %14s\n", rank, moved,
			term.Pad(m.Video.ID, 12), term.Pad(m.Video.Title, 30), term.Pad(m.Video.Channel, 11), term.Gain(m.Gained))
	}
}

// moveCells is a row of an exported comparison. What is gone has no rank.
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
