package main

import (
	"path/filepath"
	"testing"
	"time"
)

// A worker has an entry from the first chart that it completes while the entry is there; the world's last day is
// followed by its first one again.
func TestAnEntryIsSeenByTheFirstChartWhileItIsThere(t *testing.T) {
	at := func(hours ...int) (times []int64) {
		for _, h := range hours {
			times = append(times, start.Add(time.Duration(h)*time.Hour).Unix())
		}
		return times
	}
	for _, tt := range []struct {
		enters, leaves int // hours
		times          []int64
		want           int // hours; -1: never
	}{
		{3, 9, at(1, 5, 8), 5},
		{5, 9, at(1, 5, 8), 5},
		{3, 5, at(1, 5, 8), -1},
		{3, 9, at(1, 20), -1},
		{20, 30, at(1, 5, 8), 25},
		{50, 54, at(1, 5, 8), 53},
		{3, 200, nil, -1},
	} {
		e := entry{time.Duration(tt.enters) * time.Hour, time.Duration(tt.leaves) * time.Hour}
		got, ok := e.firstSeen(tt.times, 1)
		if ok != (tt.want >= 0) || ok && got != time.Duration(tt.want)*time.Hour {
			t.Errorf("%+v: %v, %v, want its hours, if not negative", tt, got, ok)
		}
	}
}

func TestAResultIsSimulatedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	runs := 0
	s := simulated{world: world{units: 300, trouble: clean}, contender: contender{name: "ours"}}
	for range 2 {
		book := &results{file: file, Seed: 1, Days: 14}
		if err := book.load(); err != nil {
			t.Fatal(err)
		}
		got, err := book.of(s, func() (result, error) { runs++; return result{Charts: 7, Done: map[string][]int64{"US": {5}}}, nil })
		if err != nil || got.Charts != 7 || got.Done["US"][0] != 5 || runs != 1 {
			t.Errorf("%+v, %v, after %d simulations, want 7, 5 and 1", got, err, runs)
		}
	}
	if err := (&results{file: file, Seed: 2, Days: 14}).load(); err == nil {
		t.Errorf("results of seed 1 were loaded for seed 2 and 14 days: got no error, want one")
	}
}
