package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// The checks of the ledger, wherever it is. They open a copy of quota.db.

func openLedger(ctx context.Context, d *Doctor) (quota.Ledger, error) {
	if d.OpenRemote == nil {
		return openLocal(ctx, d, d.Config.Data)
	}
	return d.OpenRemote(ctx)
}

func ledgerReport(ctx context.Context, d *Doctor) (r quota.Report, err error) {
	t, err := d.Tariff()
	if err != nil {
		return r, err
	}
	l, err := openLedger(ctx, d)
	if err != nil {
		return r, err
	}
	defer func() { _ = l.Close() }()
	if local, err := openLocal(ctx, d, d.Config.Data); err == nil { // quota.db knows the zone of the day
		t, err = local.KeepZone(ctx, d.Config.Account, t, func(string, ...any) {})
		if err := errors.Join(err, local.Close()); err != nil {
			return r, err
		}
	}
	g := &quota.Governor{Ledger: l, Tariff: t, Account: d.Config.Account, Now: d.now}
	return g.Report(ctx)
}

func checkLedger(ctx context.Context, d *Doctor) Finding {
	if _, err := d.Tariff(); err != nil || d.OpenRemote != nil {
		return noFinding // costs or redis reports it
	}
	_, err := ledgerReport(ctx, d)
	switch {
	case err != nil && ownfile.CheckDir(d.Config.Data) != nil:
		return noFinding // data reports it
	case errors.Is(err, fs.ErrNotExist) && checkLost(ctx, d).Status == Fail:
		return noFinding // lost reports it
	case errors.As(err, new(*ownfile.Error)):
		return failRemedy(err)
	case errors.Is(err, fs.ErrNotExist):
		return warn(d.ledgerFile()+" is not there yet", "ingest run makes it")
	case errors.Is(err, sqlitefile.ErrLeftover):
		return warn(err.Error(), "ingest quota recovers the file; then look again")
	case errors.Is(err, quota.ErrCorrupt):
		return failAs(err, nameOriginal(err.Error(), d.Config.Data), rebuildAdvice)
	case err != nil:
		return failAs(err, nameOriginal(err.Error(), d.Config.Data), "see its owner and mode, and the clock: if it was "+
			"ahead and is right now, ingest doctor --repair heals the ledger too; the check quota.db says whether it is damaged")
	}
	return okf("sqlite, account %s: it answers", d.Config.Account)
}

// JudgePools says which pools are closed or used up, and who opens them.
func JudgePools(d *Doctor, st standing.Standing) Finding {
	t, err := d.Tariff()
	if err != nil || st.Ledger.State == standing.Bad {
		return noFinding // costs, ledger or redis reports it
	}
	var lines, unused, advice []string
	for _, p := range report.NewQuotaDocument(st.Pace.Resume(st.Report), t, st.Forecast).Pools {
		most, left := p.Fullest(), p.For(quota.Scheduled)
		line := fmt.Sprintf("%s: %s of %s used", p.Pool, term.Thousands(most.Used), term.Thousands(most.Limit))
		switch {
		case p.DrainedUntil != nil:
			line = p.Pool + ": " + p.ClosedText()
			advice = append(advice, cmp.Or(p.LimitText(), p.Lift()+" opens it"))
		case most.Used == 0:
			unused = append(unused, p.Pool)
			continue
		case most.Used > most.Limit:
			advice = append(advice, "more "+p.Pool+
				" were posted than there are: ingest quota says until when nothing is fetched")
		case st.Forecast.Scheduled[p.Pool] > 0 && left.Remaining == 0 && left.ResumesAt != nil:
			line += ", none left for the schedule until " + term.StampFrom(*left.ResumesAt)
			advice = append(advice, "wait: the next run after that goes on; ingest quota --all says who spent them")
		}
		lines = append(lines, line)
	}
	if len(unused) > 0 {
		lines = append(lines, strings.Join(unused, ", ")+" unused")
	}
	if len(advice) > 0 {
		return warn(strings.Join(lines, "; "), strings.Join(advice, "; "))
	}
	return okf("%s", strings.Join(lines, ", "))
}

// checkLost finds spending that the ledger lacks. Package audit decides, as for the commands that then refuse to spend.
func checkLost(ctx context.Context, d *Doctor) Finding {
	t, err := d.Tariff()
	if err != nil {
		return noFinding // costs reports it
	}
	advice := "put " + d.LedgerFile + " back as it was, or count them again: ingest quota rebuild"
	account := audit.Account{Tariff: t, Name: d.Config.Account, Now: d.now()}
	// The ledger is opened after the slots were read: an earlier copy would lack a run's spends since.
	slots, err := d.inspectSlots(ctx, account.MissingSince())
	if file := d.ledgerFile(); d.OpenRemote == nil && !sqlitefile.Exists(file) {
		trace := ""
		_ = d.inspect(ctx, func(s *store.Store) (err error) {
			trace, err = audit.Trace(ctx, s, d.now().Add(-t.Horizon()))
			return err
		})
		shows := "the store " + trace
		if lock, _ := os.ReadFile(sqlitefile.LockPath(file)); trace == "" &&
			len(bytes.Trim(lock[min(8, len(lock)):min(16, len(lock))], "\x00")) > 0 {
			trace, shows = "lock", filepath.Base(sqlitefile.LockPath(file))+" shows that it was there" // by its count of writes
		}
		if trace != "" {
			return fail(Unavailable, file+" is missing, and "+shows+": the spends are not known, and nothing is fetched",
				"put "+d.LedgerFile+" back as it was; or ingest quota rebuild counts the store's spends, "+
					"closes every pool, and says how to open one")
		}
	}
	if err != nil || len(slots.Spent) == 0 {
		return noFinding // store reports it
	}
	l, err := openLedger(ctx, d)
	if err == nil {
		defer func() { _ = l.Close() }()
		account.Ledger = &quota.Governor{Ledger: l, Tariff: t}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return noFinding // ledger or redis reports it
	}
	missing, err := account.Missing(ctx, slots.Spent)
	unsynced := audit.Units(missing)
	if unsynced > 0 && d.OpenRemote != nil { // quota.db's spends are synced before the next take
		if local, opened := openLocal(ctx, d, d.Config.Data); opened == nil {
			defer func() { _ = local.Close() }()
			account.Ledger = &quota.Governor{Ledger: local, Tariff: t}
			missing, err = account.Missing(ctx, audit.Slots(missing))
		}
	}
	units := audit.Units(missing)
	switch {
	case err != nil || unsynced == 0:
		return noFinding
	case units == 0:
		return okf("the server does not have %s yet, quota.db does: the next run syncs them before it spends",
			term.Amount(unsynced, "units"))
	}
	return fail(Unavailable, fmt.Sprintf("the store's slots recently spent %s that the ledger does not know: "+
		"nothing is fetched", term.Amount(units, "units")), advice)
}
