package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// othersNote is the name of the store's note that has the OthersHistory.
const othersNote = "others"

// Notes is what OthersWatch needs of the store.
type Notes interface {
	Note(ctx context.Context, name string) (string, error) // "" if there is none
	SetNote(ctx context.Context, name, text string) error
	SpentSlots(ctx context.Context, since time.Time) ([]ingest.Slot, error)
}

// OthersWatch remembers what others take, and makes reports as the schedule is to plan with them.
type OthersWatch struct {
	Notes  Notes
	Tariff *quota.Tariff
	Shared bool // the ledger may count other hosts' schedules too
	Log    *slog.Logger
}

// Spender is what Observe asks of a ledger.
type Spender interface {
	Spent(ctx context.Context, account string, since time.Time) ([]quota.Spent, error)
}

// Observe notes what a report and its ledger say of others. Nothing is lost if it fails: the next one notes the same.
func (w OthersWatch) Observe(ctx context.Context, l Spender, r quota.Report) error {
	if r.Degraded != nil {
		return nil //nolint:nilerr // there is nothing to note
	}
	history, before, err := w.read(ctx)
	if err != nil {
		return err
	}
	begins := dayBegin(r.At, w.Tariff.Zone)
	spent, err := l.Spent(ctx, r.Account, begins.Add(-w.Tariff.Grace))
	if err != nil {
		return fmt.Errorf("read what others have spent: %w", err)
	}
	own, err := w.own(ctx, begins)
	if err != nil {
		return err
	}
	history.note(r, begins, drawnByOthers(onlyOwn(spent, own)))
	text, err := json.Marshal(history)
	if err == nil && string(text) != before {
		err = w.Notes.SetNote(ctx, othersNote, string(text))
	}
	return err
}

// Expect returns a report as OthersHistory.Expect makes it, and what it expects in words. If the store cannot be read,
// nothing is expected.
func (w OthersWatch) Expect(ctx context.Context, r quota.Report) (quota.Report, string) {
	history, _, err := w.read(ctx)
	if err != nil || r.Degraded != nil {
		return r, ""
	}
	own, err := w.own(ctx, r.At.Add(-day-w.Tariff.Grace))
	if err != nil {
		return r, ""
	}
	return history.Expect(r, w.Tariff, own), history.String(w.Tariff, r.At)
}

// Reports returns what PricedSchedule.PaceBy asks: the governor's report, of which others are noted, with what is
// expected of them.
func (w OthersWatch) Reports(g *quota.Governor) func(context.Context) (quota.Report, error) {
	return func(ctx context.Context) (quota.Report, error) {
		r, err := g.Report(ctx)
		if err != nil {
			return r, err
		}
		if err := w.Observe(ctx, g.Ledger, r); err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "what others take is not noted", slog.Any("error", err))
		}
		r, _ = w.Expect(ctx, r)
		return r, nil
	}
}

func (w OthersWatch) read(ctx context.Context) (h OthersHistory, text string, err error) {
	h = OthersHistory{}
	if text, err = w.Notes.Note(ctx, othersNote); err == nil && text != "" {
		if json.Unmarshal([]byte(text), &h) != nil {
			h = OthersHistory{} // somebody else's, or damaged: a week begins anew
		}
	}
	return h, text, err
}

// own returns what this store's schedule drew of each pool since then; nil if nobody else's draws on the ledger.
func (w OthersWatch) own(ctx context.Context, since time.Time) (map[string]int64, error) {
	if !w.Shared {
		return nil, nil
	}
	slots, err := w.Notes.SpentSlots(ctx, since.Add(-2*time.Hour)) // one that was due before may have drawn since
	if err != nil {
		return nil, err
	}
	own := map[string]int64{}
	for _, slot := range slots {
		at := slot.DueAt
		if !slot.FetchedAt.IsZero() {
			at = slot.FetchedAt
		}
		if slot.Kind != ingest.KindBackfill && slot.Kind != ingest.KindRefresh && !at.Before(since) {
			for pool, n := range slot.Charges {
				own[pool] += n
			}
		}
	}
	return own, nil
}
