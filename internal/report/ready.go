package report

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// Result is one check of /readyz.
type Result struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Ready is the answer of /readyz for a standing, and whether all checks pass.
func Ready(s standing.Standing) (ready bool, results []Result) {
	ready = true
	add := func(check, detail string, err error) {
		if err != nil {
			ready, detail = false, err.Error()
		}
		results = append(results, Result{check, err == nil, term.Clean(detail)})
	}
	add("store", s.StorePath, cmp.Or(s.StoreErr, s.Room))
	detail, err := readyLedger(s)
	add("ledger", detail, err)
	detail, err = readyKey(s)
	add("key", detail, err)
	works := "can go on"
	for _, other := range s.Idle {
		works += "; " + other.String()
	}
	add("workers", works, cmp.Or(s.Paused, s.NotOpen))
	if s.Provider != "" {
		detail, err = readyUpstream(s)
		add("upstream", detail, err)
	}
	detail, err = readyCharts(s)
	add("freshness", detail, err)
	return ready, results
}

func readyLedger(s standing.Standing) (string, error) {
	if s.Ledger.State == standing.Idle {
		return "not asked while the store cannot be opened", nil
	}
	if s.LedgerErr == nil && s.Report.Degraded != nil {
		return "", fmt.Errorf("degraded, %s: %w", WithoutLedger(s.Report.EmergencyLeft), s.Report.Degraded)
	}
	return fmt.Sprintf("%s, %v ago", remaining(s.Report), s.LedgerAge.Round(time.Second)), s.Ledger.Err
}

func readyKey(s standing.Standing) (string, error) {
	switch {
	case s.KeyErr != nil:
		return "", s.KeyErr
	case s.Contact == nil:
		return "not known", nil
	case s.Contact.KeyRefused():
		return "", errors.New(s.Provider + " refused it when it was last asked")
	case s.Contact.AcceptedAt.IsZero():
		return "not refused so far", nil
	}
	return "accepted", nil
}

func readyUpstream(s standing.Standing) (string, error) {
	switch text := UpstreamText(s); {
	case s.StoreErr != nil:
		return "", fmt.Errorf("not known: %w", s.StoreErr)
	case s.Upstream.Cause == standing.UpstreamSilent:
		return "", errors.New(s.Provider + " " + text)
	default:
		return text, nil
	}
}

func readyCharts(s standing.Standing) (string, error) {
	if s.StoreErr != nil {
		return "", fmt.Errorf("not known: %w", s.StoreErr)
	}
	if stale := StaleSeries(s, SeriesAge.String); len(stale) > 0 {
		return "", fmt.Errorf("%d of %d are stale: %s", len(stale), len(s.Series), term.Enumerate(stale, 8))
	}
	s.Paused = nil // another check says it
	return ChartsCheck(standing.At(s.Facts)).Says, nil
}

// StatusLine describes a standing in one line, for systemctl status.
func StatusLine(s standing.Standing) string {
	parts := []string{nextSlot(s)}
	if pacing := s.Pace.String(); pacing != "" {
		parts = append(parts, pacing)
	}
	switch {
	case s.NotOpen != nil:
		parts = append(parts, "not open: "+s.NotOpen.Error())
	case s.Report.Degraded != nil:
		parts = append(parts, "ledger degraded: "+WithoutLedger(s.Report.EmergencyLeft))
	case s.Ledger.Err != nil:
		parts = append(parts, "ledger: "+s.Ledger.Err.Error())
	default:
		parts = append(parts, remaining(s.Report))
	}
	if _, err := readyKey(s); err != nil {
		parts = append(parts, "key refused")
	}
	if s.Upstream.Cause == standing.UpstreamSilent {
		parts = append(parts, s.Provider+" silent since "+term.Stamp(s.Upstream.Since))
	}
	if s.Paused != nil {
		parts = append(parts, s.Paused.Error())
	}
	if s.StoreErr != nil {
		parts = append(parts, "store: "+s.StoreErr.Error())
	} else {
		if stale := StaleSeries(s, SeriesAge.Name); len(stale) > 0 {
			parts = append(parts, "stale: "+strings.Join(stale, ", "))
		} else {
			parts = append(parts, "nothing stale")
		}
	}
	const most = 300
	return term.Fit(strings.Join(parts, "; "), most)
}

// nextSlot says when the next slot of any series is due: "next slot 2026-02-14 12:30:00Z".
func nextSlot(s standing.Standing) string {
	at := s.NextDue()
	switch {
	case s.StoreErr != nil || at.IsZero():
		at = s.Pace.Schedule.Next(s.Now)
	case !at.After(s.Now):
		return "a slot has been due since " + term.Stamp(at)
	}
	return "next slot " + term.Stamp(at)
}

// remaining describes the quota left for the schedule: "9,468 units left".
func remaining(r quota.Report) string {
	left := map[string]int64{}
	for _, p := range r.Pools {
		left[p.Pool] = p.Remaining[quota.Scheduled]
	}
	return term.Amounts(left) + " left"
}
