package recent_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest/internal/recent"
)

// TestAnAnswerAskedForTwiceIsMadeOnce: while it is made, and until it is stale; a failed answer is made for each.
func TestAnAnswerAskedForTwiceIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers, made := recent.Answers[int]{Room: 10}, 0
		ask := func(holds time.Duration) (int, bool) {
			return answers.Get("a", func() recent.Answer[int] {
				time.Sleep(time.Second)
				made++
				return recent.Answer[int]{Is: made, Weight: 10, Until: time.Now().Add(holds)}
			})
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { ask(time.Minute) })
		}
		all.Wait()
		time.Sleep(59 * time.Second)
		if got, mine := ask(0); got != 1 || mine {
			t.Errorf("before it is stale: number %d, made now: %v", got, mine)
		}
		time.Sleep(time.Second)
		for _, want := range []int{2, 3} {
			if got, mine := ask(0); got != want || !mine {
				t.Errorf("stale: number %d, made now: %v; want number %d", got, mine, want)
			}
		}
	})
}

func TestTheAnswerUsedLongestAgoMakesRoom(t *testing.T) {
	answers := recent.Answers[int]{Room: 3}
	get := func(i int) (mine bool) {
		_, mine = answers.Get(fmt.Sprint(i), func() recent.Answer[int] { return recent.Answer[int]{Weight: 1, Until: time.Now().Add(time.Hour)} })
		return mine
	}
	for i := range 3 {
		get(i)
	}
	get(0)
	get(3)
	for i, gone := range []bool{false, true, false, false} {
		if _, kept := answers.Kept(fmt.Sprint(i)); kept == gone {
			t.Errorf("answer %d is kept: %v", i, kept)
		}
	}
}

func TestWhoWaitsForWhatPanicsIsNotLeftWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers recent.Answers[*int]
		go func() {
			defer func() { _ = recover() }()
			answers.Get("a", func() recent.Answer[*int] { time.Sleep(time.Second); panic("broken") })
		}()
		synctest.Wait()
		if got, mine := answers.Get("a", func() recent.Answer[*int] { return recent.Answer[*int]{Is: new(int)} }); got != nil || mine {
			t.Errorf("got %v, made now: %v", got, mine)
		}
	})
}
