package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// callsPerBatch is small enough for all contenders to meet the machine in the same state.
const callsPerBatch = 200

// contender is one kind of call, measured in batches.
type contender struct {
	name   string
	state  snapshot // the server's contents when a batch begins
	calls  int
	before func(ctx context.Context) error // runs before a batch
	call   func(ctx context.Context) error // any result but the expected one is an error
	usec   func(map[string]stat) float64
}

// speed compares the server's cost of one call.
func speed(ctx context.Context, s *server, ours sharedledger.Remote, batches int, r *report.Report) error {
	all, err := contenders(ctx, s, ours)
	if err != nil {
		return err
	}
	t := times{}
	for range batches {
		for _, i := range rand.Perm(len(all)) { //nolint:gosec // so that no contender always follows the same one
			c := all[i]
			us, err := batch(ctx, s, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			t[c.name] = append(t[c.name], us)
		}
	}
	r.Section("Redis: the server's own time per call", fmt.Sprintf(
		"`INFO commandstats` of the client's commands, reset before each batch; %d batches of %d calls (fewer where one call is long), "+
			"contenders interleaved. Median, and the median of the ratios batch by batch. Ours with two windows (24 h and the provider's day), "+
			"ceiling, grace, who spent it, and the number and generation that guard against loss; the peers with one window. "+
			"Calls that are 2 ms apart find the server's caches cold, and ours then asks for the replication id too. throttled sends two commands, then a script: their sum.", batches, callsPerBatch))
	var rows [][]string
	for _, c := range all {
		rows = append(rows, []string{c.name, fmt.Sprintf("%.1f", report.Median(t[c.name])), report.Ratio(t.over(c.name, rateName()))})
	}
	r.Table([]string{"call", "µs", "x redis_rate"}, rows)
	speedGoals(t, r)
	return flush(ctx, s.client)
}

// batch returns the mean time of one call, in microseconds.
func batch(ctx context.Context, s *server, c contender) (float64, error) {
	if err := s.restore(ctx, c.state); err != nil {
		return 0, err
	}
	if c.before != nil {
		if err := c.before(ctx); err != nil {
			return 0, err
		}
	}
	if err := c.call(ctx); err != nil { // loads the script, makes the keys
		return 0, err
	}
	if err := s.client.ConfigResetStat(ctx).Err(); err != nil {
		return 0, err
	}
	for range c.calls {
		if err := c.call(ctx); err != nil {
			return 0, err
		}
	}
	stats, err := s.stats(ctx)
	if err != nil {
		return 0, err
	}
	return c.usec(stats) / float64(c.calls), nil
}

// The names that goals are computed from.
const (
	empty     = "`return 1`"
	cost1     = "ours, cost 1"
	apart     = ", 2 ms apart"
	cost100   = "ours, cost 100"
	costMost  = "ours, cost 10,000"
	threePool = "ours, three pools"
	used      = "ours, 10,000 used over 24 h"
	usedNow   = "ours, 10,000 used just now"

	usedBefore = ", 10,000 used"
)

var (
	classic100 = classic.label() + ", cost 100"
	looped100  = looped.label() + ", cost 100"
	refused    = []string{
		"ours, refused, cost 1",
		"ours, refused, cost 100",
		"ours, refused, cost 100, after uneven costs",
		"ours, refused by both windows, cost 1",
	}
	// refusedFull are refusals by a pool with the entries of a day at two per second.
	refusedFull = []string{
		"ours, refused, cost 1, 175,000 entries",
		"ours, refused, cost 100, 175,000 entries",
		"ours, refused, cost 1, 175,000 uneven entries",
	}
	refusedPosted = "ours, refused, cost 1, nothing taken since a post"
)

func rateName() string { return redisRate.label() + ", cost 1" }

func contenders(ctx context.Context, s *server, ours sharedledger.Remote) ([]contender, error) {
	nothing := redis.NewScript("return 1")
	all := []contender{{name: empty, calls: callsPerBatch, usec: scriptTime, call: func(ctx context.Context) error {
		return nothing.Run(ctx, s.client, []string{"k"}).Err()
	}}}
	for _, p := range []struct {
		peer
		cost  int64
		calls int
		used  int // earlier calls of that cost
	}{
		{redisRate, 1, callsPerBatch, 0},
		{redisRate, 100, callsPerBatch, 0},
		{throttle, 1, callsPerBatch, 0},
		{ulule, 1, callsPerBatch, 0},
		{classic, 1, callsPerBatch, 0},
		{classic, 100, callsPerBatch / 4, 0},
		{classic, 100, callsPerBatch / 4, 100},
		{looped, 100, callsPerBatch / 4, 0},
	} {
		t, err := p.open(s.client, limit{plenty, day})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		c := contender{name: fmt.Sprintf("%s, cost %d", p.label(), p.cost), calls: p.calls, usec: p.usec,
			call: expect(true, func(ctx context.Context) (bool, error) { return t(ctx, "a", p.cost) })}
		if p.used > 0 {
			c.name += usedBefore
		}
		if err := flush(ctx, s.client); err != nil {
			return nil, err
		}
		for range p.used {
			if err := c.call(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
		if c.state, err = s.snapshot(ctx); err != nil {
			return nil, err
		}
		all = append(all, c)
		if c.name == rateName() {
			all = append(all, c.apart())
		}
	}
	mine, err := ourContenders(ctx, s, ours)
	return append(all, mine...), err
}

// contest is one of our calls to be measured, and the state before it.
type contest struct {
	name    string
	state   snapshotter
	cost    int64
	units   int64
	pools   []string
	allowed bool
}

// contests are our calls. All their accounts but one are filled by posts and then a take, which records for the next
// search where each window begins. Posts alone record that only in an empty log.
func contests(s *server, ours sharedledger.Remote) []contest {
	const longest = day - 10*time.Minute // so that no entry leaves the window during the measurement
	fill := func(n int, from time.Duration, cost func(int) int64, taken bool) snapshotter {
		return filled(s, ours, n, from, cost, taken)
	}
	nothing := func(context.Context) (snapshot, error) { return nil, nil }
	spread, justNow := fill(most-1, longest, one, true), fill(most-1, time.Second, one, true)
	uneven := fill(5049, longest, firstSmall, true) // 5,000 of 1, 49 of 100, then one of 1 is taken
	const many = 175_000
	manyUneven := int64(0)
	for i := range many - 1 {
		manyUneven += sometimesHundred(i)
	}
	full, fullUneven := fill(many-1, longest, one, true), fill(many-1, longest, sometimesHundred, true)
	return []contest{
		{cost1, nothing, 1, plenty, []string{"units"}, true},
		{cost100, nothing, 100, plenty, []string{"units"}, true},
		{costMost, nothing, most, plenty, []string{"units"}, true},
		{threePool, nothing, 1, plenty, []string{"units", "search", "other"}, true},
		{used, spread, 1, plenty, []string{"units"}, true},
		{usedNow, justNow, 1, plenty, []string{"units"}, true},
		{refused[0], spread, 1, most, []string{"units"}, false},
		{refused[1], spread, 100, most, []string{"units"}, false},
		{refused[2], uneven, 100, 9901, []string{"units"}, false},
		{refused[3], justNow, 1, most, []string{"units"}, false},
		{refusedFull[0], full, 1, many, []string{"units"}, false},
		{refusedFull[1], full, 100, many, []string{"units"}, false},
		{refusedFull[2], fullUneven, 1, manyUneven + 1, []string{"units"}, false},
		{refusedPosted, fill(most, longest, one, false), 1, most, []string{"units"}, false},
	}
}

// ourContenders returns the contests as contenders.
func ourContenders(ctx context.Context, s *server, ours sharedledger.Remote) ([]contender, error) {
	var all []contender
	for _, c := range contests(s, ours) {
		state, err := c.state(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		var a quota.Ask
		op := sharedledger.Operation{Generation: 1, Writer: "1234567890abcdefghijklmnop"}
		if c.allowed {
			op.Nonce = 1 << 50 // an expected refusal is only decided, as in sharedledger
		}
		all = append(all, contender{name: c.name, state: state, calls: callsPerBatch, usec: scriptTime,
			before: func(ctx context.Context) error {
				a, op.Number = ask("a", c.cost, c.units, c.pools...), 0
				_, err := ours.Renew(ctx, sharedledger.Renewal{Account: "a", Next: op.Generation, First: true, Horizon: a.Horizon})
				return err
			},
			call: expect(c.allowed, func(ctx context.Context) (bool, error) {
				if op.Number++; c.allowed {
					op.Written = op.Number - 1
				}
				d, err := ours.TakeOnce(ctx, a, op)
				return d.Allowed, err
			})})
		if c.name == cost1 {
			all = append(all, all[len(all)-1].apart())
		}
	}
	return all, nil
}

// firstSmall returns the cost of the i-th entry: 1 for the first 5,000, then 100.
func firstSmall(i int) int64 {
	if i < 5000 {
		return 1
	}
	return 100
}

// sometimesHundred returns the cost of the i-th entry: 100 for one in a hundred, otherwise 1.
func sometimesHundred(i int) int64 {
	if i%100 == 7 {
		return 100
	}
	return 1
}

// apart is the same call by a service that is not busy.
func (c contender) apart() contender {
	call := c.call
	c.name += apart
	c.call = func(ctx context.Context) error {
		time.Sleep(2 * time.Millisecond)
		return call(ctx)
	}
	return c
}

// filled returns a ledger with n entries of these costs since that long ago and, with taken, one that was taken.
func filled(s *server, ours quota.Ledger, n int, from time.Duration, cost func(int) int64, taken bool) snapshotter {
	return func(ctx context.Context) (snapshot, error) {
		if err := flush(ctx, s.client); err != nil {
			return nil, err
		}
		if err := post(ctx, ours, "a", n, from, 0, cost); err != nil {
			return nil, err
		}
		if taken {
			if _, err := ours.Take(ctx, ask("a", 1, plenty, "units")); err != nil {
				return nil, err
			}
		}
		return s.snapshot(ctx)
	}
}

// snapshotter makes a batch's initial state.
type snapshotter func(context.Context) (snapshot, error)

func expect(want bool, call func(context.Context) (bool, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := call(ctx)
		if err == nil && got != want {
			err = fmt.Errorf("allowed is %t", got)
		}
		return err
	}
}

func speedGoals(t times, r *report.Report) {
	rate := rateName()
	worst := max(t.over(cost1, rate), t.over(cost100, rate), t.over(costMost, rate))
	r.Goal("a take at any cost from 1 to the limit, numbered, two windows, ceiling, who", "<= 1.5 x redis_rate", report.Ratio(worst)+" (the worst of three costs)", worst <= 1.5)
	rare := t.over(cost1+apart, rate+apart)
	r.Goal("such a take 2 ms after the one before", "<= 1.5 x redis_rate", report.Ratio(rare), rare <= 1.5)
	for _, how := range []string{classic100, looped100} {
		unit := t.over(how, cost100)
		r.Goal("cost 100 against "+strings.TrimSuffix(how, ", cost 100"), ">= 12 x less", report.Ratio(unit)+" less", unit >= 12)
	}
	three := t.over(threePool, cost1)
	r.Goal("three pools", "<= 2 x one pool", report.Ratio(three), three <= 2)
	full := max(t.over(used, cost1), t.over(usedNow, cost1))
	r.Goal("a take with 10,000 used", "<= 1.1 x none used", report.Ratio(full)+" (the worse of two)", full <= 1.1)
	refusal := 0.0
	for _, name := range refused {
		refusal = max(refusal, t.over(name, rate))
	}
	r.Goal("a refusal", "<= 2 x redis_rate", report.Ratio(refusal)+" (the worst of four)", refusal <= 2)
	refusal = 0
	for _, name := range refusedFull {
		refusal = max(refusal, t.over(name, rate))
	}
	r.Goal("a refusal at 175,000 entries", "<= 2 x redis_rate", report.Ratio(refusal)+" (the worst of three)", refusal <= 2)
	posted := t.over(refusedPosted, rate)
	r.Goal("a refusal, nothing taken since a post", "<= 2 x redis_rate", report.Ratio(posted), posted <= 2)
}

// times holds the batches by contender, in the same order.
type times map[string][]float64

// over returns the median of the ratios of two contenders, batch by batch: a slow machine slows both.
func (t times) over(a, b string) float64 {
	ratios := make([]float64, len(t[a]))
	for i := range ratios {
		ratios[i] = t[a][i] / t[b][i]
	}
	return report.Median(ratios)
}
