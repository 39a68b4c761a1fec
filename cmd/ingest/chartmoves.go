package main

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// movesDocument is a chart compared with an older one: chartDocument and more.
type movesDocument struct {
	Region     ingest.Region  `json:"region"`
	Job        string         `json:"job"`
	Slot       time.Time      `json:"slot"`
	FetchedAt  *time.Time     `json:"fetched_at"`
	ComparedTo time.Time      `json:"compared_to"` // the slot of the older chart
	Changes    map[string]int `json:"changes"`
	Items      []moveItem     `json:"items"` // the newer chart
	Gone       []moveItem     `json:"gone"`  // with the rank and the counts they had
}

type moveItem struct {
	chartItem
	Change      store.Change `json:"change"`
	WasRank     *int         `json:"was_rank"`
	ViewsGained *int64       `json:"views_gained"`
}

func (a *app) printMoves(older, newer store.Chart, format string) error {
	moves := store.Compare(older, newer)
	switch format {
	case formatJSON:
		return a.printJSON(newMovesDocument(older, newer, moves))
	case formatText:
		a.printMovesText(older, newer, moves)
		return nil
	}
	var rows [][]cell
	for _, m := range moves {
		rows = append(rows, moveCells(older, newer, m))
	}
	return export(a.stdout, format, names(moveCells(store.Chart{}, store.Chart{}, store.Move{})), rows)
}

func newMovesDocument(older, newer store.Chart, moves []store.Move) movesDocument {
	doc := movesDocument{
		Region: newer.Region, Job: newer.Job, Slot: newer.Slot.UTC(), FetchedAt: timeOrNull(newer.FetchedAt),
		ComparedTo: older.Slot.UTC(), Changes: countMoves(moves), Items: []moveItem{}, Gone: []moveItem{},
	}
	for _, m := range moves {
		item := moveItem{chartItem: newChartItem(newer, m.Placement), Change: m.Change, ViewsGained: m.Gained}
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

// changes are all there are, in the order of reports.
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

// printMovesText prints the newer chart, how far each video has come, and what is gone, in 80 columns.
func (a *app) printMovesText(older, newer store.Chart, moves []store.Move) {
	fmt.Fprintln(a.stdout, chartHead(newer))
	fmt.Fprintf(a.stdout, "against slot %s:", term.Stamp(older.Slot))
	n := countMoves(moves)
	for i, c := range changes {
		fmt.Fprintf(a.stdout, "%s %d %s", []string{"", ","}[min(i, 1)], n[string(c)], c)
	}
	fmt.Fprint(a.stdout, "\n\n")
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
		fmt.Fprintf(a.stdout, "%3s %5s %s%s %s %14s\n", rank, moved,
			term.Pad(m.Video.ID, 12), term.Pad(m.Video.Title, 30), term.Pad(m.Video.Channel, 11), gainText(m.Gained))
	}
}

// moveCells is a row of an exported comparison. What is gone has no rank.
func moveCells(older, newer store.Chart, m store.Move) []cell {
	row := chartCells(newer, m.Placement)
	var was any
	if m.Was > 0 {
		was = m.Was
	}
	if m.Change == store.Gone {
		for i := range row {
			if row[i].name == "rank" {
				row[i].value = nil
			}
		}
	}
	return append(row,
		cell{"compared_to", older.Slot},
		cell{"change", string(m.Change)},
		cell{"was_rank", was},
		cell{"views_gained", m.Gained},
	)
}
