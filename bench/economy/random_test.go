package main

import (
	"context"
	"testing"
	"time"
)

// The worst of several worlds is of all of them: the most refused in any, and the predictions of each once.
func TestTheWorstOfSeveralWorldsCountsEachOnce(t *testing.T) {
	ages := []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour}
	work := worstOf(func(_ context.Context, _ world, seed uint64, _, _ time.Time) (result, error) {
		return result{Lasting: ages[seed], Worst: 1, Days: []int64{int64(seed)}, Said: tally{"interval": {All: 10, True: int(seed)}}, Surprised: tally{}}, nil
	})
	got, err := work(t.Context(), world{trouble: trouble{seeds: 3}}, 0, start, start)
	if err != nil || got.Lasting != 3*time.Hour || got.Days[0] != 2 || got.Said["interval"] != (said{All: 30, True: 3}) {
		t.Errorf("%+v, %v, want the age of the second, 2 refused, and 3 of 30 true", got, err)
	}
}
