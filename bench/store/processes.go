package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
)

// processes times the program as a person or a cron job starts it, warm, on the store with a tenth of the rows.
func (b *bench) processes(ctx context.Context) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	s, err := b.filled(ctx, b.rows/10)
	if err != nil {
		return err
	}
	data := filepath.Dir(s.Path())
	if err := s.Close(); err != nil {
		return err
	}
	const starts = 10
	now := began.Add(time.Duration(b.rows/10/(len(eight)*perChart)+1) * every) // as in a store in use, the charts are fresh
	env := append(os.Environ(), "INGEST_DATA="+data, "INGEST_NOW="+now.Format(time.RFC3339))
	if err := rebuilt(ctx, program, env); err != nil {
		return err
	}
	b.report.Section("Whole processes", fmt.Sprintf("Start to end of the built program over %s videos, warm: one start that does not count, then %d.", thousands(b.rows/10), starts))
	var rows [][]string
	for _, p := range []struct {
		args []string
		goal time.Duration
	}{
		{[]string{"version"}, 0},
		{[]string{"quota"}, 60 * time.Millisecond},
		{[]string{"search", commonWord}, 100 * time.Millisecond},
		{[]string{"search", commonWord, secondWord, "--region", "DE"}, 100 * time.Millisecond},
	} {
		var took []float64
		for i := range 1 + starts {
			cmd := exec.CommandContext(ctx, program, p.args...)
			cmd.Env = env
			var out []byte
			t, err := timed(func() error { out, err = cmd.CombinedOutput(); return err })
			if err != nil {
				return fmt.Errorf("ingest %v: %w\n%s", p.args, err, out)
			}
			if i > 0 {
				took = append(took, t)
			}
		}
		m, name := report.Median(took), "ingest"
		for _, a := range p.args {
			name += " " + a
		}
		rows = append(rows, []string{"`" + name + "`", ms(m), ms(report.Quantile(took, 1))})
		if p.goal > 0 {
			b.report.Goal("`"+name+"`", fmt.Sprintf("< %d ms", p.goal.Milliseconds()), ms(m)+" ms", m < float64(p.goal.Milliseconds()))
		}
	}
	b.report.Table([]string{"", "median ms", "longest ms"}, rows)
	return nil
}
